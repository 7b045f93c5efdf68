"""The texts of replicas, in memory."""

from collections.abc import Sequence

from wangtimer.testing.doubles.memory_server import MemoryServer


class MemoryReplicaTexts:
    """Table `replicas`: name -> text."""

    def __init__(self, server: MemoryServer) -> None:
        self._server = server

    def write(self, name: str, text: str) -> None:
        self._server.call(lambda: self._server.table("replicas").update({name: text}))

    def read(self, names: Sequence[str]) -> list[str | None]:
        return self._server.call(lambda: [self._server.table("replicas").get(name) for name in names])
