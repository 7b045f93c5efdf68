"""Firings and records by the seed's paths."""
