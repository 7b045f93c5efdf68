"""Callbacks that are forged, replayed or turned against another app's receiver; the calls are real ones."""

import base64
import hashlib
import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from standardwebhooks import Webhook, WebhookVerificationError

from tests.attack.attack import Attack, Section
from tests.attack.ground import BANK, SHOP, Ground
from tests.callback.target import Received
from wangtimer.client import ReceivedCall, Receiver, Verification

BODY = '{"order": 42}'
OVERLAP_S = 4


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it arrived."""

    headers: dict[str, str]
    body: bytes

    @classmethod
    def of(cls, received: Received) -> "Call":
        return cls(dict(received.headers), received.body)

    def but(self, body: bytes | None = None, **headers: str) -> "Call":
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return Call(self.headers | named, self.body if body is None else body)


@dataclass(frozen=True, slots=True)
class Calls:
    """The shop's and the bank's call, the secrets of both, and the bank's call to the shop's receiver."""

    shop: Call
    bank: Call
    shops_secret: str
    banks_secret: str


def secret_of(ground: Ground, key: str, overlap: str = "0s") -> str:
    return str(ground.done("POST", "/v1/signing-secrets", key, {"overlap": overlap})["secret"])


def called(ground: Ground, key: str, name: str) -> Call:
    timer = ground.timer(name, f"{ground.target.url}signed", key, target={"body": BODY})
    outcome = ground.outcome(timer)
    assert outcome.status == "succeeded", outcome
    (received,) = ground.target.calls_of(timer)
    return Call.of(received)


@cache
def calls(ground: Ground) -> Calls:
    secrets = [secret_of(ground, key) for key in (ground.shop, ground.bank)]
    ground.tend(1.2)  # until it counts
    made = [called(ground, key, f"signed {app}") for key, app in ((ground.shop, SHOP), (ground.bank, BANK))]
    return Calls(*made, *secrets)


def received(secret: str, call: Call, *, ahead_s: float = 0, times: int = 1) -> str:
    acted: list[ReceivedCall] = []
    verification = Verification([secret], now=lambda: time.time() + ahead_s)
    receiver = Receiver(acted.append, secrets=verification)
    answers = [str(receiver.answer(call.headers, call.body)[0]) for _ in range(times)]
    return f"{', '.join(answers)}; acted {len(acted)} times"


REFUSED = "401; acted 0 times"


def forged(
    tried: str,
    change: Callable[[Calls], Call],
    expected: str = REFUSED,
    ahead_s: float = 0,
    times: int = 1,
) -> Attack:
    def carry_out(ground: Ground) -> str:
        have = calls(ground)
        return received(have.shops_secret, change(have), ahead_s=ahead_s, times=times)

    return Attack(tried, expected, carry_out)


def _signed_by(secret: bytes, call: Call) -> str:
    content = f"{call.headers['webhook-id']}.{call.headers['webhook-timestamp']}.".encode() + call.body
    return "v1," + base64.b64encode(hmac.new(secret, content, hashlib.sha256).digest()).decode()


def _another_version(have: Calls) -> Call:
    return have.shop.but(webhook_signature=have.shop.headers["webhook-signature"].replace("v1,", "v1a,"))


def _guessed(have: Calls) -> Call:
    return have.shop.but(webhook_signature=" ".join(["v1,AAAA"] * 1_000))


def _by_its_text(have: Calls) -> Call:
    return have.shop.but(webhook_signature=_signed_by(have.shops_secret.encode(), have.shop))


def _another_timestamp(have: Calls) -> Call:
    return have.shop.but(webhook_timestamp=str(int(have.shop.headers["webhook-timestamp"]) + 1))


def _another_id(have: Calls) -> Call:
    return have.shop.but(webhook_id=have.bank.headers["webhook-id"])


def _another_timer(have: Calls) -> Call:
    """The id is signed; a header that says otherwise contradicts it."""
    return have.shop.but(x_wangtimer_timer=have.bank.headers["x-wangtimer-timer"])


def _without(name: str) -> Callable[[Calls], Call]:
    def change(have: Calls) -> Call:
        return Call({one: value for one, value in have.shop.headers.items() if one != name}, have.shop.body)

    return change


def _by_oracle(ground: Ground) -> str:
    have = calls(ground)
    told = []
    for secret, call in (
        (have.shops_secret, have.shop),
        (have.banks_secret, have.shop),
        (have.shops_secret, have.bank),
        (have.shops_secret, _another_id(have)),
        (have.shops_secret, have.shop.but(body=b'{"order": 43}')),
    ):
        try:
            Webhook(secret).verify(call.body, call.headers)
            told.append("right")
        except WebhookVerificationError:
            told.append("wrong")
    return ", ".join(told)


def _rotated(ground: Ground) -> str:
    """Both sign meanwhile; afterwards the old one does not."""
    old = calls(ground).shops_secret
    new = secret_of(ground, ground.shop, f"{OVERLAP_S}s")
    ground.tend(1.2)
    during = called(ground, ground.shop, "during a rotation")
    ground.tend(OVERLAP_S + 1.5)
    after = called(ground, ground.shop, "after a rotation")
    return "; ".join(
        f"{when} {received(secret, call).partition(';')[0]} by the {name}"
        for when, call in (("during", during), ("after", after))
        for name, secret in (("old", old), ("new", new))
    )


def _own_headers(ground: Ground) -> str:
    told = []
    for name in (
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        "X-WangTimer-App",
        "x-wangtimer-timer",
    ):
        target = {"url": ground.target.url, "headers": {name: "forged"}}
        answer = ground.ask(
            "POST", "/v1/timers", ground.bank, {"schedule": {"delay": "1h"}, "target": target}
        )
        told.append(str(answer))
    return ", ".join(told)


def _shown_again(ground: Ground) -> str:
    secret = calls(ground).shops_secret
    texts = [
        ground.ask("GET", path, key).text
        for path, key in (
            ("/v1/signing-secrets", ground.shop),
            ("/v1/audit?app=shop", ground.operator),
            ("/v1/apps/shop", ground.operator),
            ("/metrics", ground.operator),
        )
    ]
    return f"in {sum(secret in text for text in texts)} of {len(texts)} answers"


SECTION = Section(
    "Forged and replayed callbacks",
    ("API2", "API10"),
    "Calls that arrived at a real target are changed and given to the shop's receiver (`wangtimer.client.Receiver`), "
    "which verifies by the shop's secret. The first row is no attack: it shows that the call is a right one.",
    (
        forged("The call as it came", lambda have: have.shop, "204; acted 1 times"),
        forged("The same call, three times", lambda have: have.shop, "204, 204, 204; acted 1 times", times=3),
        forged("The same call, 301 s later", lambda have: have.shop, ahead_s=301),
        forged("The same call, 301 s before it was signed", lambda have: have.shop, ahead_s=-303),
        forged("With a later timestamp", _another_timestamp),
        forged("With the id of another firing", _another_id),
        forged("With the header of another timer beside the signed id", _another_timer, "400; acted 0 times"),
        forged("With another body", lambda have: have.shop.but(body=b'{"order": 43}')),
        forged("With a byte more", lambda have: have.shop.but(body=have.shop.body + b" ")),
        forged("Cut by a byte", lambda have: have.shop.but(body=have.shop.body[:-1])),
        forged("Without a body", lambda have: have.shop.but(body=b"")),
        *(
            forged(f"Without the header `{name}`", _without(name))
            for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
        ),
        forged("With an empty signature", lambda have: have.shop.but(webhook_signature="")),
        forged("With the signature of another version", _another_version),
        forged("With 1,000 guessed signatures", _guessed),
        forged(
            "Signed with an empty secret",
            lambda have: have.shop.but(webhook_signature=_signed_by(b"", have.shop)),
        ),
        forged("Signed with the text of the secret", _by_its_text),
        forged("With a timestamp that is no number", lambda have: have.shop.but(webhook_timestamp="soon")),
        forged("With a timestamp of 400 digits", lambda have: have.shop.but(webhook_timestamp="9" * 400)),
        forged("A call of a timer of `bank` to the shop's receiver", lambda have: have.bank),
        forged(
            "The same, with the header `X-WangTimer-App: shop`",
            lambda have: have.bank.but(x_wangtimer_app="shop"),
        ),
        Attack(
            "By the package of Standard Webhooks: right, another's secret, another's call, another id, another body",
            "right, wrong, wrong, wrong, wrong",
            _by_oracle,
        ),
        Attack(
            "The old secret and the new one, during a rotation and after it",
            "during 204 by the old; during 204 by the new; after 401 by the old; after 204 by the new",
            _rotated,
        ),
        Attack(
            "A timer that sets the headers of a signature itself, five of them",
            "400 40009, 400 40009, 400 40009, 400 40009, 400 40009",
            _own_headers,
        ),
        Attack("A secret that was shown once, in later answers", "in 0 of 4 answers", _shown_again),
    ),
)
