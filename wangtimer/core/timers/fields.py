"""The fields of a timer beside its name, its schedule and its call: each is described here, and nowhere else.

The models of both APIs, the columns, edits and answers follow from `FIELDS`. No field here is part of the schedule, so
an edit of one plans nothing again.

A new field is an entry of `FIELDS`, its value in `Owned`, its column in `schema.sql`, and its line in
`client/timer_fields.py`, since the client imports nothing of the service. If firing needs it, its value
is in `NewTimer` and `Definition` instead of `Owned`, and `store/redis/definitions.py` writes and reads it.
Of these, one that a feature adds (`core/features.py`) has a column and the client's line: its value is in
`Definition.further`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

import orjson

from wangtimer.core.api_field import MOST_SPAN_MS, ApiField, Shown, ValueType, json_name
from wangtimer.core.errors import InvalidInput
from wangtimer.core.features import added
from wangtimer.core.retry import RetryPolicy, changed_policy, policy_from_text
from wangtimer.core.time.durations import show_duration
from wangtimer.core.timers.call_options import (
    AS_DEPLOYED,
    FORM_NAMES,
    LEAST_ACK_MS,
    LEAST_TIMEOUT_MS,
    MOST_ACK_MS,
    MOST_CONNECT_TIMEOUT_MS,
    MOST_TIMEOUT_MS,
    PLACEHOLDERS,
    TIMEOUT_NAMES,
    UNTOUCHED,
    CallForm,
    KeepOutput,
    Timeouts,
    form_from,
    form_text,
)
from wangtimer.core.timers.field import TimerField
from wangtimer.core.timers.misfire import USUAL, MisfirePolicy, MisfireRule
from wangtimer.core.timers.overlap import Overlap

Word = TypeVar("Word", bound=StrEnum)

MOST_TAGS = 16
TAG_CHARACTERS = 64
MOST_RETENTION_DAYS = 3_650
LEAST_GRACE_MS = 1_000
# The field of a call that only a timer has, no named target.
NUMBERED = "numbered"
# In the column `keep_days`: the timer was to be deleted after its last outcome. That is a failure, so it stays for the
# setting's days.
KEPT_AFTER_FAILURE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """What a timer's owner sets and firing does not need.

    A finished timer is kept for `keep_days`; 0: it is deleted after its last outcome, unless that is a failure; None:
    as long as the service's setting says.
    """

    tags: tuple[str, ...] = ()
    keep_days: int | None = None


class _Misfire(TimerField[MisfireRule]):
    """Three fields of a request make one rule; null means absent."""

    __slots__ = ()

    def read(self, given: Mapping[str, Any], was: MisfireRule) -> MisfireRule:
        policy, grace_ms, window_ms = (given.get(asked.name) for asked in self.asked)
        return MisfireRule(
            was.policy if policy is None else MisfirePolicy(policy),
            was.grace_ms if grace_ms is None else grace_ms,
            was.window_ms if window_ms is None else window_ms,
        )

    def stored(self, value: MisfireRule) -> dict[str, Any]:
        return {
            "misfire": value.policy.value,
            "misfire_grace_ms": value.grace_ms,
            "catchup_window_ms": value.window_ms,
        }

    def from_row(self, row: Mapping[str, Any]) -> MisfireRule:
        return MisfireRule(MisfirePolicy(row["misfire"]), row["misfire_grace_ms"], row["catchup_window_ms"])

    def shown(self, value: MisfireRule) -> dict[str, Any]:
        return {
            "misfire": value.policy,
            "misfire_grace_ms": value.grace_ms,
            "catchup_window_ms": value.window_ms,
        }


class _Timeouts(TimerField[Timeouts]):
    """Four fields, each by itself: null takes one away. Written out, since each timer that is made passes here."""

    __slots__ = ()

    def read(self, given: Mapping[str, Any], was: Timeouts) -> Timeouts:
        if given.keys().isdisjoint(TIMEOUT_NAMES):
            return was
        return Timeouts(*(given.get(name, before) for name, before in zip(TIMEOUT_NAMES, was, strict=True)))

    def stored(self, value: Timeouts) -> dict[str, Any]:
        total_ms, connect_ms, first_byte_ms, ack_ms = value
        return {
            "timeout_ms": total_ms,
            "connect_timeout_ms": connect_ms,
            "first_byte_timeout_ms": first_byte_ms,
            "ack_timeout_ms": ack_ms,
        }

    def from_row(self, row: Mapping[str, Any]) -> Timeouts:
        return Timeouts(*map(row.__getitem__, TIMEOUT_NAMES))

    def shown(self, value: Timeouts) -> dict[str, Any]:
        return self.stored(value)


class _Tags(TimerField[tuple[str, ...]]):
    """A JSON list, each tag once."""

    __slots__ = ()

    def read(self, given: Mapping[str, Any], was: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(given["tags"] or ())) if "tags" in given else was

    def stored(self, value: tuple[str, ...]) -> dict[str, Any]:
        return {"tags": orjson.dumps(value).decode() if value else None}

    def from_row(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(orjson.loads(row["tags"])) if row["tags"] else ()

    def shown(self, value: tuple[str, ...]) -> dict[str, Any]:
        return {"tags": list(value)}


class _KeepDays(TimerField[int | None]):
    """Two fields of a request that replace each other: how long the timer is kept, and that it is not kept."""

    __slots__ = ()

    def read(self, given: Mapping[str, Any], was: int | None) -> int | None:
        days: int | None = given.get("retention_days")
        if given.get("delete_after_finish"):
            if days is not None:
                reason = "deleteAfterFinish is true: the timer is not kept"
                raise InvalidInput("retentionDays", reason, "give one of them")
            return 0
        if days is not None:
            return days
        is_taken_away = ("delete_after_finish" if was == 0 else "retention_days") in given
        return None if is_taken_away else was

    def from_row(self, row: Mapping[str, Any]) -> int | None:
        days: int | None = row["keep_days"]
        return 0 if days == KEPT_AFTER_FAILURE else days

    def shown(self, value: int | None) -> dict[str, Any]:
        return {"retention_days": value or None, "delete_after_finish": value == 0}


class _Word(TimerField[Word]):
    """The default is stored as NULL, which takes no room, and is not shown."""

    __slots__ = ()

    def read(self, given: Mapping[str, Any], was: Word) -> Word:
        return self._word(given[self.name]) if self.name in given else was

    def stored(self, value: Word) -> dict[str, Any]:
        return {self.name: None if value is self.default else value.value}

    def from_row(self, row: Mapping[str, Any]) -> Word:
        return self._word(row[self.name])

    def shown(self, value: Word) -> dict[str, Any]:
        return {self.name: None if value is self.default else value.value}

    def _word(self, text: str | None) -> Word:
        return type(self.default)(text) if text else self.default


class _Retry(TimerField[RetryPolicy | None]):
    """An object of a request, of which each field changes one of the policy; the default is stored as NULL."""

    __slots__ = ()

    def read(self, given: Mapping[str, Any], was: RetryPolicy | None) -> RetryPolicy | None:
        if "retry" not in given:
            return was
        asked = given["retry"]
        return None if asked is None else changed_policy(was, asked)

    def stored(self, value: RetryPolicy | None) -> dict[str, Any]:
        return {"retry": None if value is None else value.text()}

    def from_row(self, row: Mapping[str, Any]) -> RetryPolicy | None:
        return None if row["retry"] is None else policy_from_text(row["retry"])


class _Form(TimerField[CallForm]):
    """Flags, each by itself: null takes one away."""

    __slots__ = ()

    def read(self, given: Mapping[str, Any], was: CallForm) -> CallForm:
        if given.keys().isdisjoint(FORM_NAMES):
            return was
        return CallForm(
            *(bool(given.get(name, before)) for name, before in zip(FORM_NAMES, was, strict=True))
        )

    def stored(self, value: CallForm) -> dict[str, Any]:
        return {"call_form": None if value is UNTOUCHED else form_text(value)}

    def from_row(self, row: Mapping[str, Any]) -> CallForm:
        return form_from(row["call_form"])

    def shown(self, value: CallForm) -> dict[str, Any]:
        return dict(zip(FORM_NAMES, (is_so or None for is_so in value), strict=True))


def _timeout(
    name: str,
    description: str,
    example: str,
    meaning: str,
    most_ms: int = MOST_TIMEOUT_MS,
    least_ms: int = LEAST_TIMEOUT_MS,
) -> ApiField:
    """Return the description of a time-out; in its text `{bounds}` are its bounds."""
    bounds = f"{show_duration(least_ms)} to {show_duration(most_ms)}"
    return ApiField(
        name,
        ValueType.SPAN,
        description.format(bounds=bounds),
        example,
        least=least_ms,
        most=most_ms,
        v1=f"target.{json_name(name.removesuffix('_ms'))}",
        meaning=meaning,
        is_of_v1_only=True,
    )


TIMEOUTS = _Timeouts(
    "timeouts",
    default=AS_DEPLOYED,
    asked=(
        _timeout(
            "timeout_ms",
            "how long a call may take, {bounds}: from when it is sent, over a connection that is open by then, to its "
            "whole answer. By default as long as the deployment's calls may (WANGTIMER_CALLBACK_TIMEOUT_MS), and at "
            "most WANGTIMER_CALLBACK_LONGEST_TIMEOUT_MS",
            "2s",
            "how long a call may take; not there: as long as the deployment's calls may",
        ),
        _timeout(
            "connect_timeout_ms",
            "how long it may take to open a connection, {bounds}: to look up its name, to connect and to begin "
            "TLS. By default WANGTIMER_CALLBACK_CONNECT_TIMEOUT_MS",
            "500ms",
            "how long it may take to open a connection; not there: as the deployment says",
            MOST_CONNECT_TIMEOUT_MS,
        ),
        _timeout(
            "first_byte_timeout_ms",
            "how long the first byte of the answer may take, {bounds}: from when the call is sent. By default as long "
            "as the whole answer",
            "1s",
            "how long the first byte of an answer may take; not there: as long as the whole answer",
        ),
        _timeout(
            "ack_timeout_ms",
            "for work that goes on after the answer, {bounds}: a target that answers 202 is to say within this that "
            "it is done, by `POST /v1/firings/{{firingId}}:ack` with the token of the call. Without it 202 is a "
            "success",
            "30m",
            "how long a target that answers 202 may take until it says that it is done; not there: 202 is done",
            MOST_ACK_MS,
            LEAST_ACK_MS,
        ),
    ),
    columns=TIMEOUT_NAMES,
    in_definition=True,
)


def _flag(name: str, description: str, meaning: str, *, has_example: bool = False) -> ApiField:
    """Return the description of a flag that says how the call is written, or what its answer may do."""
    return ApiField(
        name,
        ValueType.FLAG,
        description,
        has_example or None,
        v1=f"target.{json_name(name)}",
        meaning=meaning,
        is_of_v1_only=True,
    )


FORM = _Form(
    "form",
    default=UNTOUCHED,
    asked=(
        _flag(
            "templates",
            "true: placeholders in the query, in values of headers and in the body are filled in, as in "
            "`{{fireAt}}`: " + ", ".join(PLACEHOLDERS),
            "true: placeholders such as `{{fireAt}}` are filled in",
            has_example=True,
        ),
        _flag(
            "cloud_events",
            "true: it is sent as a CloudEvent 1.0 in binary mode, with the headers ce-specversion, ce-id, "
            "ce-source, ce-type and ce-time. What is among `headers` takes the place of one",
            "true: it is sent as a CloudEvent, in binary mode",
            has_example=True,
        ),
        _flag(
            "body_is_base64",
            "true: the body is sent as the bytes that it says in Base64",
            "true: the body is sent as the bytes that it says in Base64",
        ),
        _flag(
            "allow_control",
            "true: an answer 2xx may stop the timer, put it off, or set its next moment, by the header "
            "X-WangTimer-Control: stop, delay=30m, or next=2026-12-01T09:00:00Z",
            "true: an answer may stop the timer, put it off, or set its next moment",
        ),
        _flag(
            NUMBERED,
            "true: firings planned from now on get numbers, and calls tell theirs (X-WangTimer-Sequence), the "
            "last moment that succeeded (X-WangTimer-Last-Success), and how many were lost since "
            "(X-WangTimer-Lost-Since)",
            "true: firings planned since have numbers, and calls tell theirs and what was lost before",
        ),
    ),
    columns=("call_form",),
    in_definition=True,
)


# The values of fields that features add, each with its name; one that has its default is left out.
Further = tuple[tuple[str, Any], ...]
FURTHER_FIELDS: tuple[TimerField[Any], ...] = tuple(
    field for fields in added("fields", "FIELDS") for field in fields
)


class _Further(TimerField[Further]):
    """What features add, each field by itself."""

    __slots__ = ()

    def read(self, given: Mapping[str, Any], was: Further) -> Further:
        before = dict(was)
        return _without_defaults(
            field.read(given, before.get(field.name, field.default)) for field in FURTHER_FIELDS
        )

    def stored(self, value: Further) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        values = dict(value)
        for field in FURTHER_FIELDS:
            columns |= field.stored(values.get(field.name, field.default))
        return columns

    def from_row(self, row: Mapping[str, Any]) -> Further:
        return _without_defaults(field.from_row(row) for field in FURTHER_FIELDS)

    def shown(self, value: Further) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        values = dict(value)
        for field in FURTHER_FIELDS:
            shown |= field.shown(values.get(field.name, field.default))
        return shown


def _without_defaults(values: Iterable[Any]) -> Further:
    pairs = zip(FURTHER_FIELDS, values, strict=True)
    return tuple((field.name, value) for field, value in pairs if value != field.default)


def further_from(stored: Mapping[str, Any]) -> Further:
    """Return what `stored` gave, also to a process with fewer features."""
    return FURTHER.from_row({**FURTHER.stored(()), **stored})


FURTHER = _Further(
    "further",
    default=(),
    asked=tuple(asked for field in FURTHER_FIELDS for asked in field.asked),
    columns=tuple(column for field in FURTHER_FIELDS for column in field.columns),
    in_definition=True,
)
FIELDS: tuple[TimerField[Any], ...] = (
    _Misfire(
        "misfire",
        default=USUAL,
        asked=(
            ApiField(
                "misfire",
                ValueType.TEXT,
                "what to do with firings found more than misfireGraceMs late, say after an outage: make all, one only "
                f"where no later moment has come by then, or none; {USUAL.policy} by default",
                choices=MisfirePolicy,
                v1="misfire.policy",
                v1_description="what becomes of late firings: all are made, one only if no later moment has come, or "
                f"none; {USUAL.policy} by default",
                shown=Shown.ALWAYS,
                meaning="what becomes of firings found long after their moment",
            ),
            ApiField(
                "misfire_grace_ms",
                ValueType.SPAN,
                f"{USUAL.grace_ms} by default",
                USUAL.grace_ms,
                least=LEAST_GRACE_MS,
                most=MOST_SPAN_MS,
                v1="misfire.grace",
                v1_description=f"a firing found later than this is late; {USUAL.grace_ms // 1_000}s by default",
                v1_example=f"{USUAL.grace_ms // 1_000}s",
                shown=Shown.ALWAYS,
            ),
            ApiField(
                "catchup_window_ms",
                ValueType.SPAN,
                "firings found later than this are never made; 0, the default, is no such bound",
                least=0,
                most=MOST_SPAN_MS,
                v1="misfire.catchupWindow",
                v1_description="firings found later than this are never made; 0s, the default, means no limit",
                v1_example="1h",
                shown=Shown.ALWAYS,
                meaning="0: no such bound",
            ),
        ),
        columns=("misfire", "misfire_grace_ms", "catchup_window_ms"),
        in_definition=True,
    ),
    TIMEOUTS,
    _Tags(
        "tags",
        default=(),
        asked=(
            ApiField(
                "tags",
                ValueType.TEXTS,
                "to find timers by",
                ["billing"],
                most=MOST_TAGS,
                most_of_each=TAG_CHARACTERS,
                shown=Shown.ALWAYS_IN_V1,
            ),
        ),
        # `timer_tag` has them too, for look-ups. As JSON each quote and backslash takes two characters.
        columns=("tags",),
    ),
    _KeepDays(
        "keep_days",
        default=None,
        asked=(
            ApiField(
                "retention_days",
                ValueType.NUMBER,
                "a finished timer is deleted, and its name or key free, so many days after its last moment; the "
                "service's retention by default. Not with deleteAfterFinish: true",
                7,
                least=1,
                most=MOST_RETENTION_DAYS,
                meaning="once finished it is deleted so long after its last moment",
            ),
            ApiField(
                "delete_after_finish",
                ValueType.FLAG,
                "true: a finished timer is deleted within two minutes once its last firing has succeeded; where that "
                "failed or a policy skipped it, or where it has dead letters, it is kept for the service's retention, "
                "so that they can be replayed",
                shown=Shown.ALWAYS_IN_V1,
                meaning="true: it is deleted once it is finished, unless something of it can be replayed",
            ),
        ),
        # 0: deleted after its last outcome; replaced by KEPT_AFTER_FAILURE if that is a failure.
        columns=("keep_days",),
    ),
    _Word(
        "keep_output",
        default=KeepOutput.ALWAYS,
        asked=(
            ApiField(
                "keep_output",
                ValueType.TEXT,
                "when the start of the target's answer is kept on the record of a firing: always, the default; only of "
                "attempts that failed; or never",
                "onFailure",
                choices=KeepOutput,
                is_of_v1_only=True,
                meaning="when the start of the target's answer is kept on record; not there: always",
            ),
        ),
        columns=("keep_output",),
        in_definition=True,
    ),
    _Retry(
        "retry",
        default=None,
        asked=(
            ApiField(
                "retry",
                ValueType.PART,
                "when a failed call is tried again; by default as its target says, else its app, else the deployment",
                v1="retry",
                is_of_v1_only=True,
            ),
        ),
        columns=("retry",),
        in_definition=True,
    ),
    FORM,
    _Word(
        "overlap",
        default=Overlap.ALLOW,
        asked=(
            ApiField(
                "overlap",
                ValueType.TEXT,
                "what becomes of a firing whose moment comes while another one of the timer is not done: allow, the "
                "default, makes it all the same; skip does not make it; queueOne lets one wait; cancelOlder ends the "
                "older one",
                "skip",
                choices=Overlap,
                meaning="what becomes of a firing while another one of the timer is not done; not there: it is made",
            ),
        ),
        columns=("overlap",),
        in_definition=True,
    ),
    *((FURTHER,) if FURTHER_FIELDS else ()),
)
IN_DEFINITION = tuple(field for field in FIELDS if field.in_definition)
IN_TIMER = tuple(field for field in FIELDS if not field.in_definition)
