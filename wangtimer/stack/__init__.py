"""Runs the service on one machine: the Procfile's processes, kept alive and ended together."""
