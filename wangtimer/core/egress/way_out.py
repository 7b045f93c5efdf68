"""The way out of one app's calls: what an operator set for it, and the certificate by which it shows who it is."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from wangtimer.core.replica_kind import ReplicaKind


@dataclass(frozen=True, slots=True)
class AppEgress:
    """What an operator set for an app, beside the rules of the deployment.

    `allow` has items as in `WANGTIMER_EGRESS`. `authorities` are certificates (PEM) that vouch for targets of this app,
    beside those that vouch for all.
    """

    https_only: bool = False
    allow: tuple[str, ...] = ()
    authorities: str = ""

    @property
    def fields(self) -> dict[str, Any]:
        """What is set, by its names in the API."""
        return {"httpsOnly": self.https_only, "allow": self.allow, "caCertificates": self.authorities}

    def changed(self, given: Mapping[str, Any]) -> "AppEgress":
        """Return it with these fields changed; None takes one out."""
        return AppEgress._of(
            {name: value for name, value in {**self.fields, **given}.items() if value is not None}
        )

    @property
    def text(self) -> str | None:
        """How it is stored; None for what every app has."""
        return None if self == AppEgress() else json.dumps(self.fields, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str | None) -> "AppEgress":
        """Read back what `text` gave; of a later format what is known here. Raises ValueError."""
        if text is None:
            return cls()
        try:
            return cls._of(json.loads(text))
        except (AttributeError, TypeError) as error:
            raise ValueError(f"no way out of an app: {error}") from error

    @classmethod
    def _of(cls, fields: Mapping[str, Any]) -> "AppEgress":
        return cls(
            bool(fields.get("httpsOnly", False)),
            tuple(map(str, fields.get("allow", ()))),
            str(fields.get("caCertificates", "")),
        )


# What every app has unless an operator sets more; and what counts for one whose own cannot be read.
UNSET, STRICTEST = AppEgress(), AppEgress(https_only=True)


class WayOut(NamedTuple):
    """What is set for one app. `chain` is its client certificate (PEM, its own first), `sealed_key` the key of that."""

    egress: AppEgress = UNSET
    chain: str = ""
    sealed_key: str = ""

    @property
    def has_tls_of_its_own(self) -> bool:
        """Whether its connections are made in another way than those of other apps."""
        return bool(self.chain or self.egress.authorities)


class WaysOut(NamedTuple):
    """That of each app that has one, and the mark that they have together."""

    mark: str
    of_apps: Mapping[str, WayOut]


def _to_json(ways: WaysOut) -> dict[str, Any]:
    of_apps = {app: [way.egress.text, way.chain, way.sealed_key] for app, way in ways.of_apps.items()}
    return {"mark": ways.mark, "apps": of_apps}


def _from_json(told: Any) -> WaysOut:
    of_apps = {
        app: WayOut(_egress_of(egress), chain, sealed_key)
        for app, (egress, chain, sealed_key, *_) in told["apps"].items()
    }
    return WaysOut(str(told["mark"]), of_apps)


def _egress_of(text: str | None) -> AppEgress:
    try:
        return AppEgress.from_text(text)
    except ValueError:
        return STRICTEST


WAYS_OUT = ReplicaKind("ways-out", _to_json, _from_json, WaysOut("", {}))
WAYS_OUT_MARK = ReplicaKind("ways-out-mark", str, str, "")
