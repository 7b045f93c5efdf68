"""Says early, when a timer or target is made or edited, that its app may send nothing where that leads.

An address is judged only where the URL has one, or says localhost. Any other name's addresses are known when the call
connects, and the engine judges then.
"""

from flask import current_app, has_app_context

from wangtimer.api.http.refusals import bad_callback
from wangtimer.api.http.request_context import DIRECTORY, settings_in_use
from wangtimer.base.own_servers import egress_rules_of, named_servers
from wangtimer.core.egress.egress_rules import EgressRules, Peer
from wangtimer.core.egress.way_out import UNSET, AppEgress
from wangtimer.core.flow.origin import Origin, read_url
from wangtimer.core.messages.message_place import MessagePlace, PlaceKind
from wangtimer.store.app_directory import AppDirectory

# It, and each name below it, is this machine (RFC 6761).
LOCALHOST = "localhost"
_EXTENSION = "wangtimer.egress_rules"


def check_way_out(url: str, app: str, field: str = "target.url") -> None:
    """Raise `Refused` where a call of this app may not go to the URL, by what is clear without a look-up of its name.

    A file of timers is checked without a deployment, and so without its rules. What is set for the app is looked up
    only where it matters: for plain HTTP, and for an address that is not allowed to all.
    """
    if not has_app_context():
        return
    origin, _ = read_url(url)
    peers, rules = _peers_of(origin), _rules_in_use()
    is_refused = bool(peers) and rules is not None and all(map(rules.refusal, peers))
    if origin.is_tls and not is_refused:
        return
    own = _set_for(app)
    if own.https_only and not origin.is_tls:
        raise bad_callback(field, "the app may call https only", "write https, or ask the operator")
    if is_refused and rules is not None and all(map(rules.of_app(own).refusal, peers)):
        raise bad_callback(
            field,
            "this deployment does not allow calls to its address",
            "call another one, or ask the operator whether WANGTIMER_EGRESS may allow it, or the app's egress",
        )


def _peers_of(origin: Origin) -> tuple[Peer, ...]:
    """Return where a call to it may connect, as far as that is clear without a look-up: nowhere else."""
    if origin.is_address:
        return (Peer("", origin.host, origin.port, origin.is_tls),)
    if origin.host != LOCALHOST and not origin.host.endswith(f".{LOCALHOST}"):
        return ()
    return tuple(Peer(origin.host, address, origin.port, origin.is_tls) for address in ("127.0.0.1", "::1"))


def _set_for(app: str) -> AppEgress:
    directory: AppDirectory = current_app.extensions[DIRECTORY]()
    found = directory.find(app)
    return UNSET if found is None else found.egress


def _rules_in_use() -> EgressRules | None:
    """Return the rules, with our own servers as far as the settings write out their addresses; None without rules."""
    if _EXTENSION not in current_app.extensions:
        settings = settings_in_use()
        rules = egress_rules_of(settings, named_servers(settings)) if settings.egress else None
        current_app.extensions[_EXTENSION] = rules
    kept: EgressRules | None = current_app.extensions[_EXTENSION]
    return kept


_MEND = "ask the operator, who sets up brokers (WANGTIMER_BROKERS_FILE)"


def check_place(place: MessagePlace, app: str) -> None:
    """Raise `Refused` where this app may send no messages: to an unknown broker, or one of others."""
    if not has_app_context():
        return
    if place.kind is PlaceKind.CONSUMERS:
        if place.fallback:
            check_way_out(place.fallback, app, "consumers.fallbackUrl")
        return
    field = "celery" if place.kind is PlaceKind.CELERY else "queue"
    broker = settings_in_use().named_brokers.get(place.broker)
    if broker is None or not broker.knows(app):
        reason = f"there is no broker {place.broker!r} for this app"
        raise bad_callback(f"{field}.broker", reason, _MEND)
    if why_not := broker.why_not(app, place):
        raise bad_callback(field, why_not, _MEND)
