"""Calls to hosts that are disabled: they are not made, but for one now and then that tries the host."""

from collections.abc import Callable

from wangtimer.callback.health import Sign, sign_of
from wangtimer.callback.reply import Reply
from wangtimer.core.flow.disabled_hosts import HostKey
from wangtimer.core.flow.slicing import parted
from wangtimer.core.time.clock import Clock
from wangtimer.store.replica import Replica

# So often one call of a process tries a disabled host: who is back is called again within about a minute.
TRIED_EVERY_S = 60.0


class DisabledHosts:
    """Any thread may use it; `note_answer` is told of a disabled host that answered all the same."""

    def __init__(
        self,
        disabled_hosts_replica: Replica[frozenset[HostKey]],
        note_answer: Callable[[HostKey], None],
        clock: Clock,
    ) -> None:
        self._replica = disabled_hosts_replica
        self._note_answer = note_answer
        self._clock = clock
        self._tried_at: dict[HostKey, float] = {}

    @property
    def are_any(self) -> bool:
        """Whether some host is disabled for some app."""
        return bool(self._replica.known)

    def held_by(self, key: HostKey) -> HostKey | None:
        """Return what is disabled, the whole of a host or this part of it; None if neither is."""
        keys = self._replica.known
        return next((disabled for disabled in (_whole(key), key) if disabled in keys), None)

    def may_try(self, key: HostKey) -> bool:
        """Tell whether a call is to try what is disabled; then it counts as made now."""
        keys, now = self._replica.known, self._clock.monotonic()
        if now - self._tried_at.get(key, float("-inf")) < TRIED_EVERY_S:
            return False
        self._tried_at = {tried: at for tried, at in self._tried_at.items() if tried in keys} | {key: now}
        return True

    def learn(self, key: HostKey, reply: Reply) -> None:
        """Learn of a call that was made."""
        if sign_of(reply) is Sign.ANSWERED:
            for disabled in self._replica.known & {key, _whole(key)}:
                self._note_answer(disabled)


def _whole(key: HostKey) -> HostKey:
    app, origin = key
    return app, parted(origin)[0]
