"""Whether a firing is still wanted: Redis' word is enough for yes; for no, SQL must say the same."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import CANCELLED, DueMember, Firing, FiringKind, Member
from wangtimer.core.timers.bad_timers import Readable, reason_of
from wangtimer.core.timers.timer import Definition, TimerStatus
from wangtimer.core.timers.told import is_believed
from wangtimer.executor.asker import Asker
from wangtimer.executor.verifier import Send, Verdict, Verifier
from wangtimer.store.redis.definitions import UNKNOWN_BYTES, DefinitionStore, Told
from wangtimer.store.sql.timers import TimerStore


@dataclass(frozen=True, slots=True)
class Wanted:
    """Knows the definitions in use."""

    definitions: DefinitionStore
    timers: TimerStore
    verifier: Verifier
    asker: Asker

    def read(self, timer_ids: Iterable[int]) -> Told:
        """Return what Redis holds of these timers, and up to when it was told of changes; nothing where it is away.

        Where their texts are long, of the first of them only: those that have a size.
        """
        asked = list(dict.fromkeys(timer_ids))
        try:
            return self.definitions.get_first(asked)
        except StoreAway:
            return Told({}, None, dict.fromkeys(asked, UNKNOWN_BYTES))

    def current(self, told: Told) -> dict[int, Definition]:
        """Return of what was read just now what is to be believed.

        Nothing, so that SQL is asked about each firing, where Redis does not know yet what changed while it was away.
        Where it was told too long ago, what SQL has by now; if SQL does not say, Redis' word does, so that firings
        are on time while SQL is away.
        """
        now = self.verifier.clock.now_ms()
        if told.until is None or told.until <= now - self.definitions.seconds_since_reconnect * 1_000:
            return {}
        if is_believed(told.until, now, self.verifier.lead_ms):
            return told.definitions
        newest = self.asker.ask(told.definitions)
        return told.definitions if newest is None else newest

    def second_opinion(
        self, unwanted: list[DueMember], verdicts: dict[Member, Verdict]
    ) -> tuple[Mapping[Member, Definition], dict[Member, str]]:
        """Ask SQL about members that seem unwanted; return those to send after all, and those to skip, and why.

        A member that SQL cannot be asked about gets the verdict to wait, in `verdicts`; and so does one whose timer
        cannot be read or judged here, until it has failed.
        """
        asked = [due for due in unwanted if isinstance(verdicts[due.member], Send)]
        if not asked:
            return {}, {}
        try:
            with self.verifier.sql_rest.asking(self.verifier.clock):
                definitions = self.timers.definitions({due.member.timer_id for due in asked})
        except StoreAway:
            verdicts.update({due.member: self.verifier.wait(due) for due in asked})
            return {}, {}
        cleared: dict[Member, Definition] = {}
        refused: dict[Member, str] = {}
        for due in asked:
            verdict = verdicts[due.member]
            assert isinstance(verdict, Send)
            definition = definitions.get(due.member.timer_id)
            why_not, why_unjudged = _judged(definition, verdict.row, definitions)
            if why_unjudged:
                verdicts[due.member] = self.verifier.unjudged(due, why_unjudged, verdict.row)
            elif why_not or definition is None:
                refused[due.member] = why_not
            else:
                cleared[due.member] = definition
        return cleared, refused


def _judged(
    definition: Definition | None, row: Firing, definitions: Readable[int, Definition]
) -> tuple[str, str]:
    """Return why a pending firing is not to be sent, and why that cannot be told; each "" where there is no why."""
    if row.timer_id in definitions.bad:
        return "", definitions.bad[row.timer_id]
    try:
        return _why_not(definition, row), ""
    except Exception as error:
        return "", reason_of("its moments cannot be worked out", error)


def _why_not(definition: Definition | None, row: Firing) -> str:
    """Return why a pending firing is not to be sent, "" when it is."""
    if definition is None or definition.status is TimerStatus.DELETED:
        return "deleted"
    if row.kind is not FiringKind.SCHEDULED:
        # Somebody asked for it, whatever the schedule says; being off counts only where that came later.
        return "disabled" if definition.has_stopped(row.asked_at) else ""
    if not definition.is_enabled:
        return "disabled"
    if definition.has_cancelled(row.fire_at):
        return CANCELLED
    if row.attempt > 1 or definition.still_wants(row.fire_at):
        return ""
    return "superseded"
