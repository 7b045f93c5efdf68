"""The way out of one app's calls: what an operator set for it, and the certificate by which it shows who it is."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


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
    def text(self) -> str | None:
        """How it is stored; None for what every app has."""
        if self == AppEgress():
            return None
        fields = {"httpsOnly": self.https_only, "allow": self.allow, "caCertificates": self.authorities}
        return json.dumps(fields, separators=(",", ":"))

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

    @classmethod
    def strictest(cls) -> "AppEgress":
        """Return what counts for an app whose own cannot be read."""
        return cls(https_only=True)


class WayOut(NamedTuple):
    """What is set for one app. `chain` is its client certificate (PEM, its own first), `sealed_key` the key of that."""

    egress: AppEgress = AppEgress()
    chain: str = ""
    sealed_key: str = ""

    @property
    def has_tls_of_its_own(self) -> bool:
        """Whether its connections are made in another way than those of other apps."""
        return bool(self.chain or self.egress.authorities)


def ways_to_text(ways: Mapping[str, WayOut]) -> dict[str, str]:
    """Return the ways out of all apps that have one, each as a text."""
    return {app: json.dumps([way.egress.text, way.chain, way.sealed_key]) for app, way in ways.items()}


def way_from_text(text: str) -> WayOut:
    """Read back a text of `ways_to_text`; of a later format what is known here. Raises ValueError."""
    try:
        egress, chain, sealed_key, *_ = json.loads(text)
    except TypeError as error:
        raise ValueError(f"no way out of an app: {error}") from error
    return WayOut(AppEgress.from_text(egress), chain, sealed_key)
