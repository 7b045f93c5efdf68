"""Which addresses a callback may be sent to."""
