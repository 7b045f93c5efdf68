"""Copies in Redis of named targets: executors read them, so that no firing asks SQL."""

from collections.abc import Iterable, Sequence

import structlog

from wangtimer.core.timers.named_target import NamedTarget, TargetKey
from wangtimer.store.redis.marked_copies import Copy, MarkedCopies
from wangtimer.store.seals import Seals
from wangtimer.store.target_text import target_from, target_text

log = structlog.get_logger()


class TargetCopies:
    """A copy for each target, its secrets sealed; no app's name has the sign that stands between app and name."""

    def __init__(self, copies: MarkedCopies, seals: Seals) -> None:
        self._copies = copies
        self._seals = seals

    def put(self, targets: Iterable[NamedTarget]) -> None:
        """Write copies of targets, as they are stored, unless newer ones are there; raises `StoreAway`."""
        self._copies.put(Copy(_field(one.key), one.version, target_text(one)) for one in targets)

    def get(self, keys: Sequence[TargetKey]) -> tuple[str | None, dict[TargetKey, NamedTarget]]:
        """Return the mark, and these targets with their secrets in their places.

        Absent ones and those that cannot be read here are left out. Raises `StoreAway`.
        """
        fields = {_field(key): key for key in keys}
        mark, copies = self._copies.get(list(fields))
        found: dict[TargetKey, NamedTarget] = {}
        for field, version, text in copies:
            app, name = fields[field]
            try:
                found[app, name] = self._seals.opened(target_from(app, name, version, text))
            except Exception as error:
                log.error("target_copy_cannot_be_read", app=app, target=name, error=type(error).__name__)
        return mark, found

    def drop(self, key: TargetKey) -> None:
        """Forget the copy of a deleted target; raises `StoreAway`."""
        self._copies.drop(_field(key))


def _field(key: TargetKey) -> str:
    return "\n".join(key)
