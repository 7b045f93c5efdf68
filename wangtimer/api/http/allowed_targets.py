"""Says early, when a timer is made or edited, that no call may go to the address in its URL.

Only where the URL has an address. A name's addresses are known when the call connects, and the engine judges then.
"""

from flask import current_app, has_app_context

from wangtimer.api.http.settings_in_use import settings_in_use
from wangtimer.callback.origin import read_url
from wangtimer.core.egress.egress_rules import EgressRules, Peer
from wangtimer.own_servers import egress_rules_of, named_servers

_EXTENSION = "wangtimer.egress_rules"


def is_refused_address(url: str) -> bool:
    """Tell whether the URL's host is an address, in any notation, to which no call may go.

    A file of timers is checked without an app, and so without the deployment's rules: False.
    """
    origin, _ = read_url(url)
    if not origin.is_address or not has_app_context():
        return False
    rules = _rules_in_use()
    return rules is not None and bool(rules.refusal(Peer("", origin.host, origin.port)))


def _rules_in_use() -> EgressRules | None:
    """Return the rules, with our own servers as far as the settings write out their addresses; None without rules."""
    if _EXTENSION not in current_app.extensions:
        settings = settings_in_use()
        rules = egress_rules_of(settings, named_servers(settings)) if settings.egress else None
        current_app.extensions[_EXTENSION] = rules
    kept: EgressRules | None = current_app.extensions[_EXTENSION]
    return kept
