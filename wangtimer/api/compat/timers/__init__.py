"""Timers: their operations under /api/timer/v1."""
