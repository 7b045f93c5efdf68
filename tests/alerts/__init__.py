"""Alerts on their way out, to real servers of each protocol."""
