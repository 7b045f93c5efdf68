"""Who sends a request."""

from dataclasses import dataclass

from wangtimer.core.apps.scopes import Scope


@dataclass(frozen=True, slots=True)
class Caller:
    """The key of a request, and what it may do.

    `app` is the app whose key it is; None: the caller may act for every app, and names it. `key_id` is None where the
    request needed no key; `name` then says why. `address` is the far end of the connection.
    """

    key_id: str | None
    name: str
    app: str | None
    scopes: frozenset[Scope]
    address: str

    def may(self, scope: Scope) -> bool:
        """Tell whether it has this scope."""
        return scope in self.scopes
