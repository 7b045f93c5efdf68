"""What the benchmarks ask of a peer: start, accept moments, tell its processes, stop."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from benchmarks.due import Due


class Peer(Protocol):
    """A timer system under one setting; each call it makes is `benchmarks.peers.http_call`'s."""

    @property
    def name(self) -> str:
        """The system."""

    @property
    def setting(self) -> str:
        """What this variant sets, in words."""

    @property
    def source(self) -> str:
        """The page of its documentation that the setting comes from."""

    def start(self, directory: Path, target_url: str) -> None:
        """Start servers and workers of its own; raises what says which package is missing. Stop it even then."""

    def schedule(self, dues: Sequence[Due]) -> None:
        """Hand over all moments, in batches where the system has them; return when all are accepted."""

    def pids(self) -> dict[str, list[int]]:
        """Return its running processes by part: "workers", "redis"."""

    def stop(self) -> None:
        """End all it started; what it stored may be lost."""
