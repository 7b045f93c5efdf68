"""Alerts: what apps are told of their firings beside their calls."""
