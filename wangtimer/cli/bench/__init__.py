"""`wangtimer bench`."""
