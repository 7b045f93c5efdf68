"""Messages in place of HTTP calls: where they go, and which app may send them there. No I/O here."""
