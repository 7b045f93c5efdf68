"""Firings and their records: the operations under /api/task/v1."""
