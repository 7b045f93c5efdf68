"""Definitions in Redis, of timers in the window or changed lately, and this process's memory of those in use."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from sys import getsizeof
from threading import Lock
from typing import Any, NamedTuple

import orjson

from wangtimer.core.kinds.kinds import kind_of, rule_from_text
from wangtimer.core.retry import RetryPolicy, policy_from_text
from wangtimer.core.schedules.calendars import Calendar
from wangtimer.core.schedules.every import Every
from wangtimer.core.schedules.schedule import Once, Schedule, bounds_in, rule_of
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.bad_timers import BadTimers, Readable, reason_of
from wangtimer.core.timers.call_options import AS_DEPLOYED, UNTOUCHED, KeepOutput, form_from, form_text
from wangtimer.core.timers.fields import FURTHER, further_from
from wangtimer.core.timers.misfire import MisfirePolicy, MisfireRule
from wangtimer.core.timers.overlap import Overlap
from wangtimer.core.timers.timer import UNREAD, Definition, TimerStatus
from wangtimer.store.bounds import BoundFields, bounded, bounds_of
from wangtimer.store.call_text import beside_a_call, call_from, timeouts_fields, timeouts_from
from wangtimer.store.redis.calendar_days import CalendarDays, DaysUnread, UploadedDays, digest_of, names_days
from wangtimer.store.redis.connection import RedisConnection, ScriptCall, script
from wangtimer.store.redis.keys import Keys

# About 20,000 definitions without a body.
MOST_BYTES = 30_000_000
# Bytes of a definition beside its text and its body.
OWN_BYTES = 1_200
# Bytes counted for each excluded day. Timers with the same days share them, but each may be the only one that is left.
DAY_BYTES = 8


class Remembered:
    """Definitions by timer, each with the text it was read from; emptied when they would take too many bytes."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._by_timer: dict[int, tuple[bytes, Definition]] = {}
        self._held = 0
        self._lock = Lock()

    @property
    def held(self) -> int:
        """How many bytes are counted as held."""
        return self._held

    def recall(self, timer_id: int, text: bytes) -> Definition | None:
        """Return the definition that was read from this very text; None if it is not remembered."""
        known = self._by_timer.get(timer_id)
        return known[1] if known is not None and known[0] == text else None

    def keep(self, timer_id: int, text: bytes, definition: Definition) -> None:
        """Remember the definition read from a text, in place of an older one."""
        with self._lock:
            older = self._by_timer.pop(timer_id, None)
            if older is not None:
                self._held -= _cost(*older)
            cost = _cost(text, definition)
            if self._held + cost > self._most_bytes:
                self._by_timer.clear()
                self._held = 0
            self._by_timer[timer_id] = text, definition
            self._held += cost


def _cost(text: bytes, definition: Definition) -> int:
    bounds = bounds_in(definition.schedule)
    excluded = None if bounds is None else bounds.excluded
    days = 0 if excluded is None else len(excluded.days) + len(excluded.working)
    return OWN_BYTES + len(text) + getsizeof(definition.notify.body) + DAY_BYTES * days


# s; Redis keeps a definition for so long after its timer's last near moment: retries come in that time, and a process
# that was held up may still write an older one. What comes later asks SQL.
KEPT_AFTER_S = 900
# Texts read at once take at most so many bytes together.
READ_BYTES = 1_000_000
# A definition that Redis does not have counts as so many bytes: hardly any text is longer.
UNKNOWN_BYTES = 65_536
# s; a timer that is off for longer has nothing on its way, whenever Redis was told.
OFF_S = 10
# What each text has; other fields are there where they are set.
FIELDS_OF_ALL = frozenset(
    ("app", "status", "edited_at", "at_ms", "cron", "every", "bounds", "misfire", "notify")
)
_STATUSES = {status.value: status for status in TimerStatus}
_KEEP_OUTPUT = {keep.value: keep for keep in KeepOutput}
_OVERLAPS = {overlap.value: overlap for overlap in Overlap}


class DefinitionsRead(NamedTuple):
    """Definitions as Redis has them, and the time up to which it was told of every change, ms UTC; None: unknown.

    `sizes` are the bytes of the texts of all timers that were read; later timers in the list were not read.
    `signing_mark` is that of the copies of how apps sign; None: there are none, or it is unknown.
    """

    definitions: dict[int, Definition]
    until: int | None
    sizes: dict[int, int] = {}  # noqa: RUF012 - never written to
    signing_mark: str | None = None


class DefinitionStore:
    """Definitions by timer; Redis has the current one, this process's memory saves reading its text again."""

    def __init__(
        self,
        redis: RedisConnection,
        keys: Keys,
        clock: Clock,
        definitions_live_s: int,
        bad_timers: BadTimers,
    ) -> None:
        self._connection = redis
        self._keys = keys
        self._clock = clock
        self._longest_s = definitions_live_s
        self._bad_timers = bad_timers
        self._remembered = Remembered()
        self._days = CalendarDays(redis, keys, clock, definitions_live_s)

    def put(self, definitions: Iterable[Definition], may_be_far: bool = False) -> None:
        """Write definitions unless a newer one is there, and renew the expiry of all; `may_be_far` as in `lives_s`.

        Of equal versions the later one counts: the first may be of a commit that SQL has lost.
        One that cannot be written is noted and left out: a reader that misses it asks SQL.
        """
        now = self._clock.now_ms()
        calls: list[ScriptCall] = []
        bad: dict[int, str] = {}
        named: set[tuple[str, Calendar]] = set()
        for definition in definitions:
            try:
                text = definition_text(definition)
                bounds = bounds_in(definition.schedule)
                if bounds is not None and bounds.excluded is not None and names_days(bounds.excluded):
                    named.add((definition.app, bounds.excluded))
            except Exception as error:
                bad[definition.timer_id] = reason_of("its definition cannot be written to Redis", error)
                continue
            key = self._keys.definition(definition.timer_id)
            seconds = lives_s(definition, now, self._longest_s, may_be_far)
            calls.append(ScriptCall(script("define"), [key], [definition.version, text, seconds]))
        self._days.tell(named)
        if len(calls) == 1:
            # Each change of one timer does this: alone it takes a fifth less CPU than in a pipeline.
            self._connection.run("define", calls[0].keys, calls[0].arguments)
            calls = []
        for start in range(0, len(calls), 1_000):
            self._connection.run_all(calls[start : start + 1_000])
        if bad:
            self._bad_timers.note(bad)

    def forget(self, timer_ids: Iterable[int]) -> None:
        """Drop these timers' definitions: a reader that misses one asks SQL."""
        keys = [self._keys.definition(timer_id) for timer_id in timer_ids]
        if keys:
            self._connection.command(lambda client: client.delete(*keys))

    def get(self, timer_ids: Sequence[int]) -> DefinitionsRead:
        """Return the current definitions that are known and readable, and the time up to which Redis was told."""
        told, number = self._read(timer_ids)
        while number < len(timer_ids):
            more, read = self._read(timer_ids[number:])
            told = told._replace(
                definitions=told.definitions | more.definitions, sizes=told.sizes | more.sizes
            )
            number += read
        return told

    def get_first(self, timer_ids: Sequence[int]) -> DefinitionsRead:
        """Return the same for the first of these timers: as many as `READ_BYTES` allow, at least one."""
        return self._read(timer_ids)[0]

    def _read(self, timer_ids: Sequence[int]) -> tuple[DefinitionsRead, int]:
        definitions = (self._keys.definition(timer_id) for timer_id in timer_ids)
        keys = [self._keys.told, self._keys.signing, *definitions]
        told, mark, *texts = self._connection.run_for_bytes("define_read", keys, [READ_BYTES])
        known = {timer_id: text for timer_id, text in zip(timer_ids, texts, strict=False) if text is not None}
        sizes = {
            timer_id: len(known[timer_id]) if timer_id in known else UNKNOWN_BYTES
            for timer_id in timer_ids[: len(texts)]
        }
        found: Readable[int, Definition] = Readable()
        if unread := self._recall_all(known, found):
            self._days.read(unread.values())
            # Of days that Redis lost SQL is asked, as of a definition that it lost.
            self._recall_all({timer_id: known[timer_id] for timer_id in unread}, found)
        if found.bad:
            self._bad_timers.note(found.bad)
        until = None if told is None else int(told)
        return DefinitionsRead(found, until, sizes, None if mark is None else mark.decode()), len(texts)

    def note_off(self, since: Mapping[int, int], at: int) -> None:
        """Note for some seconds that Redis knew at `at` that timers are off, each since its moment (ms UTC).

        An earlier note stays.
        """

        def note(client: Any) -> None:
            with client.pipeline(transaction=False) as pipe:
                for timer_id, moment in since.items():
                    pipe.set(self._keys.off(timer_id, moment), at, ex=OFF_S, nx=True)
                pipe.execute()

        if since:
            self._connection.command(note)

    def known_off(self, since: Mapping[int, int]) -> dict[int, int]:
        """Return when it was noted that Redis knew of these timers, each off since its moment; others are absent."""

        def ask(client: Any) -> list[bytes | None]:
            with client.pipeline(transaction=False) as pipe:
                for timer_id, moment in since.items():
                    pipe.get(self._keys.off(timer_id, moment))
                found: list[bytes | None] = pipe.execute()
            return found

        found = self._connection.command(ask) if since else []
        return {timer_id: int(at) for timer_id, at in zip(since, found, strict=True) if at is not None}

    def told_until(self) -> int | None:
        """Return the moment (ms UTC) up to which Redis knows of every change; None where it does not know."""
        told = self._connection.command(lambda client: client.get(self._keys.told))
        return None if told is None else int(told)

    def note_told(self, until: int) -> None:
        """Note that Redis knows of every change up to `until`, ms UTC."""
        self._connection.command(lambda client: client.set(self._keys.told, until))

    @property
    def reconnects(self) -> int:
        """How often this process has (re)connected to a Redis that had been away."""
        return self._connection.reconnects.number

    @property
    def seconds_since_reconnect(self) -> float:
        """Seconds since this process last (re)connected to a Redis that had been away, or first connected."""
        return self._connection.reconnects.seconds_since

    def _recall_all(
        self, texts: Mapping[int, bytes], found: Readable[int, Definition]
    ) -> dict[int, UploadedDays]:
        """Read texts into `found`; return the days that must be read first, by timer."""
        unread: dict[int, UploadedDays] = {}
        for timer_id, text in texts.items():
            try:
                found[timer_id] = self._recall(timer_id, text)
            except DaysUnread as unknown:
                unread[timer_id] = unknown.days
            except Exception as error:
                found.bad[timer_id] = reason_of("its definition in Redis cannot be read", error)
        return unread

    def _recall(self, timer_id: int, text: bytes) -> Definition:
        remembered = self._remembered.recall(timer_id, text)
        if remembered is not None:
            return remembered
        definition = _from_text(timer_id, text, self._days)
        if definition.schedule.only_moment is None:  # else it will hardly be asked for again
            self._remembered.keep(timer_id, text, definition)
        return definition


def lives_s(definition: Definition, now: float, longest_s: int, may_be_far: bool = False) -> int:
    """Return for how many seconds Redis keeps a definition that is written at `now` (ms UTC).

    A timer that recurs has it for `longest_s`, until it is told again. A one-shot's, and that of a timer whose end is
    near, ends with the last moment. A moment that is further away is told again when it is near. A timer that is off
    has it so that no older one comes back, as has one that recurs and has no moment in that time. The latter is looked
    for where it `may_be_far`: who plans or feeds a timer knows that it is not.
    """
    if not definition.is_enabled or (may_be_far and _is_far(definition.schedule, int(now), longest_s)):
        return min(KEPT_AFTER_S, longest_s)
    last = definition.schedule.only_moment
    if last is None and (bounds := bounds_in(definition.schedule)) is not None and bounds.last_ms is not None:
        last = bounds.last_ms + (bounds.jitter_ms or 0)
    if last is None:
        return longest_s
    ahead_s = max(0, int(last - now) // 1_000)
    if definition.schedule.only_moment is not None and ahead_s > longest_s:
        ahead_s = 0
    return min(ahead_s + KEPT_AFTER_S, longest_s)


def _is_far(schedule: Schedule, now: int, longest_s: int) -> bool:
    with suppress(Exception):  # say, a zone that this node does not know
        return schedule.only_moment is None and not schedule.moments(now, now + longest_s * 1_000, 1)
    return False


def definition_text(definition: Definition) -> str:
    """Return `version JSON`; its script compares versions. ValueError for a definition read without its call."""
    if definition.notify is UNREAD:
        raise ValueError("its call was not read")
    schedule, call, misfire = definition.schedule, definition.notify, definition.misfire
    rule = rule_of(schedule)
    stored = kind_of(rule).stored(rule)
    fields: dict[str, Any] = {
        "app": definition.app,
        "status": definition.status.value,
        "edited_at": definition.edited_at,
        "at_ms": stored.at_ms,
        "cron": None if stored.text is None else [stored.text, stored.timezone],
        "every": None if stored.every_ms is None else [stored.every_ms, stored.anchor_ms, stored.timezone],
        "bounds": _bounds(schedule),
        "misfire": [misfire.policy.value, misfire.grace_ms, misfire.window_ms],
        "notify": [call.url, call.method, call.headers, call.body],
    } | beside_a_call(call)
    if definition.disabled_at:
        fields["disabled_at"] = definition.disabled_at
    if definition.timeouts != AS_DEPLOYED:
        fields |= timeouts_fields(definition.timeouts)
    if definition.keep_output is not KeepOutput.ALWAYS:
        fields["keep_output"] = definition.keep_output.value
    if definition.retry is not None:
        fields["retry"] = definition.retry.text()
    if definition.form != UNTOUCHED:
        fields["form"] = form_text(definition.form)
    if definition.overlap is not Overlap.ALLOW:
        fields["overlap"] = definition.overlap.value
    if definition.further:
        fields["further"] = FURTHER.stored(definition.further)
    return f"{definition.version} {orjson.dumps(fields).decode()}"


def _from_text(timer_id: int, text: bytes, days: CalendarDays) -> Definition:
    version, _, json = text.partition(b" ")
    fields: dict[str, Any] = orjson.loads(json)
    plain = Definition(
        timer_id,
        fields["app"],
        int(version),
        _STATUSES[fields["status"]],
        _schedule(fields, timer_id, days),
        call_from(fields, *fields["notify"]),
        fields["edited_at"],
        _misfire(*fields["misfire"]),
    )
    if fields.keys() <= FIELDS_OF_ALL:
        return plain
    return plain._replace(
        disabled_at=fields.get("disabled_at", 0),
        timeouts=timeouts_from(fields),
        keep_output=_KEEP_OUTPUT[fields.get("keep_output", KeepOutput.ALWAYS.value)],
        retry=_policy(fields.get("retry")),
        form=form_from(fields.get("form")),
        overlap=_OVERLAPS[fields.get("overlap", Overlap.ALLOW.value)],
        further=further_from(fields["further"]) if "further" in fields else (),
    )


def _schedule(fields: dict[str, Any], timer_id: int, days: CalendarDays) -> Schedule:
    if fields["at_ms"] is not None:
        return Once(fields["at_ms"])
    rule = rule_from_text(*fields["cron"]) if fields["cron"] is not None else Every(*fields["every"])
    bounds = fields.get("bounds")
    if bounds is not None and (digest := bounds.get("excluded", {}).get("days_in")) is not None:
        bounds["excluded"] = days.get(fields["app"], digest)
    return bounded(rule, bounds, timer_id)


def _bounds(schedule: Schedule) -> BoundFields | None:
    """Return a schedule's bounds, with the digest of the excluded days in the place of uploaded ones."""
    bounds, fields = bounds_in(schedule), bounds_of(schedule)
    if bounds is None or fields is None or bounds.excluded is None or not names_days(bounds.excluded):
        return fields
    return fields | {"excluded": {"name": bounds.excluded.name, "days_in": digest_of(bounds.excluded)}}


def _policy(text: str | None) -> RetryPolicy | None:
    return None if text is None else policy_from_text(text)


@lru_cache(maxsize=1_024)
def _misfire(policy: str, grace_ms: int, window_ms: int) -> MisfireRule:
    return MisfireRule(MisfirePolicy(policy), grace_ms, window_ms)
