"""The firing table in memory."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from wangtimer.core.flow.firing import Firing, FiringKind, FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.flow.slicing import SharedLane, Slice
from wangtimer.core.flow.tally import Tally
from wangtimer.core.timers.bad_timers import Readable
from wangtimer.store.sql.firings import FiringRecord, Overdue, Purged
from wangtimer.store.sql.tables import ERROR_CHARACTERS, OUTPUT_CHARACTERS
from wangtimer.testing.doubles.memory_server import MemoryServer
from wangtimer.testing.doubles.memory_slices import tally_of

Table = dict[tuple[int, int], FiringRecord]


class MemoryFirings:
    """Table `firings`: (timer_id, fire_at) -> its record."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    def insert(self, planned: Sequence[Firing]) -> list[Firing]:
        """Insert what is missing, as planning does; return which of them wait."""
        return self._server.call(lambda: insert_missing(self._table, planned))

    def settle(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """Of a firing that a test put into the table `held` somebody else holds the row."""

        def work() -> list[Outcome]:
            held = self._server.table("held")
            for outcome in outcomes:
                if outcome.member.key not in held:
                    _settle(self._table, outcome)
            return [one for one in outcomes if one.member.key in held]

        return self._server.call(work) if outcomes else []

    def rows(self, members: Iterable[Member]) -> Readable[tuple[int, int], Firing]:
        keys = {(member.timer_id, member.fire_at) for member in members}
        return self._server.call(
            lambda: Readable({key: self._table[key].firing for key in keys if key in self._table})
        )

    def pending_of(self, slice_: Slice) -> list[Firing]:
        return self._pending(lambda firing: firing.slice == slice_)

    def note_lanes(self, by_lane: Mapping[SharedLane, Sequence[Member]]) -> set[Member]:
        def work() -> set[Member]:
            held = self._server.table("held")
            for lane, members in by_lane.items():
                for member in members:
                    if member.key not in held:
                        self._note_lane(lane, member)
            return {one for members in by_lane.values() for one in members if one.key in held}

        return self._server.call(work) if any(by_lane.values()) else set()

    def _note_lane(self, lane: SharedLane, member: Member) -> None:
        record = self._table.get(member.key)
        if record and _is_pending(record.firing) and record.firing.attempt == member.attempt:
            self._table[member.key] = replace(record, firing=record.firing._replace(lane=lane.key))

    def tallies(self, first: int, last: int) -> dict[Slice, Tally]:
        due: dict[Slice, list[tuple[int, int]]] = {}
        for firing in self._pending(lambda firing: first <= firing.due_at <= last and not firing.lane):
            due.setdefault(firing.slice, []).append((firing.timer_id, firing.due_at))
        return {slice_: tally_of(firings) for slice_, firings in due.items()}

    def pending_between(
        self,
        first: int,
        last: int,
        limit: int,
        after: Firing | None = None,
        in_lanes: bool | None = None,
        of_lanes: Collection[SharedLane] = (),
    ) -> list[Firing]:
        keys = {lane.key for lane in of_lanes}

        def is_wanted(firing: Firing) -> bool:
            is_behind = after is None or _by_due(firing) > _by_due(after)
            is_asked_for = in_lanes is None or bool(firing.lane) is in_lanes
            is_in_these = not keys or firing.lane in keys
            return first <= firing.due_at <= last and is_behind and is_asked_for and is_in_these

        return self._pending(is_wanted)[:limit]

    def oldest_moment(self) -> int | None:
        return self._server.call(lambda: min((fire_at for _, fire_at in self._table), default=None))

    def oldest_settled(self, before: int, most: int) -> int | None:
        oldest = sorted((fire_at, timer_id) for timer_id, fire_at in self._table if fire_at < before)[:most]
        statuses = {key: self._table[key[1], key[0]].firing.status for key in oldest}
        return next((key[0] for key in oldest if statuses[key] is not FiringStatus.PENDING), None)

    def purge(self, before: int, limit: int, since: int = 0) -> Purged:
        def work() -> Purged:
            settled = [
                (fire_at, timer_id)
                for (timer_id, fire_at), record in self._table.items()
                if since <= fire_at < before and record.firing.status is not FiringStatus.PENDING
            ]
            page = sorted(settled)[:limit]
            for fire_at, timer_id in page:
                del self._table[timer_id, fire_at]
            return Purged(len(page), page[-1][0] if page else before)

        return self._server.call(work)

    def overdue(self, before: int, most: int) -> Overdue:
        late = [firing.due_at for firing in self.pending_between(0, before - 1, most)]
        return Overdue(len(late), min(late, default=None))

    def records(
        self, timer_id: int, limit: int, before: int | None = None, upto: int | None = None
    ) -> list[FiringRecord]:
        def is_wanted(firing: Firing) -> bool:
            is_before = before is None or firing.fire_at < before
            return firing.timer_id == timer_id and is_before and (upto is None or firing.fire_at <= upto)

        def work() -> list[FiringRecord]:
            found = [record for record in self._table.values() if is_wanted(record.firing)]
            return sorted(found, key=lambda record: -record.firing.fire_at)[:limit]

        return self._server.call(work)

    def _pending(self, is_wanted: Callable[[Firing], bool]) -> list[Firing]:
        def work() -> list[Firing]:
            found = (record.firing for record in self._table.values())
            return sorted(filter(is_wanted, filter(_is_pending, found)), key=_by_due)

        return self._server.call(work)

    @property
    def _table(self) -> Table:
        return self._server.table("firings")


def insert_missing(table: Table, planned: Sequence[Firing]) -> list[Firing]:
    """Insert what is missing; return what the table holds as pending of it."""
    for firing in planned:
        row = firing._replace(status=FiringStatus.PENDING)
        table.setdefault(_key(firing), FiringRecord(row, None, None, None, None, "", ""))
    return [row for firing in planned if _is_pending(row := table[_key(firing)].firing)]


def _settle(table: Table, outcome: Outcome) -> None:
    member = outcome.member
    key = member.timer_id, member.fire_at
    held = table.get(key)
    if held is not None and not _takes_effect(held.firing, outcome):
        return
    kind = held.firing.kind if held else FiringKind.SCHEDULED
    bucket = held.firing.bucket if held else outcome.bucket
    attempt = max(outcome.next_attempt, held.firing.attempt if held else 0)
    asked_at = held.firing.asked_at if held else None
    lane = held.firing.lane if held and not outcome.is_retry else ""
    firing = Firing(*key, bucket, kind, outcome.status, outcome.due_at, attempt, asked_at, lane)
    is_first = held is None or held.first_sent_at is None
    table[key] = FiringRecord(
        firing,
        outcome.first_sent_at if is_first else held.first_sent_at,
        outcome.lateness_ms if is_first else held.lateness_ms,
        outcome.cost_ms,
        outcome.http_status,
        outcome.output[:OUTPUT_CHARACTERS],
        outcome.error[:ERROR_CHARACTERS],
        outcome.host_failing_ms,
    )


def _takes_effect(row: Firing, outcome: Outcome) -> bool:
    made, succeeded = outcome.member.attempt, outcome.status is FiringStatus.SUCCEEDED
    if row.attempt == 0:
        return outcome.first_sent_at is not None
    return _is_pending(row) and (row.attempt == made or (succeeded and row.attempt >= made))


def _is_pending(firing: Firing) -> bool:
    return firing.status is FiringStatus.PENDING


def _key(firing: Firing) -> tuple[int, int]:
    return firing.timer_id, firing.fire_at


def _by_due(firing: Firing) -> tuple[int, int, int]:
    return firing.due_at, firing.fire_at, firing.timer_id
