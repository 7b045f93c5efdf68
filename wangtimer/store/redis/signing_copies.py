"""Copies in Redis of how apps sign their callbacks: executors read them, so that no firing asks SQL."""

import secrets
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import structlog

from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.store.redis.connection import RedisConnection, ScriptCall, script
from wangtimer.store.redis.keys import Keys
from wangtimer.store.seals import NO_KEYS, Seals
from wangtimer.store.signing_text import signing_from, signing_text

log = structlog.get_logger()

# The field of the hash that holds the mark: no app has this name.
MARK_FIELD = ""


class Copies(NamedTuple):
    """The signing of apps, by app, and the mark that the copies had then; None: Redis has none."""

    mark: str | None
    found: dict[str, AppSigning]


class SigningCopies:
    """All apps' copies are one hash with a mark, which changes with each of them: who knows it need not read again."""

    def __init__(self, connection: RedisConnection, keys: Keys, seals: Seals = NO_KEYS) -> None:
        self._connection = connection
        self._key = keys.signing
        self._seals = seals

    def put(self, signings: Iterable[AppSigning]) -> None:
        """Write copies unless newer ones are there; raises `StoreAway`."""
        calls = [
            ScriptCall(
                script("signing_put"),
                [self._key],
                [
                    one.app,
                    one.version,
                    f"{one.version} {signing_text(one, self._seals)}",
                    secrets.token_hex(8),
                ],
            )
            for one in signings
        ]
        for start in range(0, len(calls), 1_000):
            self._connection.run_all(calls[start : start + 1_000])

    def get(self, apps: Sequence[str]) -> Copies:
        """Return the copies of these apps, and the mark; absent ones and those that cannot be read are left out.

        Raises `StoreAway`.
        """
        fields = [MARK_FIELD, *apps]
        answer: list[Any] = self._connection.command(lambda client: client.hmget(self._key, fields))
        mark, *texts = answer
        found: dict[str, AppSigning] = {}
        for app, text in zip(apps, texts, strict=True):
            if text is None:
                continue
            try:
                version, _, content = text.partition(" ")
                found[app] = signing_from(app, int(version), content, self._seals)
            except Exception as error:
                log.error("signing_copy_cannot_be_read", app=app, error=type(error).__name__)
        return Copies(mark, found)
