"""Clients generated from openapi.json, and compiled."""
