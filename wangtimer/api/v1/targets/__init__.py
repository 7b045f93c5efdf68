"""Named targets over v1."""
