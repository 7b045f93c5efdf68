"""Timers: what a business service defined, and what it may change."""
