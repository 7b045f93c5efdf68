"""Firings that something has a say about before their call, and what was found of them so far."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from wangtimer.core.flow.continuity import Continuity
from wangtimer.core.flow.firing import DueMember, Firing, Member, MemberKey
from wangtimer.core.flow.slicing import SharedLane
from wangtimer.core.timers.bad_timers import Readable
from wangtimer.core.timers.timer import Definition
from wangtimer.executor.claim import Claim
from wangtimer.executor.shared import SigningsAndTargets
from wangtimer.executor.verdicts import Send, Verdict


class RowsAndParked(NamedTuple):
    """What SQL and the outbox tell of some members: their rows, and which have a parked outcome."""

    members: frozenset[Member]
    parked: set[Member]
    rows: Readable[MemberKey, Firing]


class Going(NamedTuple):
    """A firing that goes as far as is known: its due member, its row and its timer."""

    due: DueMember
    row: Firing
    definition: Definition


@dataclass(slots=True)
class Case:
    """What the steps before a call read and write.

    All firings are of one claim, and are due in this order. `asked` are the firings that need a question, and
    `unwanted` those of them that do not seem to be wanted. `definitions`, by timer, and `shared` are what is known
    without SQL; steps add what SQL has. `rows` were read already, of these and perhaps of others; None: they are to
    be read. A firing without a verdict was not judged yet. `paused` wait in these lanes, whatever is paused later.
    `continuities` are told by calls of numbered timers.
    """

    claim: Claim
    asked: list[DueMember]
    unwanted: list[DueMember]
    definitions: dict[int, Definition]
    shared: SigningsAndTargets
    rows: RowsAndParked | None = None
    verdicts: dict[Member, Verdict] = field(default_factory=dict, init=False)
    paused: dict[Member, SharedLane] = field(default_factory=dict, init=False)
    continuities: Mapping[MemberKey, Continuity] = field(default_factory=dict, init=False)

    def going(self) -> Iterator[Going]:
        """Yield those that nothing has stopped so far."""
        for due in self.asked:
            verdict, definition = self.verdicts.get(due.member), self.definitions.get(due.member.timer_id)
            if isinstance(verdict, Send) and definition is not None and due.member not in self.paused:
                yield Going(due, verdict.row, definition)


class CallStep(Protocol):
    """A question about firings before their call, asked of many at once. Any thread may ask it."""

    @property
    def concerns(self) -> Callable[[Definition], bool] | None:
        """Tells whether firings of a timer must be asked about. None: this step brings no firing into a case.

        What concerns no step, is surely wanted and was surely not sent yet goes without a question. Let it be a
        function of C: it is asked of a plain firing too.
        """

    def rule(self, case: Case) -> None:
        """Rule on the firings of `case.going()`: write a verdict of each that stops.

        The first step writes `Send` of the others: what has no verdict does not go.
        """
