"""Apps and their keys over v1: for operators."""
