"""Dead letters over v1, what has failed for good: list, count, replay, discard."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field

from wangtimer.api.http import cursors
from wangtimer.api.http.api_models import Sent, by_word
from wangtimer.api.http.field_types import Given, GivenMoment, moment, number
from wangtimer.api.http.moments import read_range
from wangtimer.api.http.refusals import bad_value, missing_field, shown
from wangtimer.api.http.request_context import begin_if_many
from wangtimer.api.timer_terms.timer_field_types import ShownKind
from wangtimer.api.v1.firings.demand_routes import (
    MOST_NAMED,
    OnlyCountFirings,
    ReplayOutcome,
    SpreadBody,
    key_of,
    shown_replays,
)
from wangtimer.api.v1.firings.firing_answers import ShownUrl
from wangtimer.api.v1.parameters import ActingHeader, AnyAppHeader, TimerPath, host_at_any_port
from wangtimer.api.v1.resource import Resource, Route
from wangtimer.api.v1.value_types import ListPage, PageQuery, Text
from wangtimer.core.errors import Subject
from wangtimer.core.flow.dead_letter import REASONS, DeadLetter
from wangtimer.core.flow.firing import MemberKey
from wangtimer.core.flow.slicing import LANE_CHARACTERS
from wangtimer.core.timers.named_target import TARGET_CHARACTERS
from wangtimer.core.work_budget import is_over
from wangtimer.store.sql.dead_letters import MOST_COUNTED, DeadLetterCounts, DeadLetterFilter
from wangtimer.store.sql.demands import REPLAYS_A_TRANSACTION
from wangtimer.timers.on_demand import MOST_AT_ONCE, NotReplayed, Replayed, pages_of
from wangtimer.wiring import Wiring

_Reason = Annotated[str, Field(description="why, in a word", examples=["http_503"])]
_Host = Annotated[
    str,
    Field(description="host and port that the last attempt called; empty: no call could be made"),
]
_Number = Annotated[int, Field(description="how many")]
_Target = Annotated[str | None, Field(description="the named target of its timer then; null: none")]


class ShownDeadLetter(Sent):
    """A firing that has failed for good."""

    id: Annotated[str, Field(examples=["890342217101453-1795198611123"])]
    """the firing's id, the webhook-id of its callbacks"""
    timer_id: int
    timer_key: str
    """its timer's key when it failed"""
    app: str
    kind: ShownKind
    fire_at: Annotated[Text, Field(description="its scheduled moment")]
    failed_at: Annotated[Text, Field(description="when its last attempt ended")]
    attempt: int
    """the number of the last attempt"""
    reason: _Reason
    http_status: int | None
    """of the last attempt; null: no answer"""
    error: str
    host: _Host
    target: _Target
    url: ShownUrl


class DeadLetterPage(ListPage):
    """A page of dead letters, the latest first."""

    items: list[ShownDeadLetter]


class OfReason(Sent):
    """How many dead letters have a reason."""

    reason: _Reason
    number: _Number


class OfTarget(Sent):
    """How many dead letters called a host, through a named target or not."""

    target: _Target
    host: _Host
    number: _Number


class ShownDeadLetterCounts(Sent):
    """How many dead letters there are, and of what; the most first."""

    total: int
    by_reason: Annotated[list[OfReason], Field(description=f"{MOST_COUNTED} at most")]
    by_target: Annotated[list[OfTarget], Field(description=f"{MOST_COUNTED} at most")]


class Discarded(Sent):
    """How many dead letters were discarded."""

    matched: Annotated[int, Field(description="of this request; with dryRun of all that match")]
    discarded: Annotated[int, Field(description="how many are gone")]
    not_discarded: Annotated[
        list[str], Field(description="those of `ids` that are no dead letters of the app")
    ]
    remaining: Annotated[int, Field(description="0: none is left; else repeat the request for the others")]


def shown_letter(letter: DeadLetter, url: str | None) -> ShownDeadLetter:
    """Return a dead letter as answers show it; `url` is what its timer calls now."""
    return ShownDeadLetter.of(letter, id=letter.firing_id, timer_key=letter.name, url=url)


def shown_counts(counts: DeadLetterCounts) -> ShownDeadLetterCounts:
    """Return counts as answers show them."""
    reasons, targets = counts.by_reason.items(), counts.by_target.items()
    return ShownDeadLetterCounts(
        total=counts.total,
        by_reason=[OfReason(reason=reason, number=number) for reason, number in reasons],
        by_target=[OfTarget.of(called, number=number) for called, number in targets],
    )


_OF_STATUS = re.compile("http_[1-9][0-9]{2}", re.ASCII)


def _known_reason(given: str) -> str:
    if given in REASONS or _OF_STATUS.fullmatch(given):
        return given
    words = ", ".join(REASONS)
    raise bad_value(
        "reason", f"{shown(given)} is no reason", f"write http_503 and the like, or one of {words}"
    )


_SINCE, _UNTIL = "failed for good at this moment or later", "failed for good at this moment or earlier"

# Words of elsewhere, and ours.
_OUR_WORDS: Mapping[str, str] = by_word(
    timer="name key id timerId timerKey",
    reason="error status httpStatus",
    since="from",
    until="to",
)


class _Conditions(Given):
    """What an app's dead letters are to meet."""

    our_words: ClassVar[Mapping[str, str] | None] = _OUR_WORDS
    named_by: ClassVar[Mapping[Subject, str]] = {Subject.TIMER: "timer"}

    timer: Annotated[str | None, Field(examples=["key:order-42"])] = None
    """of this timer: its id, or `key:` and its key"""
    reason: Annotated[
        str | None,
        Field(
            examples=["http_503"],
            json_schema_extra={"pattern": f"^(http_[1-9][0-9]{{2}}|{'|'.join(REASONS)})$"},
        ),
        AfterValidator(lambda given: given if given is None else _known_reason(given)),
    ] = None
    """why: `http_` and the answer's status, `timed_out`, `not_connected`, `broken_off` (no whole answer), `not_taken`
    (a broker did not take the message), `refused` (the rules of egress), `host_disabled` (its host failed for days),
    `nacked` and `not_acked` (accepted, but not done) or `not_made` (no call could be made)"""
    host: Annotated[str | None, Field(max_length=LANE_CHARACTERS, examples=["shop.example:443"])] = None
    """the last attempt called this host and port, or this host at any port"""
    target: Annotated[str | None, Field(max_length=TARGET_CHARACTERS, examples=["shop"])] = None
    """their timers named this target when they failed"""


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

    ids: Annotated[list[str] | None, Field(min_length=1, max_length=MOST_NAMED, fail_fast=True)] = None
    """of these firings"""
    since: Annotated[GivenMoment, moment(_SINCE)] = None
    until: Annotated[GivenMoment, moment(_UNTIL)] = None

    def check(self) -> None:
        """Raise `Refused` unless either ids or since is given."""
        if self.ids is None and self.since is None:
            raise missing_field("since", "neither ids nor since is given", "give one of them")
        for name in ("timer", "reason", "host", "target", "since", "until"):
            if self.ids is not None and getattr(self, name) is not None:
                raise bad_value(name, "ids are given too", "give one of them")


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


# The order of the list: when they failed, timer and moment, latest first.
ORDER = "dead letters"
_PLACE = re.compile("([0-9]{1,19})-([0-9]{1,19})", re.ASCII)


class DeadLetterResource(Resource):
    """The operations on dead letters."""

    @Route("get", "/dead-letters", "listDeadLetters", (404,))
    def page(self, header: AnyAppHeader, query: DeadLetterQuery) -> DeadLetterPage:
        """List dead letters.

        They are the firings that have failed for good, those that failed last first. One is gone from here once it is
        replayed or discarded, or past its app's time. The search is refused where it finds too few in a few seconds. An
        operator who names no app gets the dead letters of all apps.
        """
        wiring = self.wiring()
        listed = cursors.of_list(f"v1 {header.app} {ORDER}", query)
        after = None if query.cursor is None else _key_of(listed, query.cursor)
        wanted = wanted_of(query, header.app, wiring)
        found = wiring.dead_letters.page(wanted, query.limit + 1, after)
        page = found[: query.limit]
        cursor = cursors.after(
            listed, found, query.limit, lambda last: (f"{last.failed_at}-{last.fire_at}", last.timer_id)
        )
        labels = wiring.timer_lists.labels_of(letter.timer_id for letter in page)
        items = cursors.shown_each(
            page,
            attrgetter("key"),
            lambda letter: shown_letter(
                letter, labels[letter.timer_id].url if letter.timer_id in labels else None
            ),
        )
        return DeadLetterPage(items=items, next_cursor=cursor)

    @Route("get", "/dead-letters:count", "countDeadLetters", (404,))
    def count(self, header: AnyAppHeader, query: DeadLetterConditions) -> ShownDeadLetterCounts:
        """Count dead letters by reason, and by what they called.

        A count that takes more than a few seconds is refused. An operator who names no app counts those of all apps.
        """
        wiring = self.wiring()
        return shown_counts(wiring.dead_letters.count(wanted_of(query, header.app, wiring)))

    @Route("post", "/dead-letters:replay", "replayDeadLetters", (404,))
    def replay(self, header: ActingHeader, body: ReplayLettersBody) -> ReplayOutcome:
        """Replay dead letters.

        Their firings are attempted anew with the same webhook-id, the oldest first, even where the timer is disabled:
        as often as retries allow, numbered from 101. What fails again comes back. Those whose timer is deleted stay.
        """
        wiring = self.wiring()
        body.check()
        begin_if_many(body.ids)
        if body.ids is None:
            wanted = replace(wanted_of(body, header.app, wiring), is_living=True)
            if body.dry_run:
                matched = wiring.dead_letters.count(wanted).total
                return shown_replays(Replayed(matched, remaining=matched))
            letters = wiring.dead_letters.oldest(wanted, MOST_AT_ONCE + 1)
            taken = letters[:MOST_AT_ONCE]
            done = wiring.on_demand.replay_dead(header.app, taken, body.rate)
            others = 0
            if len(letters) > len(taken):
                others = wiring.dead_letters.number_after(wanted, taken[-1])
            return shown_replays(
                replace(done, matched=len(taken) + others, remaining=done.remaining + others)
            )
        keys = _keys(body.ids)
        found = wiring.dead_letters.of(header.app, keys)
        unknown = tuple(NotReplayed(*key, _NO_LETTER) for key in keys if key not in found)
        letters = [found[key] for key in keys if key in found]
        done = wiring.on_demand.replay_dead(header.app, letters, body.rate, body.dry_run)
        return shown_replays(replace(done, left=(*unknown, *done.left)))

    @Route("post", "/dead-letters:discard", "discardDeadLetters", (404,))
    def discard(self, header: ActingHeader, body: DiscardBody) -> Discarded:
        """Discard dead letters.

        They are listed no more; the records of their firings stay as long as any. The oldest go first.
        """
        wiring = self.wiring()
        body.check()
        begin_if_many(body.ids)
        unknown: list[MemberKey] = []
        if body.ids is None:
            wanted = wanted_of(body, header.app, wiring)
            if body.dry_run:
                return _discarded(wiring.dead_letters.count(wanted).total)
            letters = wiring.dead_letters.oldest(wanted, MOST_AT_ONCE + 1)
        else:
            keys = _keys(body.ids)
            found = wiring.dead_letters.of(header.app, keys)
            letters, unknown = list(found.values()), [key for key in keys if key not in found]
            if body.dry_run:
                return _discarded(len(letters), unknown=unknown)
        now = self.now()
        discarded = tried = 0
        for page in pages_of(letters[:MOST_AT_ONCE], REPLAYS_A_TRANSACTION):
            discarded += wiring.dead_letters.discard(page, now)
            tried += len(page)
            if is_over():
                break
        return _discarded(len(letters) - tried, discarded, unknown)


_NO_LETTER = "this app has no such dead letter"


def _key_of(listed: str, cursor: str) -> tuple[int, int, int]:
    place, timer_id = cursors.read(listed, cursor, str)
    found = _PLACE.fullmatch(str(place))
    if found is None or max(map(int, found.groups())) > cursors.MOST_NUMBER:
        raise cursors.unknown()
    return int(found[1]), timer_id, int(found[2])


def _keys(ids: Sequence[str]) -> list[MemberKey]:
    return list(dict.fromkeys(key_of(text, index) for index, text in enumerate(ids)))


def _discarded(remaining: int, discarded: int = 0, unknown: Sequence[MemberKey] = ()) -> Discarded:
    return Discarded(
        matched=remaining + discarded,
        discarded=discarded,
        not_discarded=[f"{timer_id}-{fire_at}" for timer_id, fire_at in unknown],
        remaining=remaining,
    )
