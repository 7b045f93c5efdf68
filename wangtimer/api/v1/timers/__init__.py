"""Timers by the native paths."""
