"""Beside the engine: reads the ways out of apps once their mark has changed, and lets calls go by them."""

import ssl
from collections.abc import Callable, Mapping
from threading import Event, Thread

import structlog

from wangtimer.callback import Egress, Tls
from wangtimer.callback.client_certificate import show_certificate
from wangtimer.callback.tls import client_context
from wangtimer.core.egress.way_out import WayOut
from wangtimer.core.errors import StoreAway
from wangtimer.store.sql.ways_out import WaysOutMark

log = structlog.get_logger()

# How often they are read while this process knows none yet: it fires nothing until then.
READ_FIRST_EVERY_S = 0.5

# Opens the sealed private key of an app; raises ValueError.
OpenKey = Callable[[str, str], str]


class WaysOutReader:
    """One thread of its own: reading the authorities of a TLS context takes tens of ms, and the engine waits for none.

    A context is made anew only where its app's certificate or authorities have changed. While Redis has lost what was
    set, what this process knows counts; a process that knows nothing asks SQL.
    """

    def __init__(
        self,
        ways_out_mark: WaysOutMark,
        open_key: OpenKey,
        egress: Egress,
        tls: Tls,
        callback_authorities: str,
    ) -> None:
        self._replica = ways_out_mark
        ways_out_mark.on_mark = self._note_mark
        self._open_key = open_key
        self._egress = egress
        self._tls = tls
        self._authorities = callback_authorities
        self._mark: str | None = None
        self._made: dict[str, tuple[WayOut, ssl.SSLContext | str]] = {}
        self._is_known, self._has_changed = Event(), Event()

    @property
    def is_known(self) -> bool:
        """Whether they were read once: before, nobody knows what an app may call."""
        return self._is_known.is_set()

    def start(self) -> None:
        """Begin to read, until the process ends."""
        Thread(target=self._run, name="ways-out", daemon=True).start()

    def warm_up(self) -> None:
        """Read them before the first call; what cannot be read stops no start, and is read later."""
        self._read_or_tell()

    def read(self) -> None:
        """Read what has changed, and let it count; raises `StoreAway`."""
        mark = self._replica.read()
        if mark is not None and mark == self._mark:
            return
        found = None if mark is None else self._replica.of_apps.read()
        if found is not None:
            self._take(found.of_apps)
            self._mark = found.mark
        elif not self.is_known:
            self._take(self._replica.of_apps.in_sql().of_apps)

    def _note_mark(self, mark: str) -> None:
        """Have them read soon if this mark is another than that of those which count; any thread may call it."""
        if mark != self._mark:
            self._has_changed.set()

    def _take(self, ways: Mapping[str, WayOut]) -> None:
        self._made = {app: self._made_for(app, way) for app, way in ways.items() if way.has_tls_of_its_own}
        self._tls.change({app: context for app, (_, context) in self._made.items()})
        # After the contexts: whoever sees that the rules have changed looks at both.
        self._egress.change_apps({app: way.egress for app, way in ways.items()})
        self._is_known.set()

    def _made_for(self, app: str, way: WayOut) -> tuple[WayOut, ssl.SSLContext | str]:
        was = self._made.get(app)
        if was is not None and _tls_parts(was[0]) == _tls_parts(way) and not isinstance(was[1], str):
            return was
        try:
            context = client_context(self._authorities, way.egress.authorities)
            if way.chain:
                show_certificate(context, way.chain, self._open_key(way.sealed_key, app))
        except (OSError, ValueError) as error:
            log.error("client_certificate_unusable", app=app, reason=str(error))
            return way, f"the certificate or the authorities of its app cannot be used here: {error}"
        return way, context

    def _run(self) -> None:
        while True:
            self._has_changed.wait(None if self.is_known else READ_FIRST_EVERY_S)
            self._has_changed.clear()
            self._read_or_tell()

    def _read_or_tell(self) -> None:
        try:
            self.read()
        except StoreAway as error:
            log.info("ways_out_not_read", error=str(error))
        except Exception:
            log.exception("ways_out_not_read")


def _tls_parts(way: WayOut) -> tuple[str, str, str]:
    return way.chain, way.sealed_key, way.egress.authorities
