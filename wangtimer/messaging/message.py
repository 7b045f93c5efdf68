"""A message as it goes to a broker."""

from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

from wangtimer.callback.request import Headers, Request
from wangtimer.core.flow.firing import Member
from wangtimer.core.flow.origin import read_url
from wangtimer.core.messages.celery_task import CeleryTask
from wangtimer.core.messages.message_place import place_from


class Message(Request):
    """One complete message, in the place of a request.

    `headers` are the owner's and ours; of equal names the values stand together, with commas between (RFC 9110, 5.3).
    `member` is the attempt whose message it is. `task` is what a Celery worker is
    to run; None: the message is no task. `ack_ms` is how long its consumer has. Raises ValueError for a place that this
    version does not know.
    """

    def __init__(
        self,
        url: str,
        headers: Headers,
        body: bytes,
        stamps: bytes,
        app: str,
        member: Member,
        task: CeleryTask | None = None,
        ack_ms: int = 0,
    ) -> None:
        self.url = url
        self.method = ""
        self.body = body
        self.app = app
        self.ends_connection = False
        self._given = headers
        self._stamps = stamps
        self.origin, _ = read_url(url)
        # A broker takes no messages now, or is away, for all its places alike.
        self.route = self.way = (app, self.origin.key)
        self.part = ""
        self.host = self.origin.host_port
        # What another engine would say of it.
        self.fault = self.origin.fault
        self.head = b""
        self.member = member
        self.task = task
        self.ack_ms = ack_ms
        # As a link has written it ahead of its moment; None: it has not.
        self.written: Any = None
        place = place_from(url)
        self.place = replace(place, name=task.queue) if task is not None and task.queue else place

    @property
    def firing_id(self) -> str:
        """The firing's id, the same on every attempt."""
        return self.member.firing_id

    @property
    def fire_at(self) -> int:
        """The scheduled moment, ms UTC."""
        return self.member.fire_at

    def with_stamps(self, stamps: bytes) -> "Message":
        """Return the same message with these stamps in place of its own."""
        renewed = Message(
            self.url,
            self._given,
            self.body,
            stamps,
            self.app,
            self.member,
            self.task,
            self.ack_ms,
        )
        renewed.fault = self.fault
        return renewed

    def without_body(self) -> "Message":
        """Return what is known of a message that was sent: all but its bytes."""
        sent = copy(self)
        sent.body, sent.written, sent.task = b"", None, None
        sent.__dict__.pop("fields", None)
        return sent

    @cached_property
    def fields(self) -> dict[str, str]:
        """The headers by name."""
        fields: dict[str, str] = {}
        for name, value in self.headers:
            fields[name] = f"{fields[name]}, {value}" if name in fields else value
        return fields

    @property
    def content_type(self) -> str:
        """What its body is."""
        return next(
            (value for name, value in self.fields.items() if name.lower() == "content-type"), "text/plain"
        )
