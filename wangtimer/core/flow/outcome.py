"""The outcome of an attempt, as it is written into the firing's row, or waits for that in the outbox."""

from typing import Any, NamedTuple

from wangtimer.core.flow.firing import Firing, FiringKind, FiringStatus, Member

# What a feature has to say of an outcome, for what it does once that is settled: its kind, and small JSON.
Note = tuple[str, Any]


class Outcome(NamedTuple):
    """The result of one attempt. It is a tuple, because every firing makes one.

    `status` is the firing's new status: `pending` means another attempt is due at `due_at`, `accepted` that its target
    is to say by then that it is done. `lateness_ms` is
    first send minus scheduled moment. Since the call's begin: `connect_ms` until the request could be written,
    `first_byte_ms` until the answer began, `cost_ms` until it ended. `host_failing_ms`: while it waited to be sent, how
    long its host was failing; None: not at all. `made_at`: of an attempt of which not a byte was sent, when it was made
    (ms UTC); None: of any other. `notes` are what features have to say of it, nothing of most; a kind that is not known
    here is kept.
    """

    member: Member
    bucket: int
    status: FiringStatus
    due_at: int
    first_sent_at: int | None = None
    lateness_ms: int | None = None
    cost_ms: int | None = None
    http_status: int | None = None
    output: str = ""
    error: str = ""
    connect_ms: int | None = None
    first_byte_ms: int | None = None
    host_failing_ms: int | None = None
    made_at: int | None = None
    notes: tuple[Note, ...] = ()

    def note(self, kind: str) -> Any:
        """Return what a feature has to say; None: nothing."""
        return dict(self.notes).get(kind) if self.notes else None

    def with_note(self, note: Note) -> "Outcome":
        """Return the outcome with what a feature has to say."""
        return self._replace(notes=(*self.notes, note))

    @property
    def next_attempt(self) -> int:
        """The row's attempt after this is written."""
        return self.member.attempt + (self.status is FiringStatus.PENDING)

    @property
    def is_retry(self) -> bool:
        """Whether the firing goes on with another attempt."""
        return self.status is FiringStatus.PENDING

    @property
    def is_done(self) -> bool:
        """Whether nothing more is to come of the firing."""
        return self.status not in (FiringStatus.PENDING, FiringStatus.ACCEPTED)

    def has_taken_effect(self, status: str, attempt: int) -> bool:
        """Tell from the status and attempt of the firing's row whether that has this outcome.

        A firing that was cancelled before its answer came has another one. A later attempt may have begun before.
        """
        return status == self.status and attempt >= self.next_attempt

    def retry_firing(self) -> Firing:
        """Return the firing as the retry leaves it, to be added to its next slice."""
        return Firing(
            self.member.timer_id,
            self.member.fire_at,
            self.bucket,
            FiringKind.SCHEDULED,
            FiringStatus.PENDING,
            self.due_at,
            self.next_attempt,
        )

    def to_wire(self) -> dict[str, Any]:
        """Return a JSON-able form for the outbox, with no more than there is to say."""
        said = {name: value for name, value in self._asdict().items() if value not in (None, "", ())}
        return said | {"member": str(self.member)}

    @classmethod
    def from_wire(cls, fields: dict[str, Any]) -> "Outcome":
        """Read back what `to_wire` wrote, with fewer fields than now, or more."""
        known = {name: value for name, value in fields.items() if name in cls._fields}
        known["member"], known["status"] = Member.parse(fields["member"]), FiringStatus(fields["status"])
        known["notes"] = tuple((kind, value) for kind, value in fields.get("notes", ()))
        return cls(**known)
