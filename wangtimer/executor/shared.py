"""What a call needs beside its timer's definition: how its app signs, and the target that the timer names."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.time.clock import Clock
from wangtimer.core.timers.bad_timers import Readable
from wangtimer.core.timers.named_target import NamedTarget, TargetKey
from wangtimer.core.timers.timer import Definition
from wangtimer.executor.shared_copies import BYTES_OF_ONE, SharedCopies
from wangtimer.executor.sql_rest import SqlRest
from wangtimer.store.redis.marked_copies import SigningCopies, TargetCopies
from wangtimer.store.seals import Seals
from wangtimer.store.sql.signing_store import SigningStore
from wangtimer.store.sql.target_store import TargetStore

# An app without a secret gets it when SQL is asked. Of an app that is left out nothing is sent.
SharedSignings = SharedCopies[str, AppSigning]
# Their secrets are in their places. Through one that is left out nothing is sent.
SharedTargets = SharedCopies[TargetKey, NamedTarget]


def shared_signings(
    signing_copies: SigningCopies, signing_store: SigningStore, clock: Clock, sql_rest: SqlRest
) -> SharedSignings:
    """Return how apps sign their callbacks, as this process knows it, by app."""
    return SharedCopies(
        signing_copies, lambda apps: signing_store.needed(apps, int(clock.now_ms())), clock, sql_rest
    )


def shared_targets(
    target_copies: TargetCopies, target_store: TargetStore, seals: Seals, clock: Clock, sql_rest: SqlRest
) -> SharedTargets:
    """Return the named targets of apps, as this process knows them."""

    def in_sql(keys: Collection[TargetKey]) -> Readable[TargetKey, NamedTarget]:
        found = target_store.stored(keys)
        for key in set(keys) - found.keys() - found.bad.keys():
            found.bad[key] = "there is none"
        for key, target in list(found.items()):
            try:
                seals.opened(target)
            except Exception as error:
                found.bad[key] = str(error)
                del found[key]
        return found

    return SharedCopies(target_copies, in_sql, clock, sql_rest, seals.opened, _size_of)


def _size_of(target: NamedTarget) -> int:
    headers = sum(len(name) + len(value) for name, value in target.call.headers)
    return BYTES_OF_ONE + len(target.call.url) + len(target.call.body) + headers


@dataclass(slots=True)
class SigningsAndTargets:
    """The signings and targets that are known for some firings."""

    signings: dict[str, AppSigning] = field(default_factory=dict)
    targets: dict[TargetKey, NamedTarget] = field(default_factory=dict)

    def suffices_for(self, definition: Definition) -> bool:
        """Tell whether nothing is missing for a call of this timer."""
        if definition.app not in self.signings:
            return False
        return not definition.notify.target or (definition.app, definition.notify.target) in self.targets


@dataclass(frozen=True, slots=True)
class SharedSource:
    """Finds them: in memory, in Redis, in SQL."""

    signings: SharedSignings
    targets: SharedTargets

    def known(self, definitions: Iterable[Definition], mark: str | None) -> SigningsAndTargets:
        """Return what is known without SQL; `mark` is the one that Redis told with the definitions."""
        apps, keys = _needs(definitions)
        return SigningsAndTargets(
            self.signings.known(apps, mark), self.targets.known(keys, mark) if keys else {}
        )

    def ask(self, definitions: Iterable[Definition], known: SigningsAndTargets) -> None:
        """Ask SQL for what is not `known` yet, and add it."""
        apps, keys = _needs(definitions)
        known.signings |= self.signings.ask(apps - known.signings.keys())
        if unknown := keys - known.targets.keys():
            known.targets |= self.targets.ask(unknown)

    def refresh(self, definitions: Iterable[Definition]) -> None:
        """Learn what SQL has; raises `StoreAway`."""
        apps, keys = _needs(definitions)
        self.signings.refresh(apps)
        if keys:
            self.targets.refresh(keys)


def _needs(definitions: Iterable[Definition]) -> tuple[set[str], set[TargetKey]]:
    apps: set[str] = set()
    keys: set[TargetKey] = set()
    for definition in definitions:
        apps.add(definition.app)
        if definition.notify.target:
            keys.add((definition.app, definition.notify.target))
    return apps, keys
