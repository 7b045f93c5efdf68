"""Cron expressions: read in their dialect, and the moments at which they fire."""
