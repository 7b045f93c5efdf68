"""A rule of alerts: which trouble an app wants to be told of, of which timers, and where; which outcomes it sees."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from urllib.parse import parse_qsl, urlsplit

from wangtimer.core.alerts.alert_place import NOWHERE, AlertedApps, AlertPlace, NotedAt
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.misfire import COALESCED, MISSED
from wangtimer.core.timers.overlap import OVERLAP

RULE_NAME_CHARACTERS = 64
# Characters; what is shorter is no key.
SHORTEST_SECRET = 6
# Of one app.
MOST_RULES = 20
# Addresses that one mail goes to.
MOST_ADDRESSES = 10
# What stands for a secret that is not shown.
MASK = "***"


class AlertEvent(StrEnum):
    """What a rule tells of.

    `first_failure` and `failures_in_a_row` count attempts, whether or not others follow; `failed_for_good` counts
    firings. `missed`: the misfire policy left a firing out, as it was too late. `skipped`: it did so as a later one was
    due, or the overlap policy skipped or cancelled it. `late`: a first attempt was sent too late. `recovered`: what a
    rule told of is over. `test`: somebody asked for it.
    """

    FIRST_FAILURE = "first_failure"
    FAILURES_IN_A_ROW = "failures_in_a_row"
    FAILED_FOR_GOOD = "failed_for_good"
    MISSED = "missed"
    SKIPPED = "skipped"
    LATE = "late"
    RECOVERED = "recovered"
    TEST = "test"


class Per(StrEnum):
    """What is one trouble: that of a timer, or that of all timers that call one host or go through one named target."""

    TIMER = "timer"
    HOST = "host"


class DestinationKind(StrEnum):
    """How a message goes out."""

    WEBHOOK = "webhook"
    MAIL = "mail"
    DINGTALK = "dingtalk"
    WECOM = "wecom"
    FEISHU = "feishu"
    SLACK = "slack"


# Whose URL lets everybody who knows it write there.
ROBOTS = frozenset(DestinationKind) - {DestinationKind.WEBHOOK, DestinationKind.MAIL}
# Robots that may check a signature.
SIGNED_ROBOTS = frozenset({DestinationKind.DINGTALK, DestinationKind.FEISHU})


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a message goes: a URL, and the secret that signs for a robot ("": none); or addresses of mail."""

    kind: DestinationKind
    url: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    to: tuple[str, ...] = ()

    @property
    def secret_texts(self) -> tuple[str, ...]:
        """What of it nobody is to read in an answer: the secret, and what its URL has behind the host."""
        parts = urlsplit(self.url)
        within = (*parts.path.split("/"), *(value for _, value in parse_qsl(parts.query)))
        texts = (self.secret, parts.path, parts.query, *within)
        return tuple({text for text in texts if len(text) >= SHORTEST_SECRET})

    @property
    def has_secrets(self) -> bool:
        """Whether nobody is to read it in SQL."""
        return self.kind in ROBOTS


@dataclass(frozen=True, slots=True)
class AlertNote:
    """What the judge is told of one attempt, or of a firing that was skipped; `status` is as in its outcome.

    `known_at` and `well_at` are as in `NotedAt`. `recorded_ms` is the lateness of the first attempt, as on record.
    """

    member: Member
    status: FiringStatus
    lateness_ms: int | None
    http_status: int | None
    error: str
    place: AlertPlace = NOWHERE
    known_at: int | None = None
    well_at: int | None = None
    recorded_ms: int | None = None

    @property
    def is_success(self) -> bool:
        """Whether its work is done; what was only accepted may still fail."""
        return self.status is FiringStatus.SUCCEEDED


@dataclass(frozen=True, slots=True)
class AlertRule:
    """What to tell of, to whom.

    `in_a_row` is the number of failures for `FAILURES_IN_A_ROW`, `late_ms` the lateness that is too much for `LATE`;
    None: the rule has no such event. `key_prefix`: how the keys of its timers begin; "": of all. After `repeat_ms`
    of trouble it is told again; None: never. `told_at` is when a message was last taken, `error` why the last one was
    not, or not for all its addresses; "": it was. `per`: what is one trouble.
    """

    app: str
    name: str
    events: frozenset[AlertEvent]
    destination: Destination
    in_a_row: int | None = None
    late_ms: int | None = None
    key_prefix: str = ""
    repeat_ms: int | None = None
    created_at: int = 0
    updated_at: int = 0
    told_at: int | None = None
    error: str = ""
    per: Per = Per.HOST

    def events_of(self, note: AlertNote, timer_name: str) -> Iterator[AlertEvent]:
        """Yield what a note is for this rule."""
        if timer_name.startswith(self.key_prefix):
            yield from (event for event in self._events_of(note) if event in self.events)

    def _events_of(self, note: AlertNote) -> Iterator[AlertEvent]:
        if note.status in (FiringStatus.PENDING, FiringStatus.FAILED):
            yield AlertEvent.FIRST_FAILURE
            yield AlertEvent.FAILURES_IN_A_ROW
        if note.status is FiringStatus.FAILED:
            yield AlertEvent.FAILED_FOR_GOOD
        if note.status is FiringStatus.SKIPPED:
            yield AlertEvent.MISSED if note.error == MISSED else AlertEvent.SKIPPED
        if is_late(note.member, note.lateness_ms, self.late_ms):
            yield AlertEvent.LATE

    def needed(self, event: AlertEvent) -> int:
        """Return how often something must happen until it is told."""
        return (self.in_a_row or 1) if event is AlertEvent.FAILURES_IN_A_ROW else 1


def is_late(member: Member, lateness_ms: int | None, late_ms: int | None) -> bool:
    """Tell whether a first attempt was sent too late."""
    return late_ms is not None and member.attempt == 1 and lateness_ms is not None and lateness_ms > late_ms


def noted(
    outcome: Outcome,
    place: AlertPlace,
    alerted: AlertedApps,
    is_first: Callable[[str, str], bool] = lambda _app, _place: True,
    known_at: int | None = None,
    well_at: int | None = None,
) -> Outcome:
    """Return the outcome, marked if the judge of alerts is to see it. Quick: every firing passes here.

    Where nobody knows whose it is, any rule may be about it. A success is marked where its place is in trouble, and
    `is_first` of app and place says that none was marked just now. `known_at` and `well_at` are as in `NotedAt`.
    """
    app = place.app
    if not alerted.late_ms or (app and app not in alerted.late_ms):
        return outcome
    match outcome.status:
        case FiringStatus.FAILED | FiringStatus.PENDING:
            is_noted = True
        case FiringStatus.SKIPPED:
            is_noted = outcome.error in (MISSED, COALESCED) or outcome.error.startswith(OVERLAP)
        case _:
            is_noted = is_late(outcome.member, outcome.lateness_ms, alerted.late_ms.get(app)) or (
                outcome.status is FiringStatus.SUCCEEDED
                and place.text in alerted.troubled.get(app, ())
                and is_first(app, place.text)
            )
    if not is_noted:
        return outcome
    return outcome.with_note(NotedAt(app, place.host, place.target, known_at, well_at).note)


# Of a host in trouble one success a second is noted: the judge wants to know whether there are any, not how many. The
# first one after a failure may be the last for long, so it waits less.
SUCCESSES_EVERY_S, FIRST_SUCCESSES_EVERY_S = 1.0, 0.1
# Hosts whose last marked success is remembered, and hosts that have had a success since their last failure.
MARKED_KEPT, WELL_KEPT = 1_000, 10_000
_Place = tuple[str, str]


class AlertMarks:
    """Marks outcomes that the judge of alerts is to see; quick, from any thread. `alerted`: who has rules."""

    def __init__(self, alerted: Callable[[], AlertedApps], clock: Clock) -> None:
        self.alerted = alerted
        self._clock = clock
        self._marked_at: dict[_Place, float] = {}
        # ms UTC, of places that have not failed since.
        self._well_at: dict[_Place, int] = {}

    @property
    def has_rules(self) -> bool:
        """Whether anybody has rules of alerts, so that an outcome may be noted."""
        return bool(self.alerted().late_ms)

    @property
    def are_any_troubled(self) -> bool:
        """Whether some host is in trouble, so that a success may be noted."""
        return bool(self.alerted().troubled)

    def noted(self, outcome: Outcome, place: AlertPlace) -> Outcome:
        """Return the outcome, marked if the judge is to see it."""
        return self.noted_for(self.alerted(), outcome, place)

    def noted_for(self, alerted: AlertedApps, outcome: Outcome, place: AlertPlace) -> Outcome:
        """Do the same for those who have rules now."""
        app = place.app
        if not alerted.late_ms or (app and app not in alerted.late_ms):
            return outcome
        key, now, well_at, least_s = (app, place.text), int(self._clock.now_ms()), None, SUCCESSES_EVERY_S
        if outcome.status is FiringStatus.SUCCEEDED:
            if key not in self._well_at:
                least_s = FIRST_SUCCESSES_EVERY_S
                if len(self._well_at) >= WELL_KEPT:
                    self._well_at.clear()
            self._well_at[key] = now
        elif outcome.status in (FiringStatus.FAILED, FiringStatus.PENDING):
            well_at = self._well_at.pop(key, None)
        return noted(outcome, place, alerted, partial(self._is_first, least_s), now, well_at)

    def _is_first(self, least_s: float, app: str, place: str) -> bool:
        """Tell whether no success of this place was marked just now."""
        now = self._clock.monotonic()
        if now - self._marked_at.get((app, place), float("-inf")) < least_s:
            return False
        if len(self._marked_at) >= MARKED_KEPT:
            self._marked_at.clear()
        self._marked_at[app, place] = now
        return True
