"""Dead letters over v1: list, count, replay, discard."""

import re
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

from wangtimer.api.http import cursors
from wangtimer.api.http.request_context import begin_if_many
from wangtimer.api.v1.dead_letters.letter_answers import (
    DeadLetterPage,
    Discarded,
    ShownDeadLetterCounts,
    shown_counts,
    shown_letter,
)
from wangtimer.api.v1.dead_letters.letter_models import (
    DeadLetterConditions,
    DeadLetterQuery,
    DiscardBody,
    ReplayLettersBody,
    wanted_of,
)
from wangtimer.api.v1.firings.demand_models import ReplayOutcome
from wangtimer.api.v1.firings.demand_routes import key_of, shown_replays
from wangtimer.api.v1.kept_replies import ActingHeader
from wangtimer.api.v1.parameters import AnyAppHeader
from wangtimer.api.v1.resource import Resource, Route
from wangtimer.core.flow.firing import MemberKey
from wangtimer.core.work_budget import is_over
from wangtimer.on_demand import MOST_AT_ONCE, NotReplayed, Replayed, pages_of
from wangtimer.store.sql.demands import REPLAYS_A_TRANSACTION

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
        cursor = None
        if len(found) > query.limit:
            last = page[-1]
            cursor = cursors.write(listed, f"{last.failed_at}-{last.fire_at}", last.timer_id)
        labels = wiring.timer_lists.labels_of(one.timer_id for one in page)
        items = cursors.shown_each(
            page,
            attrgetter("key"),
            lambda one: shown_letter(one, labels[one.timer_id].url if one.timer_id in labels else None),
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
    """Return the key of the last letter of the page before; raises `Refused`."""
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
