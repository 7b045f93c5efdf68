"""Timers by the seed's paths."""
