"""Copies of named targets, in memory, their secrets sealed."""

from collections.abc import Iterable, Sequence

from wangtimer.core.timers.named_target import NamedTarget, TargetKey
from wangtimer.store.seals import Seals
from wangtimer.testing.doubles.memory_server import MemoryServer
from wangtimer.testing.doubles.memory_signing_copies import MemoryMarkedCopies


class MemoryTargetCopies:
    """By app and name, in the table of the other copies, and with its mark."""

    def __init__(self, server: MemoryServer, seals: Seals) -> None:
        self._copies = MemoryMarkedCopies(server)
        self._seals = seals

    def put(self, targets: Iterable[NamedTarget]) -> None:
        for one in targets:
            self._copies.put(one.key, one)

    def get(self, keys: Sequence[TargetKey]) -> tuple[str | None, dict[TargetKey, NamedTarget]]:
        mark, found = self._copies.get(keys)
        return mark, {key: self._seals.opened(one) for key, one in found.items()}

    def drop(self, key: TargetKey) -> None:
        self._copies.drop(key)
