"""Flask apps lent to one world after the other: making one takes half a second, most tests a tenth of it."""

from collections import defaultdict
from typing import Any, cast

from flask_openapi.openapi import OpenAPI

from wangtimer.api import create_app
from wangtimer.api.http.request_context import keep_settings
from wangtimer.wiring import Wiring


class _Lender:
    """Stands for the parts of the world that has the app now."""

    wiring: Wiring

    def __getattr__(self, name: str) -> Any:
        return getattr(self.wiring, name)


# By what an app reads of the settings once.
_free: defaultdict[tuple[str, str], list[tuple[OpenAPI, _Lender, frozenset[str]]]] = defaultdict(list)


class LentApp:
    """`LentApp(wiring).app`; of two worlds at once each has its own."""

    def __init__(self, wiring: Wiring) -> None:
        self._key = wiring.settings.http_hosts, wiring.settings.http_bind
        self.app, self._lender, as_made = _free[self._key].pop() if _free[self._key] else _made(wiring)
        self._as_made = as_made
        # What requests of the world before kept with it, such as the rules of egress.
        for name in self.app.extensions.keys() - as_made:
            del self.app.extensions[name]
        self._lender.wiring = wiring
        keep_settings(self.app, lambda: wiring.settings)

    def give_back(self) -> None:
        """Leave it to the next world. Who does not, keeps it."""
        _free[self._key].append((self.app, self._lender, self._as_made))


def _made(wiring: Wiring) -> tuple[OpenAPI, _Lender, frozenset[str]]:
    lender = _Lender()
    lender.wiring = wiring
    app = create_app(cast(Wiring, lender))
    return app, lender, frozenset(app.extensions)
