"""The way of a firing: it is planned, waits in a slice, is attempted, has an outcome."""
