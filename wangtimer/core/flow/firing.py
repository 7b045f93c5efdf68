"""A firing: one due moment of one timer, from its plan to its outcome."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from wangtimer.core.flow.slicing import SharedLane, Slice, SliceOrLane


class FiringStatus(StrEnum):
    """All but `pending` and `accepted` (its target is to say when it is done; not in Redis) are outcomes, and stay."""

    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    ACCEPTED = "accepted"


class FiringKind(StrEnum):
    """Why a firing exists: its timer's schedule, somebody's "fire now", or a past range planned again."""

    SCHEDULED = "scheduled"
    MANUAL = "manual"
    BACKFILL = "backfill"


# The error in a cancelled firing's record.
CANCELLED = "cancelled"
# Errors of firings that are skipped because their timer's owner no longer wants them: nobody lost them.
DELETED, DISABLED, SUPERSEDED = "deleted", "disabled", "superseded"
WITHDRAWN = (CANCELLED, DELETED, DISABLED, SUPERSEDED)
# In place of the number of a firing that gets one when it is inserted.
TO_BE_NUMBERED = 0


# Names a firing: its timer and its moment. A row's key in SQL has the reverse order.
MemberKey = tuple[int, int]


class Member(NamedTuple):
    """One attempt of one firing: the unit that moves through a slice, written `timer_id:fire_at:attempt`.

    The attempt is part of it, so that a late message of attempt 1 can never claim attempt 2. It is a tuple, because
    every firing makes and hashes several: three times cheaper than a dataclass.
    """

    timer_id: int
    fire_at: int
    attempt: int

    @classmethod
    def parse(cls, text: str) -> "Member":
        """Read back what `str()` wrote."""
        timer_id, fire_at, attempt = text.split(":")
        return cls(int(timer_id), int(fire_at), int(attempt))

    def __str__(self) -> str:
        return "%d:%d:%d" % self

    @property
    def key(self) -> MemberKey:
        """Its firing: the timer and the moment."""
        return self.timer_id, self.fire_at

    @property
    def firing_id(self) -> str:
        """The idempotence key a target sees as `webhook-id`: the same on every attempt."""
        return f"{self.timer_id}-{self.fire_at}"


class Firing(NamedTuple):
    """A row of the firing table, as far as planning, arming and verifying need it.

    `attempt` is the last one made or the next one to make; 0 if the firing was cancelled before any. `asked_at` is when
    somebody asked for it (ms UTC); None: its schedule did. `lane` is the key of the
    `SharedLane` in which the attempt waits or waited; "" if it found room at once. `seq` is its number among the
    planned firings of its timer, from 1; None: its timer was not numbered, or somebody asked for it.
    """

    timer_id: int
    fire_at: int
    bucket: int
    kind: FiringKind = FiringKind.SCHEDULED
    status: FiringStatus = FiringStatus.PENDING
    due_at: int = 0
    attempt: int = 1
    asked_at: int | None = None
    lane: str = ""
    seq: int | None = None

    @classmethod
    def planned(cls, timer_id: int, fire_at: int, bucket: int, seq: int | None = None) -> "Firing":
        """Return the firing as planning inserts it: pending, first attempt, due at its own moment."""
        return cls(timer_id, fire_at, bucket, due_at=fire_at, seq=seq)

    @property
    def member(self) -> Member:
        """The attempt that is to be made next."""
        return Member(self.timer_id, self.fire_at, self.attempt)

    @property
    def may_misfire(self) -> bool:
        """Whether its timer's misfire policy decides about it: a first attempt that the schedule asked for."""
        return self.kind is FiringKind.SCHEDULED and self.attempt == 1

    @property
    def has_queued(self) -> bool:
        """Whether it waited until another firing of its timer was done: a first attempt is due later only then."""
        return self.may_misfire and self.due_at > self.fire_at

    @property
    def slice(self) -> Slice:
        """The minute of its due moment, the bucket of its row."""
        return Slice.at(self.due_at, self.bucket)

    @property
    def stands_in(self) -> SliceOrLane:
        """The one place where it stands while it is pending: its lane if it has one, else its slice."""
        return SharedLane(self.lane) if self.lane else self.slice


class DueMember(NamedTuple):
    """A member and the moment (ms UTC) before which it must not be sent."""

    member: Member
    due_at: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """Members of one slice that were armed together, carried by one executor message; or members pulled from a lane."""

    slice: SliceOrLane
    members: tuple[DueMember, ...]

    @property
    def last(self) -> int:
        """When the last of them is due, ms UTC."""
        return max([due.due_at for due in self.members])

    def to_wire(self) -> tuple[str, str]:
        """Return the message's arguments: the slice's tag, and each `member@due_at`, separated by spaces."""
        return self.slice.tag, " ".join([f"{due.member}@{due.due_at}" for due in self.members])

    @classmethod
    def from_wire(cls, tag: str, members: str) -> "Chunk":
        """Read back what `to_wire` wrote."""
        pairs = (text.split("@") for text in members.split())
        return cls(
            Slice.parse(tag), tuple(DueMember(Member.parse(member), int(due_at)) for member, due_at in pairs)
        )
