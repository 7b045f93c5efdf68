"""Whose a call is and where it goes, as rules of alerts see it."""

from typing import NamedTuple

from wangtimer.core.flow.slicing import LANE_CHARACTERS

# No host has a slash: `target:443` may be one.
_TARGET = "target/"


class AlertPlace(NamedTuple):
    """The app of a call, the host and port that it calls, and the named target it goes through.

    `app` "": nobody knows whose it is; `host` and `target` "": nobody knows the host, and there is no such target.
    """

    app: str = ""
    host: str = ""
    target: str = ""

    @property
    def text(self) -> str:
        """What trouble of one place has in common: the named target, else the host."""
        return (f"{_TARGET}{self.target}" if self.target else self.host)[:LANE_CHARACTERS]

    @property
    def shown(self) -> str:
        """The same in words, for a message; "" where nobody knows it."""
        if not self.target:
            return self.host
        return f"target {self.target} ({self.host})" if self.host else f"target {self.target}"


NOWHERE = AlertPlace()
