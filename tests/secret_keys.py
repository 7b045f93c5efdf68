"""The key of secrets that tests use; it is no secret."""

SECRET_KEYS = "test:dGVzdHRlc3R0ZXN0dGVzdHRlc3R0ZXN0dGVzdHRlc3Q="
