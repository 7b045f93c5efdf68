"""What operators set for calls, beside the limits of apps."""

import json
from dataclasses import dataclass, field

from wangtimer.core.flow.pauses import Pauses


@dataclass(frozen=True, slots=True)
class CallRules:
    """The rules of all calls; without any, nothing is paused."""

    pauses: Pauses = field(default_factory=Pauses)


def rules_to_text(rules: CallRules) -> str:
    """Return the rules as Redis holds them."""
    return json.dumps({"pauses": sorted(rules.pauses.names)}, separators=(",", ":"))


def rules_from_text(text: str) -> CallRules:
    """Read back what `rules_to_text` wrote; of a later format what is known here. Raises `ValueError`."""
    try:
        return CallRules(Pauses(frozenset(map(str, json.loads(text).get("pauses", ())))))
    except (AttributeError, TypeError) as error:
        raise ValueError(f"no rules of calls: {error}") from error
