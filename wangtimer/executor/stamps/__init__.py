"""Stamps, what features write into a request: `executor/request_maker.py` has their protocol."""
