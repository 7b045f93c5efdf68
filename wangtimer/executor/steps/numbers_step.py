"""Numbers: the calls of a numbered timer tell what was lost before them."""

from collections import defaultdict
from dataclasses import dataclass
from operator import attrgetter

from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import WITHDRAWN
from wangtimer.executor.case import Case
from wangtimer.executor.verdicts import Skip
from wangtimer.executor.verifier import Verifier
from wangtimer.store.sql.continuities import ContinuityStore


@dataclass(frozen=True, slots=True)
class NumbersStep:
    """A step about firings of numbered timers.

    It comes last. A firing that an earlier step has just skipped counts as lost, although its row does not say so yet.
    """

    continuities: ContinuityStore
    verifier: Verifier
    concerns = attrgetter("form.numbered")

    def rule(self, case: Case) -> None:
        """Find what each is to tell; these wait where SQL does not answer."""
        numbered = [
            going for going in case.going() if going.row.seq is not None and self.concerns(going.definition)
        ]
        if not numbered:
            return
        try:
            told = self.continuities.before([going.row for going in numbered])
        except StoreAway:
            case.verdicts.update({going.due.member: self.verifier.wait(going.due) for going in numbered})
            return
        lost: dict[int, list[int]] = defaultdict(list)
        for member, verdict in case.verdicts.items():
            if isinstance(verdict, Skip) and verdict.reason not in WITHDRAWN:
                lost[member.timer_id].append(member.fire_at)
        case.continuities = {
            (timer_id, fire_at): found.with_lost(moment for moment in lost[timer_id] if moment < fire_at)
            for (timer_id, fire_at), found in told.items()
        }
