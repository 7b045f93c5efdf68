"""Signatures of callbacks, as Standard Webhooks has them. No I/O here."""
