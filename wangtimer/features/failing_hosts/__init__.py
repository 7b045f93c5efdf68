"""Hosts that fail: told to all processes, disabled after days."""
