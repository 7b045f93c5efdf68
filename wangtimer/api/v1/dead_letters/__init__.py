"""Dead letters over v1: what has failed for good."""
