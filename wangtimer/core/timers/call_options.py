"""How a call is made, beside its request: time-outs, form, placeholders in it, and what is kept of its answer."""

from enum import StrEnum
from typing import NamedTuple

# Each of them but the one to connect, and the longest that a deployment may allow.
LEAST_TIMEOUT_MS = 100
MOST_TIMEOUT_MS = 600_000
# From when a target has accepted a firing until it says that it is done.
LEAST_ACK_MS = 1_000
MOST_ACK_MS = 7 * 86_400_000
# No honest connection needs longer, and meanwhile it holds sockets, and nobody sees that the timer was disabled.
MOST_CONNECT_TIMEOUT_MS = 60_000


class Timeouts(NamedTuple):
    """Time-outs in ms; None: as the deployment's calls have it.

    `total_ms`        from when the request is sent to its whole answer
    `connect_ms`      for a new connection: name look-up, TCP and TLS
    `first_byte_ms`   from when the request is sent to the first byte of its answer
    `ack_ms`          from an answer 202 until the target says that it is done; None: 202 is done
    """

    total_ms: int | None = None
    connect_ms: int | None = None
    first_byte_ms: int | None = None
    ack_ms: int | None = None

    def longest_ms(self, usual_ms: int, usual_connect_ms: int) -> int:
        """Return how long a call may take from when it has its place, connecting included."""
        total_ms = usual_ms if self.total_ms is None else self.total_ms
        return total_ms + (usual_connect_ms if self.connect_ms is None else self.connect_ms)

    def over(self, other: "Timeouts") -> "Timeouts":
        """Return these, each that is None as in the other."""
        if self == AS_DEPLOYED:
            return other
        return Timeouts(*(usual if own is None else own for own, usual in zip(self, other, strict=True)))


# Their names, in their order, in requests to the rules, in columns and in stored texts.
TIMEOUT_NAMES = ("timeout_ms", "connect_timeout_ms", "first_byte_timeout_ms", "ack_timeout_ms")
# No time-out of its own.
AS_DEPLOYED = Timeouts()


class KeepOutput(StrEnum):
    """A target's answer may hold personal data or secrets: then its owner has none of it kept."""

    ALWAYS = "always"
    ON_FAILURE = "onFailure"
    NEVER = "never"

    def keeps(self, has_succeeded: bool) -> bool:
        """Tell whether the answer of an attempt is kept."""
        return self is KeepOutput.ALWAYS or (self is KeepOutput.ON_FAILURE and not has_succeeded)


class CallForm(NamedTuple):
    """What is done to a call before it is sent, and to its timer once it is answered.

    `templates`        placeholders such as `{{fireAt}}` are filled in (`core/timers/templates.py`)
    `cloud_events`     it has the headers of a CloudEvent, in binary mode
    `body_is_base64`   its body is sent as the bytes that it says in Base64
    `allow_control`    its answer may stop its timer, put it off, or set its next moment
    `numbered`         it tells its number, and what was lost before it; only a timer has it: planning reads no target
    """

    templates: bool = False
    cloud_events: bool = False
    body_is_base64: bool = False
    allow_control: bool = False
    numbered: bool = False

    def beside(self, other: "CallForm", *, has_body: bool) -> "CallForm":
        """Return the form of a timer's call through a target with another form.

        `body_is_base64` is that of the side that gives the body: the timer's if `has_body`, else the other's.
        `numbered` is the timer's. The others count if either side has them.
        """
        if self == other:
            return self
        return CallForm(
            self.templates or other.templates,
            self.cloud_events or other.cloud_events,
            self.body_is_base64 if has_body else other.body_is_base64,
            self.allow_control or other.allow_control,
            self.numbered,
        )


# Their names, in their order, in requests to the rules and in stored texts.
FORM_NAMES = CallForm._fields
# As its owner gave it.
UNTOUCHED = CallForm()


def form_text(form: CallForm) -> str | None:
    """Return the names of what is true, with spaces between; None where nothing is."""
    names = [name for name, is_so in zip(FORM_NAMES, form, strict=True) if is_so]
    return " ".join(names) or None


def form_from(text: str | None) -> CallForm:
    """Read back what `form_text` wrote; raises ValueError for a name that this version does not know."""
    if not text:
        return UNTOUCHED
    names = text.split()
    if unknown := set(names) - set(FORM_NAMES):
        raise ValueError(f"this version does not know how to write a call: {', '.join(sorted(unknown))}")
    return CallForm(*(name in names for name in FORM_NAMES))


# The placeholder that only calls of numbered timers fill in.
SEQ = "seq"
# What each placeholder stands for; the documentation shows this.
PLACEHOLDERS = {
    "fireAt": "the scheduled moment in UTC (RFC 3339)",
    "fireAtMs": "the same, in ms since 1970",
    "scheduledLocal": "the same in the timer's time zone, with its offset (RFC 3339); of a single moment in UTC",
    "timezone": "the timer's time zone; of a single moment UTC",
    "firingId": "the firing's id, as in `webhook-id`",
    "timerId": "the timer's id",
    "attempt": "the number of the attempt, from 1",
    SEQ: "the firing's number, of a timer with `numbered`; nothing where it has none",
    "app": "the app's name",
}
