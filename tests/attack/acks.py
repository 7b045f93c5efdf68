"""Who has no token of a call, or that of another one, says nothing of a firing; a token is good for nothing else."""

from base64 import b64decode
from collections.abc import Callable
from functools import cache

from tests.attack.attack import Attack, Section
from tests.attack.ground import Ground
from wangtimer.core.flow.firing import Member
from wangtimer.core.signing.ack_token import AckTokens
from wangtimer.core.signing.signing_secret import PREFIX

HEADER = "x-wangtimer-ack-token"
# Returns the id of a firing, and a token.
Told = Callable[[Ground], tuple[str, str]]


@cache
def accepted(ground: Ground, key: str, name: str) -> tuple[str, str]:
    """Return the id and the token of a firing whose target accepted it; it fires once for each name."""
    timer = ground.timer(name, f"{ground.target.url}accepted", key, target={"ackTimeout": "1h"})
    outcome = ground.outcome(timer)
    assert outcome.status == "accepted", outcome
    (received,) = ground.target.calls_of(timer)
    headers = {header.lower(): value for header, value in received.headers}
    return headers["webhook-id"], headers[HEADER]


def shops(ground: Ground) -> tuple[str, str]:
    return accepted(ground, ground.shop, "accepted by the shop's target")


def banks(ground: Ground) -> tuple[str, str]:
    return accepted(ground, ground.bank, "accepted by the bank's target")


def said(tried: str, expected: str, told: Told, key: Callable[[Ground], str] | None = None) -> Attack:
    """Return an attack that says all three things of a firing with a token."""

    def carry_out(ground: Ground) -> str:
        firing_id, token = told(ground)
        by = None if key is None else key(ground)
        answers = [
            ground.ask("POST", f"/v1/firings/{firing_id}:{verb}", by, {"token": token}).status
            for verb in ("heartbeat", "nack", "ack")
        ]
        own, _ = shops(ground)
        status = ground.ask("GET", f"/v1/firings/{own}", ground.shop).json["status"]
        return f"{', '.join(map(str, answers))}; the shop's is {status}"

    return Attack(tried, expected, carry_out)


def _forged(ground: Ground) -> tuple[str, str]:
    """A token under the signing secret that each receiver of the app has."""
    firing_id, _ = shops(ground)
    timer_id, _, fire_at = firing_id.partition("-")
    secret = str(ground.done("POST", "/v1/signing-secrets", ground.shop, {"overlap": "0s"})["secret"])
    mine = AckTokens((b64decode(secret.removeprefix(PREFIX)),))
    return firing_id, mine.token(Member(int(timer_id), int(fire_at), 1))


def _of_another_attempt(ground: Ground) -> tuple[str, str]:
    firing_id, token = shops(ground)
    return firing_id, f"2{token[1:]}"


def _of_the_bank(ground: Ground) -> tuple[str, str]:
    return shops(ground)[0], banks(ground)[1]


def _of_nobody(ground: Ground) -> tuple[str, str]:
    return "999000111222333-1700000000000", shops(ground)[1]


def _as_a_key(ground: Ground) -> str:
    """Send the token in place of an API key."""
    firing_id, token = shops(ground)
    asked = (
        ("GET", f"/v1/firings/{firing_id}"),
        ("POST", f"/v1/firings/{firing_id}:replay"),
        ("GET", "/v1/timers"),
    )
    statuses = [ground.ask(method, path, token).status for method, path in asked]
    return ", ".join(map(str, statuses))


def _none(ground: Ground) -> tuple[str, str]:
    return shops(ground)[0], ""


NO_TOKEN = "400, 400, 400; the shop's is accepted"
REFUSED = "403, 403, 403; the shop's is accepted"
SECTION = Section(
    "Tokens of accepted firings",
    ("API1", "API2"),
    "A target that answered 202 says later that it is done, by the token of its call and without a key. Nobody else "
    "may say so, not even the app's other targets.",
    (
        said("a token made with the signing secret, as each receiver of the app could", REFUSED, _forged),
        said("the token with the number of another attempt", REFUSED, _of_another_attempt),
        said("the token of another app's firing", REFUSED, _of_the_bank),
        said("the same, with the API key of that app", REFUSED, _of_the_bank, lambda ground: ground.bank),
        said("no token, but the key of an operator", NO_TOKEN, _none, lambda ground: ground.operator),
        said("a good token on a firing that nobody has", REFUSED, _of_nobody),
        Attack("the token in place of an API key", "401, 401, 401", _as_a_key),
    ),
)
