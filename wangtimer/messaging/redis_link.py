"""Redis: streams, lists and the lists of Celery's queues; what came due together goes in one pipeline.

A stream's entry has the fields `id`, `body` and `headers` (JSON), an element of a list is a JSON object of the same.
"""

import logging
import os
from base64 import b64encode
from typing import Any
from uuid import uuid4

import orjson
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from wangtimer.callback.reply import BrokerAnswer
from wangtimer.core.messages.message_place import PlaceKind
from wangtimer.messaging.celery_message import celery_parts
from wangtimer.messaging.link import Confirm, LinkBroken
from wangtimer.messaging.message import Message
from wangtimer.store.redis.connection import was_demoted

_logger = logging.getLogger(__name__)

# What Redis says when it takes no writes for now; any other error is of one command.
_TURNS_AWAY = frozenset(
    {"OOM", "LOADING", "READONLY", "MISCONF", "NOREPLICAS", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY"}
)
# Of these only the first word is for apps: what follows it names an account, or the address of a node.
_NAMES_WHAT_IS_OURS = frozenset({"NOPERM", "NOAUTH", "WRONGPASS", "MOVED", "ASK"})
_Command = tuple[Any, ...]


class RedisLink:
    """A connection to Redis. `timeout_s` bounds connecting, and the wait for an answer."""

    why_blocked = ""

    def __init__(self, url: str, timeout_s: float, ca_file: str | None) -> None:
        options: dict[str, Any] = {"ssl_ca_certs": ca_file} if ca_file and url.startswith("rediss://") else {}
        if not url.startswith("unix:"):  # a socket file has no such option
            options["socket_keepalive"] = True
        # No retry: what broke off may have been taken, and the firing's own retry says so in its record.
        self._client = redis.Redis.from_url(
            url,
            socket_timeout=timeout_s,
            socket_connect_timeout=timeout_s,
            retry=Retry(NoBackoff(), 0),
            max_connections=1,
            **options,
        )
        self.is_open = False
        self._kept: list[tuple[int, _Command]] = []
        self._confirms: list[Confirm] = []

    def open(self) -> int | None:
        """Connect."""
        try:
            self._client.ping()
        except redis.ResponseError as error:
            # It is there, and says why it takes nothing; each command will.
            if _code_and_text(error)[0] not in _TURNS_AWAY:
                raise LinkBroken(f"could not connect to the broker: {_said(error)}") from None
        except (redis.RedisError, OSError) as error:
            self.close()
            raise LinkBroken(f"could not connect to the broker: {_said(error)}") from None
        self.is_open = True
        return None

    def prepare(self, message: Message) -> None:
        """Write the command."""
        message.written = self._prepared(message)

    def send(self, number: int, message: Message) -> None:
        """Keep it for `flush`."""
        self._kept.append((number, self._command(message, message.written or self._prepared(message))))
        message.written = None

    def flush(self) -> None:
        """Send what is kept in one pipeline, and read the answers."""
        if not self._kept:
            return
        kept, self._kept = self._kept, []
        try:
            answers = self._answers([command for _, command in kept])
        except (redis.RedisError, OSError) as error:
            self.close()
            raise LinkBroken(f"the connection to the broker broke off: {_said(error)}") from None
        self._confirms += (
            self._confirm(number, answer) for (number, _), answer in zip(kept, answers, strict=True)
        )
        if any(isinstance(answer, Exception) and was_demoted(answer) for answer in answers):
            # Its name may lead to another server by now.
            self.close()

    def _prepared(self, message: Message) -> Any:
        """Write what does not depend on the moment."""
        return _command_of(message)

    def _command(self, _message: Message, prepared: Any) -> _Command:
        command: _Command = prepared
        return command

    def _confirm(self, number: int, answer: Any) -> Confirm:
        return _confirm(number, answer)

    def _answers(self, commands: list[_Command]) -> list[Any]:
        """Send commands in one pipeline; errors of single ones are among the answers."""
        pipe = self._client.pipeline(transaction=False)
        for command in commands:
            pipe.execute_command(*command)  # type: ignore[no-untyped-call]
        answers: list[Any] = pipe.execute(raise_on_error=False)
        return answers

    def confirms(self) -> list[Confirm]:
        """Return what `flush` read."""
        confirms, self._confirms = self._confirms, []
        return confirms

    def close(self) -> None:
        """Close the connection."""
        self.is_open = False
        self._kept = []
        self._client.connection_pool.disconnect()


def _confirm(number: int, answer: Any) -> Confirm:
    if not isinstance(answer, Exception):
        return Confirm(number, BrokerAnswer.TAKEN)
    code, text = _code_and_text(answer)
    said = code if code in _NAMES_WHAT_IS_OURS else text[:300]
    kind = BrokerAnswer.TURNED_AWAY if code in _TURNS_AWAY else BrokerAnswer.REJECTED
    return Confirm(number, kind, f"the broker did not take the message: {said}")


def _code_and_text(error: Exception) -> tuple[str, str]:
    """Return the first word of what Redis said, and all of it: redis-py may keep the word as `status_code`."""
    text = str(error)
    code = getattr(error, "status_code", None)
    return (text.partition(" ")[0], text) if code is None else (code, f"{code} {text}")


def _command_of(message: Message) -> _Command:
    place = message.place
    if place.kind is PlaceKind.STREAM:
        bound: _Command = () if place.most is None else ("MAXLEN", "~", place.most)
        headers = orjson.dumps(message.fields)
        fields = ("id", message.firing_id, "body", message.body, "headers", headers)
        return ("XADD", place.name, *bound, "*", *fields)
    if place.kind is PlaceKind.LIST:
        element: dict[str, object] = {"id": message.firing_id, "headers": message.fields}
        try:
            element["body"] = message.body.decode()
        except UnicodeDecodeError:
            element["bodyBase64"] = b64encode(message.body).decode()
        return ("RPUSH", place.name, orjson.dumps(element))
    queue, task_headers, body, properties = celery_parts(message)
    # As kombu's transport for Redis writes it; `delivery_tag` is its key among the messages that are not acknowledged.
    envelope = {
        "body": b64encode(body).decode(),
        "content-encoding": properties.pop("content_encoding"),
        "content-type": properties.pop("content_type"),
        "headers": task_headers,
        "properties": properties
        | {
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": queue},
            "priority": 0,
            "body_encoding": "base64",
            "delivery_tag": str(uuid4()),
        },
    }
    return ("LPUSH", queue, orjson.dumps(envelope))


def _said(error: Exception) -> str:
    """Return what an error says to apps: no address and no user."""
    if isinstance(error, redis.TimeoutError | TimeoutError):
        return "timed out"
    _logger.warning("broker.said", extra={"said": str(error)[:300]})
    cause = error if isinstance(error, OSError) else error.__context__
    if isinstance(cause, OSError) and cause.errno:
        return os.strerror(cause.errno).lower()
    return type(error).__name__
