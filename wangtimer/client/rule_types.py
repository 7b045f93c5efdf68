"""What the fields are that say when: as callers write them, and as the service shows them."""

from typing import Literal, NotRequired, TypedDict

from wangtimer.client.value_types import Duration, Moment

CronDialect = Literal["unix", "quartz"]
# Those fields that are moments, as the service spells them.
RULE_MOMENTS = frozenset({"at", "anchorAt"})


class RuleFields(TypedDict, total=False):
    """The rule: one of `cron`, `every_ms`, `at`, `delay_ms`, and what it may have beside it."""

    cron: str
    cron_dialect: CronDialect
    every_ms: Duration
    anchor_at: Moment
    at: Moment
    delay_ms: Duration


class RuleShown(TypedDict):
    """The rule of a timer: `cron` and `cronDialect`, or `everyMs` and `anchorAt`, or `at` and `atMs`."""

    cron: NotRequired[str]
    cronDialect: NotRequired[str]
    everyMs: NotRequired[int]
    anchorAt: NotRequired[str]
    at: NotRequired[str]
    atMs: NotRequired[int]
