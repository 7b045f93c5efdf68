"""Rules of alerts over v1."""
