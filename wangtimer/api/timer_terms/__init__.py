"""What a request asks of a timer, on any path: read into the terms that the timer is to have."""
