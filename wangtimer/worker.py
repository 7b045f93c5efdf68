"""The consumer of a worker's messages: it is back at its broker within seconds, and watched for hanging."""

import os
import time
from collections.abc import Callable
from threading import Event
from typing import Any

import structlog
from celery.worker.consumer import Consumer
from celery.worker.control import Panel
from kombu.transport.redis import Transport

from wangtimer.base.loop import Loop
from wangtimer.base.remote_commands import forget_acting

log = structlog.get_logger()

# Celery's own pauses grow to 30 s: firings would be late long after the broker is back.
RETRY_PAUSES = {"interval_start": 0.5, "interval_step": 0.5, "interval_max": 2.0}
# How long a worker asks a Redis for a message before it asks anew; one that ends waits for that answer. kombu's option
# `polling_interval` would have whoever reads answers (Flower, the check-up) sleep as long, after each that is empty.
BROKER_POLL_S = 2
Transport.brpop_timeout = BROKER_POLL_S
# How often the loop notes that it turns, and publishes task events: often enough for `HANGS_AFTER_S`.
BEAT_S = 5.0
# A worker whose event loop has not turned for this long, while the broker answers, hangs. kombu itself drops a silent
# connection after 7 s; this is for what kombu does not notice.
HANGS_AFTER_S = 20.0
LOOK_EVERY_S = 2.0
EXIT_CODE = os.EX_TEMPFAIL


class PatientConsumer(Consumer):  # type: ignore[misc]
    """Retries for ever with a bounded pause; notes every few seconds that its loop turns, and publishes task events.

    It obeys no remote command that acts. Its queues are read without acknowledgement. kombu's Redis transport would
    ask Redis to forget each message all the same, which is half of what a message costs; here it does not.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.alive_at = time.monotonic()
        # Before the mailbox is opened.
        forget_acting(Panel.data, Panel.meta)
        super().__init__(*arguments, **named)

    def ensure_connected(self, conn: Any) -> Any:
        """Connect, however long that takes; a failed try is a sign of life too."""
        connect = conn.ensure_connection

        def connect_patiently(errback: Callable[[Exception, float], None], *rest: Any, **named: Any) -> Any:
            def note(error: Exception, pause_s: float) -> None:
                self._note_alive()
                errback(error, pause_s)

            return connect(note, *rest, **named, **RETRY_PAUSES)

        conn.ensure_connection = connect_patiently
        return super().ensure_connected(conn)

    def register_with_event_loop(self, hub: Any) -> None:
        """Have the loop note that it turns."""
        super().register_with_event_loop(hub)
        for _, _, entry in hub.timer.queue:
            # kombu looks each second after queues that expire: there is only the one of remote commands, which gets its
            # messages whether or not it is bound.
            if getattr(entry.fun, "__name__", "") == "maybe_refresh_binding_expiry":
                entry.cancel()
        self._note_alive()
        hub.call_repeatedly(BEAT_S, self._beat)

    def on_send_event_buffered(self) -> None:
        """Do nothing: the loop publishes task events together, since each publish costs a broker command."""

    def call_soon_ack(self, p: Any, *_arguments: Any, **_named: Any) -> Any:
        """Leave the acknowledgement out."""
        return p

    def _beat(self) -> None:
        self._note_alive()
        if self.event_dispatcher is not None:
            self.event_dispatcher.flush()

    def _note_alive(self) -> None:
        self.alive_at = time.monotonic()


class Watchdog:
    """Ends a process whose event loop hangs although the broker answers; its supervisor starts it again."""

    def __init__(self, consumer: PatientConsumer, stopping: Event) -> None:
        self._consumer = consumer
        self._stopping = stopping
        self._suspicions = 0
        self.loop = Loop("watchdog", self.look, LOOK_EVERY_S)

    def look(self) -> None:
        """End this process if its loop hung at the last look too; a process that is asked to stop is let be."""
        self._suspicions = self._suspicions + 1 if self.hangs() and not self._stopping.is_set() else 0
        # Twice, so that a loop that is just coming back is spared.
        if self._suspicions >= 2:
            log.critical("worker_hangs", silent_s=round(time.monotonic() - self._consumer.alive_at))
            os._exit(EXIT_CODE)

    def hangs(self) -> bool:
        """Tell whether the loop has not turned for long while the broker answers."""
        silent_s = time.monotonic() - self._consumer.alive_at
        return silent_s > HANGS_AFTER_S and self._broker_answers()

    def _broker_answers(self) -> bool:
        try:
            fresh: Any = self._consumer.app.connection_for_read(connect_timeout=2)
            with fresh:
                fresh.connect()
                return True
        except Exception:
            return False
