"""Which dead letters a request means."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import Given, GivenMoment, moment, number
from wangtimer.api.http.moments import read_range
from wangtimer.api.http.refusals import Refused, shown
from wangtimer.api.v1.apps.host_names import host_at_any_port
from wangtimer.api.v1.firings.demand_models import MOST_NAMED, OnlyCountFirings, SpreadBody
from wangtimer.api.v1.parameters import TimerPath
from wangtimer.api.v1.shown import PageQuery
from wangtimer.core.errors import Subject
from wangtimer.core.flow.dead_letter import REASONS
from wangtimer.core.flow.slicing import LANE_CHARACTERS
from wangtimer.core.timers.named_target import TARGET_CHARACTERS
from wangtimer.store.sql.dead_letters import DeadLetterFilter
from wangtimer.wiring import Wiring

_OF_STATUS = re.compile("http_[1-9][0-9]{2}", re.ASCII)


def _known_reason(given: str) -> str:
    """Return a reason; raises `Refused` for what is none."""
    if given in REASONS or _OF_STATUS.fullmatch(given):
        return given
    words = ", ".join(REASONS)
    raise Refused(
        ErrorCode.BAD_VALUE,
        "reason",
        f"{shown(given)} is no reason",
        f"write http_503 and the like, or one of {words}",
    )


_Reason = Annotated[
    str | None,
    Field(
        description="why: `http_` and the answer's status, `timed_out`, `not_connected`, `broken_off` (no whole "
        "answer), `not_taken` (a broker did not take the message), `refused` (the rules of egress), `host_disabled` "
        "(its host failed for days), `nacked` and `not_acked` (accepted, but not done) or `not_made` (no call could be "
        "made)",
        examples=["http_503"],
        json_schema_extra={"pattern": f"^(http_[1-9][0-9]{{2}}|{'|'.join(REASONS)})$"},
    ),
    AfterValidator(lambda given: given if given is None else _known_reason(given)),
]
_Host = Annotated[
    str | None,
    Field(
        max_length=LANE_CHARACTERS,
        description="the last attempt called this host and port, or this host at any port",
        examples=["shop.example:443"],
    ),
]
_Target = Annotated[
    str | None,
    Field(
        max_length=TARGET_CHARACTERS,
        description="their timers named this target when they failed",
        examples=["shop"],
    ),
]
_SINCE, _UNTIL = "failed for good at this moment or later", "failed for good at this moment or earlier"

# Words of elsewhere, and ours.
_OUR_WORDS: Mapping[str, str] = {
    **dict.fromkeys(("name", "key", "id", "timerId", "timerKey"), "timer"),
    **dict.fromkeys(("error", "status", "httpStatus"), "reason"),
    "from": "since",
    "to": "until",
}


class _Conditions(Given):
    """What an app's dead letters are to meet."""

    our_words: ClassVar[Mapping[str, str] | None] = _OUR_WORDS
    named_by: ClassVar[Mapping[Subject, str]] = {Subject.TIMER: "timer"}

    timer: Annotated[
        str | None,
        Field(description="of this timer: its id, or `key:` and its key", examples=["key:order-42"]),
    ] = None
    reason: _Reason = None
    host: _Host = None
    target: _Target = None


class DeadLetterConditions(_Conditions):
    """Which of an app's dead letters: those that meet all conditions."""

    our_words: ClassVar[Mapping[str, str] | None] = {**_OUR_WORDS, "pageSize": "limit", "offset": "cursor"}

    # In a query a number is text.
    since: Annotated[GivenMoment, BeforeValidator(number), moment(_SINCE)] = None
    until: Annotated[GivenMoment, BeforeValidator(number), moment(_UNTIL)] = None


class DeadLetterQuery(PageQuery, DeadLetterConditions):
    """Which dead letters, and which page."""


class _Chosen(_Conditions):
    """Dead letters to act on: those of the firings in `ids`, or all since a moment that meet the conditions."""

    ids: Annotated[
        list[str] | None,
        Field(min_length=1, max_length=MOST_NAMED, fail_fast=True, description="of these firings"),
    ] = None
    since: Annotated[GivenMoment, moment(_SINCE)] = None
    until: Annotated[GivenMoment, moment(_UNTIL)] = None

    def check(self) -> None:
        """Raise `Refused` unless either ids or since is given."""
        if self.ids is None and self.since is None:
            raise Refused(
                ErrorCode.MISSING_FIELD, "since", "neither ids nor since is given", "give one of them"
            )
        for name in ("timer", "reason", "host", "target", "since", "until"):
            if self.ids is not None and getattr(self, name) is not None:
                raise Refused(ErrorCode.BAD_VALUE, name, "ids are given too", "give one of them")


class DiscardBody(_Chosen):
    """Dead letters to discard: those of the firings in `ids`, or all since a moment that meet the conditions."""

    dry_run: OnlyCountFirings = False


class ReplayLettersBody(SpreadBody, _Chosen):
    """Firings to attempt once more: those in `ids`, or all since a moment whose dead letters meet the conditions."""


def wanted_of(given: DeadLetterConditions | _Chosen, app: str | None, wiring: Wiring) -> DeadLetterFilter:
    """Return the filter of an app, None: of all apps; raises `Refused`, `UnknownTimer`."""
    first, last = read_range(given.since, given.until)
    conditions: dict[str, Any] = {name: getattr(given, name) for name in ("reason", "target")}
    host = None if given.host is None else host_at_any_port(given.host, "host")
    timer = None if given.timer is None else TimerPath(which=given.timer)
    timer_id = None if timer is None else timer.id_in_any(app, wiring.timers)
    return DeadLetterFilter(app, timer_id, host=host, first=first, last=last, **conditions)
