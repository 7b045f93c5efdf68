"""Moments and durations, as callers write them."""

from datetime import datetime, timedelta

# RFC 3339 text, ms since 1970 UTC, or a datetime with its zone.
Moment = str | int | datetime
# ms, or a timedelta, of which what is finer than a ms is rounded up.
Duration = int | timedelta
