"""The far ends that remember: SQL, the truth, and Redis, which may forget."""
