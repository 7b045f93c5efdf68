"""Which moments become firings: planning, and planning anew where zones and calendars change."""
