"""Readings of a reply: what a timer's owner or its target makes of the end of a call."""
