"""One process's connections to Redis, and the scripts it runs there."""

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from threading import Lock
from typing import Any, Protocol, TypeVar

from redis import ConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.client import NEVER_DECODE
from redis.connection import AbstractConnection, Connection, parse_url
from redis.exceptions import (
    ClusterDownError,
    MasterDownError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

from wangtimer.core import fail_points
from wangtimer.core.errors import StoreAway

Result = TypeVar("Result")
Argument = str | int | float | bytes

# The server answers, but refuses this now: it is a replica, full, resharding, busy, or its disk fails.
_REFUSALS = (ReadOnlyError, OutOfMemoryError, ClusterDownError, TryAgainError)
# redis-py has no class for these.
_REFUSAL_WORDS = ("BUSY", "MISCONF", "NOREPLICAS")
# s; connections are opened anew once in so long at most, so that a server that stays a replica is not asked for more.
RENEWED_FOR_S = 1.0

# In the answer to INFO: the name a server gives itself at each start.
_RUN_ID = re.compile(r"^run_id:(\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script; the file beside this one opens with its keys, arguments and answer."""

    name: str
    text: str
    sha: str


@cache
def script(name: str) -> Script:
    """Read a script of the `lua` folder."""
    text = resources.files("wangtimer.store.redis").joinpath("lua", f"{name}.lua").read_text()
    return Script(name, text, hashlib.sha1(text.encode()).hexdigest())


@dataclass(frozen=True, slots=True)
class ScriptCall:
    """One run of a script."""

    script: Script
    keys: Sequence[str]
    arguments: Sequence[Argument]


class TimeListener(Protocol):
    """Wants Redis' time now and then, along with what is asked anyway."""

    def wants_time(self, is_script: bool) -> bool:
        """Tell whether the time is to come along now, with scripts or with plain commands."""
        ...

    def note(self, seconds: int, microseconds: int, sent_at: float) -> None:
        """Take in a TIME that came just now; `sent_at` is when it was asked for, s of the stop-watch."""
        ...


class Reconnects:
    """When, and as which (`number`), this process last connected to a Redis that may have lost data."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self.number = 0
        self._at: float | None = None
        # Not in `_at`: a connection opened before a demotion must still note the outage after it.
        self._demoted_at = float("-inf")
        self._server = ""

    def note(self, previous: float | None, server: str) -> float:
        """Note a new socket to `server` (its run id, "" if unknown), and return when.

        `previous` is when the same connection was opened before, None if never. It is no reconnect if the pool merely
        grows, or if an idle connection learns late of an outage already noted. Another server always is one: it may be
        a replica that lags.
        """
        now = self._monotonic()
        is_another = bool(server) and server != self._server
        if self._at is None or is_another or (previous is not None and previous >= self._at):
            self._at = now
            self.number += 1
        self._server = server or self._server
        return now

    def note_demotion(self) -> None:
        """Note that the server is a replica now: once it takes writes again, it may have lost data."""
        self._demoted_at = self._monotonic()
        self.number += 1

    @property
    def seconds_since(self) -> float:
        """Seconds since the last reconnect or demotion, or since the first connect; 0 before it."""
        return 0.0 if self._at is None else self._monotonic() - max(self._at, self._demoted_at)


class RedisConnection:
    """Runs commands and scripts; a Redis that does not answer within `timeout_s` counts as away.

    Nobody stays with a server that was demoted: its name may lead to another one by now.
    """

    def __init__(
        self,
        url: str,
        timeout_s: float = 3.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.reconnects = Reconnects(monotonic)
        self._time_listener: TimeListener | None = None
        self._client = Redis(connection_pool=self._pool(url, timeout_s))
        self._monotonic = monotonic
        self._renewing = Lock()
        self._renewed_at = float("-inf")
        # How often connections were opened anew.
        self._renewals = 0

    def _pool(self, url: str, timeout_s: float) -> ConnectionPool:
        return ConnectionPool.from_url(
            url,
            connection_class=_noting_class(_connection_class(url), self.reconnects),
            decode_responses=True,
            socket_timeout=timeout_s,
            socket_connect_timeout=min(timeout_s, 2.0),
            retry=Retry(NoBackoff(), 0),
            max_connections=10_000,
        )

    @property
    def pool(self) -> ConnectionPool:
        """Its connections, for a library with commands of its own; these go through `command` all the same."""
        pool: ConnectionPool = self._client.connection_pool
        return pool

    def bring_time_to(self, listener: TimeListener) -> None:
        """Bring Redis' time to a listener whenever it wants it, in the same round trip as other commands."""
        self._time_listener = listener

    def run(
        self, name: str, keys: Sequence[str], arguments: Sequence[Argument], is_polled: bool = False
    ) -> Any:
        """Return a script's answer; raises `StoreAway`. `is_polled`: it runs while idle, mostly without Redis' time."""
        called = script(name)
        if self._brings_time(is_script=not is_polled):
            return self._run_all([ScriptCall(called, keys, arguments)], None, brings_time=True)[0]

        def call(client: "Redis") -> Any:
            try:
                return client.evalsha(called.sha, len(keys), *keys, *arguments)
            except NoScriptError:
                return client.eval(called.text, len(keys), *keys, *arguments)

        fail_points.before(name)
        answer = self.command(call)
        fail_points.after(name)
        return answer

    def run_for_bytes(self, name: str, keys: Sequence[str], arguments: Sequence[Argument]) -> Any:
        """Run one script and leave the texts of its answer as bytes: as text they may take four times as much."""
        called = script(name)

        def call(client: Any) -> Any:
            rest = (len(keys), *keys, *arguments)
            try:
                return client.execute_command("EVALSHA", called.sha, *rest, **{NEVER_DECODE: True})
            except NoScriptError:
                return client.execute_command("EVAL", called.text, *rest, **{NEVER_DECODE: True})

        fail_points.before(name)
        answer = self.command(call)
        fail_points.after(name)
        return answer

    def run_all(self, calls: Sequence[ScriptCall], then: Callable[[Any], None] | None = None) -> list[Any]:
        """Run scripts in one round trip and return their answers; `then` may add plain commands behind them.

        Not a transaction: each script runs by itself. If Redis has lost the scripts, all are sent again, so each must
        be repeatable. Raises `StoreAway`.
        """
        return self._run_all(calls, then, self._brings_time(is_script=bool(calls)))

    def _run_all(
        self, calls: Sequence[ScriptCall], then: Callable[[Any], None] | None, brings_time: bool
    ) -> list[Any]:
        trip = self._trip_with_time if brings_time else _pipeline

        def call(client: "Redis") -> list[Any]:
            answers = trip(client, calls, then)
            if any(isinstance(answer, NoScriptError) for answer in answers):
                for text in {call.script.text for call in calls}:
                    client.script_load(text)
                answers = trip(client, calls, then)
            _raise_first_error(answers)
            return answers

        names = {call.script.name for call in calls}
        for name in names:
            fail_points.before(name)
        answers = self.command(call)
        for name in names:
            fail_points.after(name)
        return answers

    def _brings_time(self, is_script: bool) -> bool:
        return self._time_listener is not None and self._time_listener.wants_time(is_script)

    def _trip_with_time(
        self, client: Any, calls: Sequence[ScriptCall], then: Callable[[Any], None] | None
    ) -> list[Any]:
        """Make a round trip that brings the time too."""

        def then_time(pipe: Any) -> None:
            if then is not None:
                then(pipe)
            pipe.time()

        sent_at = time.monotonic()
        *answers, read = _pipeline(client, calls, then_time)
        if self._time_listener is not None and isinstance(read, tuple):
            seconds, microseconds = read
            self._time_listener.note(seconds, microseconds, sent_at)
        return answers

    def command(self, work: Callable[["Redis"], Result]) -> Result:
        """Run `work` with the client, once more after a dead connection or a demoted server; raises `StoreAway`."""
        renewals = self._renewals
        try:
            try:
                try:
                    return work(self._client)
                except RedisTimeoutError:
                    raise
                except RedisConnectionError:
                    return work(self._client)
            except ResponseError as error:
                if not (was_demoted(error) and self._renew(renewals)):
                    raise
                return work(self._client)
        except (RedisConnectionError, RedisTimeoutError, *_REFUSALS, OSError) as error:
            raise StoreAway("Redis", str(error) or type(error).__name__) from error
        except ResponseError as error:
            if str(error).startswith(_REFUSAL_WORDS):
                raise StoreAway("Redis", str(error)) from error
            raise

    def _renew(self, known: int) -> bool:
        """Let all connections be opened anew; tell whether they are since `known`. Those in use go once given back."""
        with self._renewing:
            if self._renewals != known:
                return True
            # Whatever comes of it, once it takes writes again.
            self.reconnects.note_demotion()
            if self._monotonic() - self._renewed_at < RENEWED_FOR_S:
                return False
            self.pool.disconnect(inuse_connections=False)
            # In this order: a connection that is taken in between is a new one.
            self.pool.update_active_connections_for_reconnect()
            self._renewed_at = self._monotonic()
            self._renewals += 1
            return True

    def close(self) -> None:
        """Close every connection."""
        self._client.close()
        self._client.connection_pool.disconnect()


def was_demoted(error: Exception) -> bool:
    """Tell whether the server says that it is a replica, or has lost those it should have."""
    return isinstance(error, (ReadOnlyError, MasterDownError)) or str(error).startswith("NOREPLICAS")


def _pipeline(client: Any, calls: Sequence[ScriptCall], then: Callable[[Any], None] | None) -> list[Any]:
    with client.pipeline(transaction=False) as pipe:
        for call in calls:
            pipe.execute_command("EVALSHA", call.script.sha, len(call.keys), *call.keys, *call.arguments)
        if then is not None:
            then(pipe)
        answers: list[Any] = pipe.execute(raise_on_error=False)
        return answers


def _raise_first_error(answers: list[Any]) -> None:
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer


def _connection_class(url: str) -> type[AbstractConnection]:
    """Return what the URL's scheme asks for: TCP, TLS or a socket file."""
    wanted: type[AbstractConnection] = parse_url(url).get("connection_class", Connection)  # type: ignore[no-untyped-call]
    return wanted


def _noting_class(base: type[AbstractConnection], reconnects: Reconnects) -> type[AbstractConnection]:
    """Return the connection class, extended to note each socket that is opened."""

    class NotingConnection(base):  # type: ignore[valid-type, misc]
        _opened_at: float | None = None

        # `connect` calls this one, not `on_connect`, which calls it too.
        def on_connect_check_health(self, *arguments: Any, **named: Any) -> Any:
            answer = super().on_connect_check_health(*arguments, **named)
            self._opened_at = reconnects.note(self._opened_at, _run_id(self))
            return answer

    return NotingConnection


def _run_id(connection: AbstractConnection) -> str:
    """Ask a new connection for its server's run id; "" if INFO is denied, or does not tell it."""
    try:
        connection.send_command("INFO", "server", check_health=False)  # type: ignore[no-untyped-call]
        found = _RUN_ID.search(str(connection.read_response()))
    except ResponseError:
        return ""
    return found.group(1) if found else ""
