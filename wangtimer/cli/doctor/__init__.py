"""`wangtimer doctor`, one check-up a file."""
