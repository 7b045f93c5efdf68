"""Alerts: what is in trouble is judged and told."""
