"""A disabled host: it has failed each call of an app for days, so the app's calls to it are made no more."""

from dataclasses import dataclass

from wangtimer.core.flow.slicing import WayKey
from wangtimer.core.replica_kind import ReplicaKind

# The app, and what it calls: scheme, host and port, and the part of them, as in keys of ways.
HostKey = WayKey

# Each callback process reads the names of all disabled hosts every few seconds.
MOST_DISABLED = 1_000
# So that no app takes the room of all others.
MOST_OF_AN_APP = 100
# Scheme, name of at most 253 characters, port, part.
ORIGIN_CHARACTERS = 300
ERROR_CHARACTERS = 255


@dataclass(frozen=True, slots=True)
class DisabledHost:
    """A host, or a part of it (`origin`, as `HostKey` has it), that an app's calls reach no more; moments in ms UTC.

    It failed each call from `since` to `failed_at`, and is disabled since `disabled_at`; `error` says what came of the
    last of them.
    """

    app: str
    origin: str
    since: int
    failed_at: int
    disabled_at: int
    error: str

    @property
    def key(self) -> HostKey:
        """What it is: an app's calls to a host."""
        return self.app, self.origin


DISABLED_HOSTS: ReplicaKind[frozenset[HostKey]] = ReplicaKind(
    "disabled-hosts",
    sorted,
    lambda told: frozenset((str(app), str(origin)) for app, origin in told),
    frozenset(),
)
