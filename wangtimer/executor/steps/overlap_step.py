"""Overlaps: a firing whose timer forbids them goes, waits or is skipped while another one is not done."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import attrgetter

from wangtimer.core.alerts.alert_place import AlertPlace
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.call_order import place_of
from wangtimer.core.flow.firing import Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.overlap import Course
from wangtimer.core.timers.timer import Definition
from wangtimer.executor.case import Case, Going
from wangtimer.executor.verdicts import Drop, PutBack, Skip
from wangtimer.executor.verifier import Verifier
from wangtimer.store.sql.begun_firings import BegunFirings, Judged

# A firing that may not go yet is looked at once more, at its moment, if that is so near.
SOON_MS = 100


@dataclass(frozen=True, slots=True)
class OverlapStep:
    """A step about firings of timers whose firings are not to overlap. `noted` marks outcomes for rules of alerts."""

    begun: BegunFirings
    verifier: Verifier
    noted: Callable[[Outcome, AlertPlace], Outcome]
    clock: Clock
    concerns = attrgetter("overlap.is_forbidden")

    def rule(self, case: Case) -> None:
        """Skip those that are not made; others wait for another one, or are looked at again.

        Nothing is refused before its moment: until then the other one may be done. What SQL does not answer waits.
        """
        case.claim.begun.update(
            due.member
            for due in case.asked
            if (definition := case.definitions.get(due.member.timer_id)) is not None
            and self.concerns(definition)
        )
        asked = [going for going in case.going() if self.concerns(going.definition)]
        judged = self._judge(asked, case.definitions) if asked else {}
        for due, row, _ in asked:
            member, found = due.member, judged.get(due.member)
            if found is None:
                case.verdicts[member] = self.verifier.wait(due)
            elif found.is_undecided:
                case.verdicts[member] = PutBack(self._looks_again_at(member.fire_at) + self.verifier.lead_ms)
            elif found.course is None:
                case.verdicts[member] = Drop(None)
            elif found.course is Course.SKIP:
                case.verdicts[member] = Skip(found.reason, row)
            elif found.course is Course.WAIT and found.row is not None:
                stays = found.row.stands_in == case.claim.stands_in
                case.verdicts[member] = PutBack(found.row.due_at) if stays else Drop(found.row)

    def _judge(
        self, asked: Sequence[Going], definitions: Mapping[int, Definition]
    ) -> Mapping[Member, Judged]:
        judged: Mapping[Member, Judged] = {}
        with suppress(StoreAway), self.verifier.sql_rest.asking(self.clock):
            judged = self.begun.judge(
                [going.due.member for going in asked],
                int(self.clock.now_ms()),
                lambda outcome: self.noted(outcome, place_of(definitions[outcome.member.timer_id])),
            )
        return judged

    def _looks_again_at(self, fire_at: int) -> int:
        """Return when a firing is looked at again that may not go yet: at its moment, and on the way there.

        Looked at only then, it would be late, and so would each one after it.
        """
        now = int(self.clock.now_ms())
        return fire_at if fire_at - now < SOON_MS else (now + fire_at) // 2
