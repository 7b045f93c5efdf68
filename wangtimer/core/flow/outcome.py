"""The outcome of an attempt, as it is written into the firing's row, or waits for that in the outbox."""

from typing import Any, NamedTuple

from wangtimer.core.flow.firing import Firing, FiringKind, FiringStatus, Member


class NotedAt(NamedTuple):
    """Whose an outcome is and where it went, for the judge of alerts (`core/alerts/alert_place.py`).

    `known_at`: when it was known (ms UTC); None: nobody says. `well_at`: of a failure, when a call there last succeeded
    in this process since the failure before; None: none did.
    """

    app: str
    host: str
    target: str
    known_at: int | None = None
    well_at: int | None = None


class Outcome(NamedTuple):
    """The result of one attempt. It is a tuple, because every firing makes one.

    `status` is the firing's new status: `pending` means another attempt is due at `due_at`, `accepted` that its target
    is to say by then that it is done. `lateness_ms` is
    first send minus scheduled moment. Since the call's begin: `connect_ms` until the request could be written,
    `first_byte_ms` until the answer began, `cost_ms` until it ended. `host_failing_ms`: while it waited to be sent, how
    long its host was failing; None: not at all. Of a firing that has failed for good, `host` (host and port) is what
    was called, `reason` says why in a word (`core/flow/dead_letter.py`), and `failed_at` when that was known (ms UTC).
    `control` is what its answer makes of its timer (`core/flow/reply_control.py`), as text; "": nothing.
    `noted_at` is whose it is and where it went, where the judge of alerts is to see it; None: it is not.
    `made_at`: of an attempt of which not a byte was sent, when it was made (ms UTC); None: of any other.
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
    host: str = ""
    reason: str = ""
    failed_at: int | None = None
    control: str = ""
    noted_at: NotedAt | None = None
    made_at: int | None = None

    @property
    def is_noted(self) -> bool:
        """Whether the judge of alerts is to see it."""
        return self.noted_at is not None

    @property
    def next_attempt(self) -> int:
        """The row's attempt after this is written."""
        return self.member.attempt + 1 if self.is_retry else self.member.attempt

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
        """Return a JSON-able form for the outbox; older versions read it where none of the last seven is set."""
        fields = self._asdict() | {"member": str(self.member)}
        for name in ("host_failing_ms", "host", "reason", "failed_at", "control", "noted_at", "made_at"):
            if fields[name] is None or fields[name] == "":
                del fields[name]
        if self.noted_at is not None:
            # orjson takes a tuple, and no kind of tuple.
            fields["noted_at"] = tuple(self.noted_at)
        return fields

    @classmethod
    def from_wire(cls, fields: dict[str, Any]) -> "Outcome":
        """Read back what `to_wire` wrote, with fewer fields than now, or more."""
        typed: dict[str, Any] = {
            "member": Member.parse(fields["member"]),
            "status": FiringStatus(fields["status"]),
        }
        known = {name: value for name, value in fields.items() if name in cls._fields}
        if known.get("noted_at") is not None:
            typed["noted_at"] = NotedAt(*known["noted_at"])
        return cls(**(known | typed))
