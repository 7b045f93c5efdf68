"""What the benchmarks need from a peer: start, accept moments, name its processes, stop."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from benchmarks.due import Due


class Peer(Protocol):
    """A timer system with one setting. It makes its calls by `benchmarks.peers.http_call`."""

    @property
    def name(self) -> str:
        """The system."""

    @property
    def setting(self) -> str:
        """The setting of this variant, in words."""

    @property
    def source(self) -> str:
        """The page of its documentation that recommends the setting."""

    def start(self, directory: Path, target_url: str) -> None:
        """Start its own servers and workers; raises an error that names a missing package. Stop it even then."""

    def schedule(self, dues: Sequence[Due]) -> None:
        """Hand over all moments, in batches if the system has them; return when all are accepted."""

    def pids(self) -> dict[str, list[int]]:
        """Return its running processes by part: "workers", "redis"."""

    def stop(self) -> None:
        """End all that it started; stored data may be lost."""
