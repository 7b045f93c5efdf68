"""Runs the service on one machine: keeps the Procfile's processes alive, and ends them together.

The service itself never imports this package.
"""
