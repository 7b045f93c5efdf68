"""A named target of an app: a call in one place, which timers name; each timer gives only what differs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from wangtimer.core.errors import InvalidInput
from wangtimer.core.messages.celery_task import task_from
from wangtimer.core.messages.message_place import (
    ROUTING_HEADERS,
    MessagePlace,
    PlaceKind,
    is_message_url,
    place_from,
    refuse_call_parts,
)
from wangtimer.core.retry import RetryPolicy
from wangtimer.core.timers.call_options import AS_DEPLOYED, UNTOUCHED, CallForm, KeepOutput, Timeouts
from wangtimer.core.timers.timer import Definition, Notify, SecretMarks

TARGET_CHARACTERS = 64
# An app, and the name of one of its targets.
TargetKey = tuple[str, str]
# Says why an app may not send a Celery task of this name to a place; "": it may, or it is not known here.
WhyNoTask = Callable[[str, MessagePlace, str], str]
# Of two words the one further behind keeps less.
_KEEPS_LESS = (KeepOutput.ALWAYS, KeepOutput.ON_FAILURE, KeepOutput.NEVER)


@dataclass(frozen=True, slots=True)
class NamedTarget:
    """A target as it is stored, its secrets sealed; or whole, where calls are made of it.

    `version` grows with every change: of two copies the one with the higher version is the newer. Moments are in ms
    UTC.
    """

    app: str
    name: str
    version: int
    call: Notify
    timeouts: Timeouts = AS_DEPLOYED
    keep_output: KeepOutput = KeepOutput.ALWAYS
    retry: RetryPolicy | None = None
    form: CallForm = UNTOUCHED
    created_at: int = 0
    updated_at: int = 0

    @property
    def key(self) -> TargetKey:
        """Whose it is, and its name."""
        return self.app, self.name

    def changed_to(self, call: Notify, **changes: Any) -> "NamedTarget":
        """Return the target with another call and the given further changes."""
        return replace(self, call=call, **changes)

    def called_by(self, own: Notify) -> Notify:
        """Return the call of a timer that names this target and gives `own`; both must be whole.

        What the timer gives takes the place of what is here, a header that of the headers of its name; its path and
        query stand behind the URL's.
        """
        base = self.call
        given = {name.lower() for name, _ in own.headers}
        marks = SecretMarks(
            base.marks.headers + own.marks.headers,
            base.marks.query or own.marks.query,
            own.marks.body or (base.marks.body and not own.body),
        )
        kept = tuple(pair for pair in base.headers if pair[0].lower() not in given)
        return Notify(
            base.url if is_message_url(base.url) else url_behind(base.url, own.url),
            own.method or base.method,
            kept + own.headers,
            own.body or base.body,
            marks,
        )

    def timeouts_of(self, own: Timeouts) -> Timeouts:
        """Return the time-outs for a timer with these of its own."""
        return own.over(self.timeouts)

    def retry_of(self, own: RetryPolicy | None) -> RetryPolicy | None:
        """Return the policy for a timer with this one of its own, which takes the place of the target's as a whole."""
        return self.retry if own is None else own

    def keep_output_of(self, own: KeepOutput) -> KeepOutput:
        """Return when an answer's start is kept: what keeps less, the timer's word or this one."""
        return max(own, self.keep_output, key=_KEEPS_LESS.index)


def through(target: NamedTarget | None, own: Notify) -> Notify:
    """Return the call of a timer that gives `own`: through the target that it names, if any."""
    return own if target is None else target.called_by(own)


def form_through(target: NamedTarget | None, own: Definition) -> CallForm:
    """Return how the call of a timer is written: through the target that it names, if any."""
    return own.form if target is None else own.form.beside(target.form, has_body=bool(own.notify.body))


def refuse_misfit(target: NamedTarget, own: Definition, why_no_task: WhyNoTask) -> None:
    """Raise `InvalidInput` where a timer's own terms do not fit its target.

    A sealed body is not read: where it is no task, or not an allowed one, the firing fails.
    """
    base, given = target.call, own.notify
    if not is_message_url(base.url):
        return
    refuse_call_parts(given.url, given.method, given.marks.query)
    refuse_headers_that_route(base.url, given.headers)
    refuse_without_answer(base.url, own.timeouts, own.form)
    place = place_from(base.url)
    is_read = not given.sealed and not (given.marks.body or base.marks.body)
    if place.kind is not PlaceKind.CELERY or not is_read:
        return
    try:
        task = task_from(given.body or base.body)
    except ValueError as error:
        reason, _, mend = str(error).partition("; ")
        raise InvalidInput("target.body", reason, mend) from None
    queue = replace(place, name=task.queue) if task.queue else place
    if why_not := why_no_task(own.app, queue, task.task):
        raise InvalidInput(
            "target.celery",
            f"{task.task!r} in queue {queue.name!r}: {why_not}",
            "name a task and a queue that are allowed, or ask the operator (WANGTIMER_BROKERS_FILE)",
        )


def refuse_without_answer(url: str, timeouts: Timeouts, form: CallForm) -> None:
    """Raise `InvalidInput` for what needs an answer over HTTP, where messages are sent without a fallback."""
    if not is_message_url(url) or place_from(url).fallback:
        return
    for field, timeout_ms in (
        ("connectTimeout", timeouts.connect_ms),
        ("firstByteTimeout", timeouts.first_byte_ms),
    ):
        if timeout_ms is not None:
            reason = "the target sends messages, over connections that all of them share"
            mend = "leave it out; timeout bounds how long a message waits to be confirmed"
            raise InvalidInput(f"target.{field}", reason, mend)
    if form.allow_control:
        reason = "the target sends messages, and no answer comes back that could control the timer"
        mend = "leave it out; whoever does the work may change the timer with PATCH /v1/timers/..."
        raise InvalidInput("target.allowControl", reason, mend)


def refuse_headers_that_route(url: str, headers: tuple[tuple[str, str], ...]) -> None:
    """Raise `InvalidInput` for headers from which RabbitMQ reads further routing keys."""
    if not is_message_url(url) or place_from(url).kind not in (PlaceKind.EXCHANGE, PlaceKind.CELERY):
        return
    for name, _ in headers:
        if name in ROUTING_HEADERS:
            reason = "RabbitMQ reads further routing keys from a header of this name, and refuses the message"
            raise InvalidInput(f"target.headers.{name}", reason, "give the header another name")


def url_behind(url: str, path: str) -> str:
    """Return the URL with a timer's path, and query, behind its own; scheme, host and port are always the URL's.

    `path` begins with `/` or `?`, or is empty (`why_not_behind`).
    """
    front, _, query = url.partition("#")[0].partition("?")
    own_path, _, own_query = path.partition("?")
    if own_path:
        front = front.removesuffix("/") + own_path
    joined = "&".join(part for part in (query, own_query) if part)
    return f"{front}?{joined}" if joined else front


def why_not_behind(path: str) -> str:
    """Return why this cannot stand behind a target's URL; "" where it can.

    Whoever sets up a target may trust that no timer leaves its path: `..` is refused in each spelling that servers read
    as such.
    """
    if path and path[0] not in "/?":
        return "it begins with neither / nor ?"
    if "#" in path:
        return "it has a fragment"
    segments = unquote(path.partition("?")[0]).replace("\\", "/").split("/")
    if any(segment.partition(";")[0] in (".", "..") for segment in segments):
        return "it has . or .. as a part, which leads out of the target's own path"
    return ""
