"""Clocks, zones, and how a moment is written."""
