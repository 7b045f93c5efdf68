"""`wangtimer doctor`, its check-ups by what they look at."""
