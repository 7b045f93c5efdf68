"""The broker as the stages see it: messages out, and how many wait. A lost one is no harm: SQL and leases re-issue."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import structlog
from celery import Celery
from kombu.exceptions import OperationalError

from wangtimer.core import fail_points
from wangtimer.core.errors import StoreAway
from wangtimer.core.flow.firing import Chunk
from wangtimer.core.flow.queues import CALLBACK
from wangtimer.core.flow.slicing import TriggerOrder
from wangtimer.core.time.moment_text import show_moment

log = structlog.get_logger()

SCHEDULE, MIGRATE, TRIGGER = "schedule", "migrate", "trigger"
QUEUE_LOOK_S = 0.25
# s; who asks all processes whether they are there waits so long. Live workers answer within ms; a worker that is
# planning a page may take longer.
ANSWER_WITHIN_S = 2.0
NOT_FOUND = "404"

# One publish may take this long: a broker that is away must not hold up a slice.
PUBLISHING = {
    "retry": True,
    "retry_policy": {"max_retries": 1, "interval_start": 0, "interval_step": 0.1, "interval_max": 0.1},
}


def _common(_number: int) -> str:
    return CALLBACK


@dataclass(slots=True)
class Broker:
    """Sends tasks by name, so that no stage imports another; leases and locks re-issue what is not sent.

    `queue_of` returns the queue of messages to the callback processes of a queue, by its number.
    """

    app: Celery
    queue_of: Callable[[int], str] = _common
    _waiting: dict[str, int] = field(default_factory=dict, init=False)
    _looked_at: dict[str, float] = field(default_factory=dict, init=False)

    def warm_up(self) -> None:
        """Make Celery look up its result backend now (there is none): the first send would wait 20 ms for it."""
        assert self.app.backend is not None

    def send_chunk(self, chunk: Chunk) -> None:
        """Send armed members to an executor; lost, they are armed again when their lease ends."""
        self._send("wangtimer.callback", chunk.to_wire(), self.queue_of(chunk.slice.queue), described(chunk))

    def send_trigger(self, order: TriggerOrder) -> None:
        """Send a locked slice to a trigger; lost, it is locked again when its lock ends."""
        shown = f"slice {order.slice.tag}, credit {order.credit}"
        self._send("wangtimer.trigger", (order.slice.tag, order.token, order.credit), TRIGGER, shown)

    def send_follow(self) -> None:
        """Ask for timers to follow the uploaded calendars they name; lost, the next sweep asks again."""
        self._send("wangtimer.follow", (), MIGRATE)

    def send_feed_lanes(self) -> None:
        """Ask for nearly empty lanes to be fed; lost, whoever pulls from one asks again a second later."""
        self._send("wangtimer.feed_lanes", (), MIGRATE)

    def send_apply_controls(self) -> None:
        """Ask for what answers make of timers, which is on record; lost, the next sweep does it."""
        self._send("wangtimer.apply_controls", (), MIGRATE)

    def waiting_chunks(self, number: int = 0) -> int:
        """Return how many chunks of a queue wait for executors, looked up at most four times a second; 0 if unknown."""
        now, queue = time.monotonic(), self.queue_of(number)
        if now - self._looked_at.get(queue, float("-inf")) > QUEUE_LOOK_S:
            self._looked_at[queue] = now
            try:
                self._waiting[queue] = self._queue_length(queue)
            except (OperationalError, OSError) as error:
                log.warning("broker_away", error=str(error))
        return self._waiting.get(queue, 0)

    def ping(self) -> None:
        """Return when the broker answers; raises `StoreAway` otherwise."""
        try:
            self._queue_length(CALLBACK)
        except (OperationalError, OSError) as error:
            raise StoreAway("broker", str(error)) from error

    def purge(self, queues: Iterable[str]) -> int:
        """Delete the messages of queues; return how many. Raises `OperationalError`, `OSError`."""
        deleted = 0
        for queue in queues:
            with self.app.connection_for_write() as connection:
                connection.ensure_connection(max_retries=1, interval_start=0, timeout=2)
                # One that was never declared has none.
                with suppress(*connection.channel_errors):
                    deleted += int(connection.default_channel.queue_purge(queue) or 0)
        return deleted

    def _queue_length(self, queue: str) -> int:
        """Ask the broker; a queue without a message does not exist on Redis, and has length 0."""
        with self.app.pool.acquire(block=True, timeout=2) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=2)
            try:
                declared = connection.default_channel.queue_declare(queue=queue, passive=True)
            except connection.channel_errors as error:
                if str(getattr(error, "reply_code", "")) == NOT_FOUND:
                    return 0
                raise OperationalError(str(error)) from error
            except connection.connection_errors as error:
                raise OperationalError(str(error)) from error
        return int(declared.message_count)

    def _send(self, task: str, arguments: tuple[Any, ...], queue: str, shown: str | None = None) -> None:
        """Send a task by its name; `shown` stands for its arguments where they are many (Flower, `inspect`)."""
        try:
            fail_points.before(task)
            self.app.send_task(task, arguments, queue=queue, argsrepr=shown, **PUBLISHING)
            fail_points.after(task)
        except (OperationalError, OSError) as error:
            log.warning("not_sent", task=task, error=str(error))


def described(chunk: Chunk) -> str:
    """Return a chunk's text for people: how many firings, their first moment (UTC, no date), its slice."""
    moments = [due.due_at for due in chunk.members]
    first = f" from {show_moment(min(moments)).partition('T')[2]}" if moments else ""
    return f"{len(moments)} firings{first}, slice {chunk.slice.tag}"


def redis_url(broker_url: str) -> str | None:
    """Return a broker's URL as redis-py reads it; None where the broker is not a Redis."""
    url = urlsplit(broker_url)
    if url.scheme == "redis+socket":
        database = parse_qs(url.query).get("virtual_host", ["0"])[0]
        return f"unix://{url.path}?db={database}"
    return broker_url if url.scheme in ("redis", "rediss") else None
