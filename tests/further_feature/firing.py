"""What has a say in a firing: in the minute of rest it is not made, its request tells that, its answer is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Protocol

from tests.further_feature.fields import REST
from tests.further_feature.kept_words import keep
from wangtimer.callback import Reply
from wangtimer.callback.request import Headers
from wangtimer.core.flow.outcome import Outcome
from wangtimer.executor.attempt import Attempt
from wangtimer.executor.case import CallStep, Case
from wangtimer.executor.reply_reader import Reading
from wangtimer.executor.request_maker import CallDraft, Stamp
from wangtimer.executor.settler import AfterSettled, Finished
from wangtimer.executor.verdicts import Skip
from wangtimer.store.sql.database import Database

MINUTE_MS = 60_000
SAID = "said"


class Parts(Protocol):
    """What is needed of a process."""

    database: Database


class RestStep:
    concerns = attrgetter("further")

    def rule(self, case: Case) -> None:
        for due, row, definition in case.going():
            if dict(definition.further).get(REST) == due.member.fire_at // MINUTE_MS % 60:
                case.verdicts[due.member] = Skip("it rests", row)


class RestStamp:
    concerns = attrgetter("further")
    is_secret = False

    def headers(self, draft: CallDraft) -> Headers:
        return (("X-Rest-Minute", str(dict(draft.order.further)[REST])),)


class SaidReading:
    concerns = attrgetter("further")

    def read(self, attempt: Attempt, reply: Reply, outcome: Outcome) -> Outcome:
        return outcome.with_note((SAID, [attempt.order.app, reply.output]))


@dataclass(frozen=True)
class KeepSaid:
    database: Database

    def __call__(self, settled: Sequence[Finished]) -> None:
        noted = {
            finished.held.member.key: tuple(note)
            for finished in settled
            if (note := finished.outcome.note(SAID)) is not None
        }
        if noted:
            keep(self.database, noted)


def steps(_: Parts) -> list[CallStep]:
    return [RestStep()]


def stamps(_: Parts) -> list[Stamp]:
    return [RestStamp()]


def after_success(_: Parts) -> list[Reading]:
    return [SaidReading()]


def after_settled(parts: Parts) -> list[AfterSettled]:
    return [KeepSaid(parts.database)]
