"""Figures of a Redis server: its commands, and its memory without definitions."""

import threading
from contextlib import closing
from typing import Any
from uuid import uuid4

import redis


class CommandCounter:
    """Counts a server's commands by MONITOR, in a thread, from its creation to `stop`.

    MONITOR halves a busy server's speed, so it is for idle servers, or where only the number matters. It counts the
    call of a script, but not the commands inside it, and not those that open a connection.
    """

    OPENING = ("HELLO", "CLIENT", "AUTH", "SELECT", "MONITOR", "INFO", "QUIT")

    def __init__(self, url: str) -> None:
        self._url = url
        self._mark = uuid4().hex
        self.commands: list[str] = []
        started = threading.Event()
        self._thread = threading.Thread(target=self._listen, args=[started], daemon=True)
        self._thread.start()
        if not started.wait(5):
            raise RuntimeError(f"no MONITOR of {url} within 5 s")

    def stop(self) -> int:
        """Return the number of commands; `commands` has their first words."""
        with closing(redis.Redis.from_url(self._url)) as client:
            client.echo(self._mark)
        self._thread.join(30)
        return len(self.commands)

    def _listen(self, started: threading.Event) -> None:
        """Listen until the mark comes: by then all commands before it are counted."""
        with (
            closing(redis.Redis.from_url(self._url, socket_timeout=None)) as client,
            client.monitor() as monitor,  # type: ignore[no-untyped-call]
        ):
            started.set()
            for seen in monitor.listen():
                if self._mark in seen["command"]:
                    return
                self._note(seen)

    def _note(self, seen: dict[str, Any]) -> None:
        word = seen["command"].split(" ", 1)[0].upper()
        if seen["client_type"] != "lua" and word not in self.OPENING:
            self.commands.append(word)


def commands_processed(url: str) -> int:
    """Return how many commands the server has run, with those inside scripts."""
    with closing(redis.Redis.from_url(url)) as client:
        return int(client.info("stats")["total_commands_processed"])


def bytes_apart_from_definitions(url: str) -> int:
    """Return the memory of all keys but definitions: slices, agenda, counters."""
    with closing(redis.Redis.from_url(url, decode_responses=True)) as client:
        keys = [key for key in client.scan_iter(count=5_000) if ":def:" not in key]
        with client.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.memory_usage(key, samples=0)
            return sum(size or 0 for size in pipe.execute())


def members_due(url: str) -> int:
    """Return how many firings wait in slices."""
    with closing(redis.Redis.from_url(url, decode_responses=True)) as client:
        return sum(client.zcard(key) for key in client.scan_iter("*:due", count=5_000))
