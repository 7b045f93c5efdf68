"""Firings by the native paths."""
