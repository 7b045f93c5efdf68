"""What every operation has in common: requests read, input refused, failures answered, web processes."""
