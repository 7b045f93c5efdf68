"""What a request asks of a timer, by whichever path it came: read into the terms a timer is to have."""
