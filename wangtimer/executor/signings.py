"""How apps sign their callbacks, as this process knows it: read from Redis where it changed, and from SQL at need."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from threading import Lock
from typing import NamedTuple, Protocol

import structlog

from wangtimer.core.errors import StoreAway
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.time.clock import Clock
from wangtimer.executor.sql_rest import SqlRest
from wangtimer.store.redis.signing_copies import SigningCopies
from wangtimer.store.sql.signing_store import SigningStore

log = structlog.get_logger()

# Apps whose signing this process remembers: about 10 MB.
MOST_REMEMBERED = 10_000


class Signings(Protocol):
    """Knows how apps sign. Of an app that it leaves out nothing may be sent."""

    def known(self, apps: Collection[str], mark: str | None, /) -> dict[str, AppSigning]:
        """Return what is known without SQL; `mark` is the one that Redis told with the definitions."""

    def ask(self, apps: Collection[str]) -> dict[str, AppSigning]:
        """Return what SQL has, or else what is known."""


class _Remembered(NamedTuple):
    """What was read of an app, and the mark that Redis' copies had then; None: it comes from SQL."""

    signing: AppSigning
    mark: str | None


class SharedSignings:
    """Remembers what it read for as long as Redis tells the same mark: a firing costs no question of its own."""

    def __init__(self, copies: SigningCopies, store: SigningStore, clock: Clock, sql_rest: SqlRest) -> None:
        self._copies = copies
        self._store = store
        self._clock = clock
        self._sql_rest = sql_rest
        self._by_app: dict[str, _Remembered] = {}
        self._lock = Lock()

    def known(self, apps: Collection[str], mark: str | None) -> dict[str, AppSigning]:
        """Return the signing of apps, as Redis has it; that of apps which Redis does not have is left out.

        Redis is asked only if the mark is another than when an app was read. If it does not answer, what is remembered
        counts.
        """
        found: dict[str, AppSigning] = {}
        to_read = []
        for app in apps:
            one = self._by_app.get(app)
            if one is not None and mark is not None and one.mark == mark:
                found[app] = one.signing
            else:
                to_read.append(app)
        return found | self._read(to_read) if to_read else found

    def ask(self, apps: Collection[str]) -> dict[str, AppSigning]:
        """Return the signing of apps, as SQL has it, and copy it to Redis; an app without one gets it.

        If SQL does not answer, what is remembered counts. Apps of which nothing is known are left out.
        """
        if not apps:
            return {}
        try:
            found = self.refresh(apps)
        except StoreAway:
            return self._remembered(apps)
        with suppress(StoreAway):
            self._copies.put(found.values())
        return {app: one for app, one in self._remembered(apps).items() if app in found}

    def refresh(self, apps: Iterable[str]) -> Mapping[str, AppSigning]:
        """Read the signing of apps from SQL, and remember it; raises `StoreAway`, at once while SQL hangs."""
        if self._sql_rest.lasts(self._clock):
            raise StoreAway("SQL", "it does not answer")
        with self._sql_rest.asking(self._clock):
            found = self._store.needed(apps, int(self._clock.now_ms()))
        for app, reason in found.bad.items():
            log.error("app_cannot_be_signed_for", app=app, reason=reason)
        for one in found.values():
            self._remember(one, None)
        return found

    def _read(self, apps: list[str]) -> dict[str, AppSigning]:
        try:
            mark, found = self._copies.get(apps)
        except StoreAway:
            return self._remembered(apps)
        return {app: self._remember(one, mark) for app, one in found.items()}

    def _remember(self, one: AppSigning, mark: str | None) -> AppSigning:
        """Remember the newer of what is known of an app, and return it."""
        with self._lock:
            known = self._by_app.get(one.app)
            if known is not None and known.signing.version > one.version:
                one = known.signing
            if mark is None and known is not None:
                mark = known.mark
            if len(self._by_app) >= MOST_REMEMBERED and known is None:
                self._by_app.clear()
            self._by_app[one.app] = _Remembered(one, mark)
            return one

    def _remembered(self, apps: Collection[str]) -> dict[str, AppSigning]:
        found = ((app, self._by_app.get(app)) for app in apps)
        return {app: one.signing for app, one in found if one is not None}
