"""The way of a firing: planned, waiting in slices, attempted, ended."""
