"""The dialects in which a cron expression may be written."""

from enum import StrEnum


class CronDialect(StrEnum):
    """How an expression is read: `unix` counts weekdays from 0, Sunday; `quartz` from 1, Sunday."""

    UNIX = "unix"
    QUARTZ = "quartz"
