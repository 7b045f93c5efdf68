"""Ways out of single apps: https only, what one app may call, private authorities, client certificates."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

import trustme
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.attack.answer import summed
from tests.attack.attack import Attack, Section
from tests.attack.egress import REFUSED_EARLY, UNSENT, asked_for, own_servers, plant, told
from tests.attack.ground import BANK, Ground
from tests.attack.keys import COUNTS_WITHIN_S
from tests.callback.asking_target import AskingTarget
from tests.certificates import Pair, pair_of, pem_of, self_signed
from tests.stack.accounts import HOST

LINK_LOCAL = "169.254.0.0/16"
LONG_KEY_BITS = 6_144


@dataclass(frozen=True, slots=True)
class Ways:
    """Keys of the apps by their names, and a target with TLS that asks who calls."""

    keys: dict[str, str]
    asking: AskingTarget
    pair: Pair


@cache
def ways(ground: Ground) -> Ways:
    """Make the apps, once what is set for them counts."""
    authority, trusted = trustme.CA(), trustme.CA()
    asking = AskingTarget(authority, trusted, must_show=False)
    ground.at_the_end(asking.close)
    place, partner = (f"{HOST}:{port}" for port in (asking.port, ground.partner.port))
    vouched = {"allow": [place], "caCertificates": pem_of(authority)}
    deployment = ground.deployment
    own = (deployment.sql.port, deployment.store.port, deployment.broker.port)
    ports = (*own, int(ground.web.rpartition(":")[2]))
    egress: dict[str, dict[str, object]] = {
        "strict": {"httpsOnly": True},
        "partner": vouched | {"allow": [place, partner]},
        "plain": vouched,
        "trusting-nobody": {"allow": [place]},
        "inside": {"allow": [LINK_LOCAL, *(f"{HOST}:{one}" for one in ports)]},
    }
    keys = {name: ground.made_app(name, rules) for name, rules in egress.items()}
    pair = pair_of(trusted, "partner")
    ground.done("PUT", "/v1/client-certificate", keys["partner"], certificate_of(pair))
    ground.tend(COUNTS_WITHIN_S + 1)
    return Ways(keys, asking, pair)


def certificate_of(pair: Pair) -> dict[str, str]:
    return {"certificate": pair.chain, "privateKey": pair.key}


def private_keys(ground: Ground) -> list[str]:
    return [ways(ground).pair.key]


def _plain_urls(ground: Ground) -> str:
    key, url = ways(ground).keys["strict"], ground.target.url
    old = {"name": "plain", "cron": "0 9 * * *", "notifyHTTPParam": {"url": url}}
    answers = [
        ground.ask("POST", "/v1/timers", key, {"schedule": {"delay": "1h"}, "target": {"url": url}}),
        ground.ask("PUT", "/v1/targets/plain", key, {"url": url}),
        ground.ask("POST", "/api/timer/v1/def", key, old),
    ]
    return summed(answers)


def _plain_call(ground: Ground) -> str:
    ways(ground)
    outcome = plant(ground, "strict", {"plain": f"{ground.target.url}strict"})["plain"]
    came = [one for one in ground.target.requests if one.path == "/strict"]
    return f"{told(outcome)}; {len(came)} calls"


def _anothers_allowance(ground: Ground) -> str:
    """Right after a call of the app that may, whose connection is kept."""
    url = f"{ground.partner.url}allowance"
    own = ground.outcome(ground.timer("allowed", url, ways(ground).keys["partner"])).status
    before = len(ground.partner.requests)
    outcome = plant(ground, BANK, {"allowance": url})["allowance"]
    came = len(ground.partner.requests) - before
    return f"its own call {own}; the bank's {asked_for(ground, url)}; {told(outcome)}; {came} calls"


METADATA_ITEMS = ("169.254.169.254", "169.254.169.254/32", "169.254.169.254:80", "fd00:ec2::254", "[fd00:ec2::254]:80",
                  "168.63.129.16", "100.100.100.200")  # fmt: skip


def _metadata_allowed(ground: Ground) -> str:
    """By an operator who was talked into it."""
    before = ground.state_of(BANK)
    answers = [
        ground.ask("PATCH", f"/v1/apps/{BANK}", ground.operator, {"egress": {"allow": [one]}})
        for one in METADATA_ITEMS
    ]
    return f"{summed(answers)}; {'nothing has changed' if ground.state_of(BANK) == before else 'CHANGED'}"


def _metadata_within(ground: Ground) -> str:
    key, url = ways(ground).keys["inside"], "http://169.254.169.254/latest/meta-data/"
    return f"{asked_for(ground, url, key)}; {told(plant(ground, 'inside', {'metadata': url})['metadata'])}"


def _own_servers_allowed(ground: Ground) -> str:
    key = ways(ground).keys["inside"]
    urls = {name: url for name, url in own_servers(ground).items() if name not in ("Flower", "the proxy")}
    asked = summed(asked_for(ground, url, key) for url in urls.values())
    return f"{asked}; {summed(told(one) for one in plant(ground, 'inside', urls).values())}"


def _unknown_authority(ground: Ground) -> str:
    have = ways(ground)
    before = len(have.asking.shown)
    outcome = ground.outcome(ground.timer("unvouched", have.asking.url, have.keys["trusting-nobody"]))
    status = "not called" if outcome.status != "succeeded" else outcome.status
    return f"{status}; {len(have.asking.shown) - before} calls"


def shown_to_target(ground: Ground, app: str, name: str) -> str:
    """Return whose certificate a call of an app shows."""
    have = ways(ground)
    before = len(have.asking.shown)
    ground.outcome(ground.timer(name, have.asking.url, have.keys[app]))
    return ", ".join(one or "none" for one in have.asking.shown[before:])


def _anothers_certificate(ground: Ground) -> str:
    own = shown_to_target(ground, "partner", "shows its own")
    return f"its own call shows: {own}; the other app's: {shown_to_target(ground, 'plain', 'shows none')}"


def _without_its_key(ground: Ground) -> str:
    """A certificate is public: the bank has the partner's, and a key of its own."""
    body = certificate_of(Pair(ways(ground).pair.chain, pair_of(trustme.CA(), "partner").key))
    answer = ground.ask("PUT", "/v1/client-certificate", ground.bank, body)
    shown = ground.done("GET", "/v1/client-certificate", ground.bank)["certificate"]
    return f"{answer}; the bank's: {'none' if shown is None else shown}"


def _no_certificates(ground: Ground) -> str:
    pair = ways(ground).pair
    bodies = [
        certificate_of(pair._replace(key="")),
        certificate_of(pair._replace(key="x" * 20_000)),
        certificate_of(pair._replace(key="x" * 20_001)),
        certificate_of(pair._replace(key=pair.chain)),
        certificate_of(pair._replace(chain="")),
        certificate_of(pair._replace(chain=pair.key)),
        certificate_of(pair._replace(chain=pair.chain[:200])),
        certificate_of(pair._replace(chain="/etc/ssl/certs/ca-certificates.crt")),
    ]
    return summed(ground.ask("PUT", "/v1/client-certificate", ground.bank, one) for one in bodies)


def _key_in_answers(ground: Ground) -> str:
    have = ways(ground)
    key = have.keys["partner"]
    said = [
        ground.ask("PUT", "/v1/client-certificate", key, certificate_of(have.pair)),
        ground.ask("GET", "/v1/client-certificate", key),
        # A slip: the key in the place of the certificate.
        ground.ask("PUT", "/v1/client-certificate", key, certificate_of(Pair(have.pair.key, have.pair.key))),
        ground.ask("PUT", "/v1/client-certificate", key, certificate_of(Pair("", have.pair.key))),
        ground.ask("GET", "/v1/apps/partner", ground.operator),
        ground.ask("GET", "/v1/audit?app=partner", ground.operator),
    ]
    lines = have.pair.key.splitlines()[1:-1]
    return f"in {sum(any(line in one.text for line in lines) for one in said)} of {len(said)} answers"


def _taken_away(ground: Ground) -> str:
    """The last row with the certificate. The connection of the call before is kept."""
    have = ways(ground)
    before = shown_to_target(ground, "partner", "before it is taken away")
    ground.done("DELETE", "/v1/client-certificate", have.keys["partner"])
    ground.tend(COUNTS_WITHIN_S + 1)
    return f"before: {before}; after: {shown_to_target(ground, 'partner', 'after it was taken away')}"


def _long_key(ground: Ground) -> str:
    key = rsa.generate_private_key(65_537, LONG_KEY_BITS)
    pair = self_signed("CN=long", datetime.now(UTC) + timedelta(days=30), key)
    began_at = time.monotonic()
    answer = ground.ask("PUT", "/v1/client-certificate", ground.bank, certificate_of(pair))
    took_s = time.monotonic() - began_at
    return f"{answer}; {'within a second' if took_s < 1 else f'after {took_s:.0f} s'}"


SECTION = Section(
    "Ways out of single apps, and client certificates",
    ("API2", "API7"),
    "What operators set for the calls of one app: https only, places that no other app may call, authorities; and the "
    "certificate that an app shows. Calls that the API refuses are written into SQL past it too.",
    (
        Attack(
            "Plain URLs of an app that is held to https: a timer, a target, by a compatible path",
            "400 40009 of each",
            _plain_urls,
        ),
        Attack("Its plain call, past the API", f"{UNSENT}; 0 calls", _plain_call),
        Attack(
            "The bank calls what is allowed to another app alone, right after that one's call",
            f"its own call succeeded; the bank's {REFUSED_EARLY}; {UNSENT}; 0 calls",
            _anothers_allowance,
        ),
        Attack(
            f"{len(METADATA_ITEMS)} spellings of clouds' metadata, allowed to one app by an operator",
            "400 40007 of each; nothing has changed",
            _metadata_allowed,
        ),
        Attack(
            f"Metadata, called by an app to which all of {LINK_LOCAL} is allowed",
            f"{REFUSED_EARLY}; {UNSENT}",
            _metadata_within,
        ),
        Attack(
            "Our own servers, called by an app to which their ports are allowed",
            f"{REFUSED_EARLY} of each; {UNSENT} of each",
            _own_servers_allowed,
        ),
        Attack("A target whose authority only other apps trust", "not called; 0 calls", _unknown_authority),
        Attack(
            "A target that asks for a certificate, called by the app that has one, and by one without",
            "its own call shows: partner; the other app's: none",
            _anothers_certificate,
        ),
        Attack(
            "The certificate of another app, with a key of the bank's own",
            "400 40007; the bank's: none",
            _without_its_key,
        ),
        Attack(
            "Certificates and keys that are none: empty, too long, exchanged, cut off, a file's path",
            "400 40007 of each",
            _no_certificates,
        ),
        Attack(
            f"A certificate whose key has {LONG_KEY_BITS} bits: each handshake would sign with it",
            "400 40007; within a second",
            _long_key,
        ),
        Attack(
            "A certificate's private key, in answers, in refusals and in the audit",
            "in 0 of 6 answers",
            _key_in_answers,
        ),
        Attack(
            "A certificate that was taken away, on a connection that is kept",
            "before: partner; after: none",
            _taken_away,
        ),
    ),
)
