"""Copies in Redis of how apps sign their callbacks: executors read them, so that no firing asks SQL."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import structlog

from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.store.redis.marked_copies import Copy, MarkedCopies
from wangtimer.store.seals import Seals
from wangtimer.store.signing_text import signing_from, signing_text

log = structlog.get_logger()


class Copies(NamedTuple):
    """The signing of apps, by app, and the mark that the copies had then; None: Redis has none."""

    mark: str | None
    found: dict[str, AppSigning]


class SigningCopies:
    """A copy for each app, in the field of its name."""

    def __init__(self, copies: MarkedCopies, seals: Seals) -> None:
        self._copies = copies
        self._seals = seals

    def put(self, signings: Iterable[AppSigning]) -> None:
        """Write copies unless newer ones are there; raises `StoreAway`."""
        self._copies.put(Copy(one.app, one.version, signing_text(one, self._seals)) for one in signings)

    def get(self, apps: Sequence[str]) -> Copies:
        """Return the copies of these apps, and the mark; absent ones and those that cannot be read are left out.

        Raises `StoreAway`.
        """
        mark, copies = self._copies.get(apps)
        found: dict[str, AppSigning] = {}
        for app, version, text in copies:
            try:
                found[app] = signing_from(app, version, text, self._seals)
            except Exception as error:
                log.error("signing_copy_cannot_be_read", app=app, error=type(error).__name__)
        return Copies(mark, found)
