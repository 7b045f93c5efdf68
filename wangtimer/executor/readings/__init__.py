"""Readings of a reply, what features make of the end of a call: `executor/reply_reader.py` has their protocol."""
