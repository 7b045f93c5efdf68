"""What a call needs beside its timer's definition: how its app signs, and the target that the timer names."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.timers.named_target import NamedTarget, TargetKey
from wangtimer.core.timers.timer import Definition
from wangtimer.executor.signings import SharedSignings
from wangtimer.executor.targets import SharedTargets


@dataclass(slots=True)
class SharedParts:
    """What is known of these."""

    signings: dict[str, AppSigning] = field(default_factory=dict)
    targets: dict[TargetKey, NamedTarget] = field(default_factory=dict)

    def suffices_for(self, one: Definition) -> bool:
        """Tell whether nothing is missing for a call of this timer."""
        if one.app not in self.signings:
            return False
        return not one.notify.target or (one.app, one.notify.target) in self.targets

    def target_of(self, one: Definition) -> NamedTarget | None:
        """Return the target that the timer's call goes through; None: it goes through none."""
        return self.targets[one.app, one.notify.target] if one.notify.target else None


@dataclass(frozen=True, slots=True)
class SharedSource:
    """Knows both."""

    signings: SharedSignings
    targets: SharedTargets

    def known(self, definitions: Iterable[Definition], mark: str | None) -> SharedParts:
        """Return what is known without SQL; `mark` is the one that Redis told with the definitions."""
        apps, keys = _needs(definitions)
        return SharedParts(self.signings.known(apps, mark), self.targets.known(keys, mark) if keys else {})

    def ask(self, definitions: Iterable[Definition], known: SharedParts) -> None:
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
    for one in definitions:
        apps.add(one.app)
        if one.notify.target:
            keys.add((one.app, one.notify.target))
    return apps, keys
