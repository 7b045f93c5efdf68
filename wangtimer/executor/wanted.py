"""Whether a firing is still wanted: if Redis says yes it is sent; if Redis says no, SQL must agree."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import CANCELLED, DELETED, DISABLED, SUPERSEDED, Firing, FiringKind
from wangtimer.core.timers.bad_timers import Readable, reason_of
from wangtimer.core.timers.change_delay import is_believed
from wangtimer.core.timers.timer import Definition, TimerStatus
from wangtimer.executor.asker import Asker
from wangtimer.executor.case import Case
from wangtimer.executor.verdicts import Send, Skip
from wangtimer.executor.verifier import Verifier
from wangtimer.store.redis.definitions import UNKNOWN_BYTES, DefinitionsRead, DefinitionStore
from wangtimer.store.sql.timers import TimerStore


@dataclass(frozen=True, slots=True)
class Wanted:
    """Knows the definitions in use. A step, about firings that seem unwanted."""

    definitions: DefinitionStore
    timers: TimerStore
    verifier: Verifier
    asker: Asker
    concerns = None

    def read(self, timer_ids: Iterable[int]) -> DefinitionsRead:
        """Return the definitions Redis holds, and the time of the last change told to it; nothing while it is away.

        If the texts are long, only the first timers are read: those that have a size.
        """
        asked = list(dict.fromkeys(timer_ids))
        try:
            return self.definitions.get_first(asked)
        except StoreAway:
            return DefinitionsRead({}, None, dict.fromkeys(asked, UNKNOWN_BYTES))

    def current(self, read: DefinitionsRead) -> dict[int, Definition]:
        """Return those of the definitions just read that can be believed.

        * None, if Redis has not been told yet of the changes made while it was away: SQL is asked about each firing.
        * SQL's present ones, if Redis was told too long ago. If SQL does not answer, those of Redis, so that firings
          are on time while SQL is away.
        * Else those of Redis.
        """
        now = self.verifier.clock.now_ms()
        if read.until is None or read.until <= now - self.definitions.seconds_since_reconnect * 1_000:
            return {}
        if is_believed(read.until, now, self.verifier.lead_ms):
            return read.definitions
        newest = self.asker.ask(read.definitions)
        return read.definitions if newest is None else newest

    def renew_seals(self, held: Mapping[int, Definition]) -> set[int]:
        """Tell Redis what SQL has sealed otherwise than in the definitions `held`; return the ids of those timers.

        A rotation keeps the version: who had read a row before it may have written the old seal to Redis after it.
        Empty where SQL or Redis does not answer.
        """
        verifier = self.verifier
        if not held or verifier.sql_rest.lasts(verifier.clock):
            return set()
        try:
            with verifier.sql_rest.asking(verifier.clock):
                newest = self.timers.definitions(set(held))
            renewed = {
                timer_id: definition
                for timer_id, definition in newest.items()
                if _is_resealed(held[timer_id], definition)
            }
            self.definitions.put(renewed.values())
        except StoreAway:
            return set()
        return set(renewed)

    def rule(self, case: Case) -> None:
        """Ask SQL about those that seem unwanted; skip those that it does not want either.

        They wait where SQL does not answer. One whose timer cannot be read or judged here waits too, and at last fails.
        """
        asked = [
            (due, verdict.row)
            for due in case.unwanted
            if isinstance(verdict := case.verdicts[due.member], Send)
        ]
        if not asked:
            return
        try:
            with self.verifier.sql_rest.asking(self.verifier.clock):
                definitions = self.timers.definitions({due.member.timer_id for due, _ in asked})
        except StoreAway:
            case.verdicts.update({due.member: self.verifier.wait(due) for due, _ in asked})
            return
        for due, row in asked:
            definition = definitions.get(row.timer_id)
            why_not, why_unjudged = self._judged(definition, row, definitions)
            if why_unjudged:
                case.verdicts[due.member] = self.verifier.unjudged(due, why_unjudged, row)
            elif why_not or definition is None:
                case.verdicts[due.member] = Skip(why_not, row)
            else:
                case.definitions[row.timer_id] = definition

    def _judged(
        self, definition: Definition | None, row: Firing, definitions: Readable[int, Definition]
    ) -> tuple[str, str]:
        """Return why a pending firing is not to be sent, and why that cannot be judged; "" where there is no reason."""
        if row.timer_id in definitions.bad:
            return "", definitions.bad[row.timer_id]
        try:
            return self._why_not(definition, row), ""
        except Exception as error:
            return "", reason_of("its moments cannot be worked out", error)

    def _why_not(self, definition: Definition | None, row: Firing) -> str:
        """Return why a pending firing is not to be sent, "" when it is."""
        if definition is None or definition.status is TimerStatus.DELETED:
            return DELETED
        if row.kind is not FiringKind.SCHEDULED:  # whatever the schedule says
            return DISABLED if definition.has_stopped(row.fire_at, row.asked_at or row.fire_at) else ""
        if not definition.is_enabled or definition.has_stopped(row.fire_at):
            return DISABLED
        if definition.has_cancelled(row.fire_at):
            return CANCELLED
        has_begun = row.attempt > 1 or row.has_queued
        return "" if has_begun or self._stands(definition, row) else SUPERSEDED

    def _stands(self, definition: Definition, row: Firing) -> bool:
        """Whether the schedule contains a firing's moment, or did so when that came.

        One that waits in a lane was wanted when it came there.
        """
        if definition.still_wants(row.fire_at):
            return True
        if row.lane and row.fire_at <= definition.edited_at:
            return True
        return definition.had_planned(row.fire_at)


def _is_resealed(held: Definition, newest: Definition) -> bool:
    return newest.version >= held.version and newest.notify.sealed != held.notify.sealed
