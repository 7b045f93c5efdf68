"""Schedules in words."""
