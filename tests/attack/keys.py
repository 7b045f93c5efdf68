"""Keys that do not count: none, misspelt, unknown, of another kind, ended; each tried on every operation."""

import time
from base64 import b64encode
from collections.abc import Callable, Mapping

from tests.api.sample_requests import sample_request
from tests.attack.answer import summed
from tests.attack.attack import Attack, Section
from tests.attack.ground import ELSEWHERE, Ground
from wangtimer.api.access.rights import RIGHTS
from wangtimer.core.apps.key_text import KeyText, _checksum
from wangtimer.core.apps.scopes import Scope

GUARDED = [route for route, right in RIGHTS.items() if isinstance(right, Scope)]
# What a revocation may take to count everywhere.
COUNTS_WITHIN_S = 5

Headers = Mapping[str, str]


def on_every_operation(tried: str, expected: str, headers_of: Callable[[Ground], Headers]) -> Attack:
    """Return an attack that sends these headers to every operation that needs a key."""

    def carry_out(ground: Ground) -> str:
        headers = headers_of(ground)
        sent = (sample_request(route, "shop") for route in GUARDED)
        return summed(ground.ask_sample(one, None, **headers) for one in sent)

    return Attack(f"{tried}, on every operation", f"{expected} of each", carry_out)


def bearer(text: str) -> Headers:
    return {"Authorization": f"Bearer {text}"}


def forged(key: str) -> str:
    """Return the id of a key, with a secret and a checksum that fit each other."""
    mine = KeyText.new().text
    return _with_checksum(f"wtk_{key.split('_')[1]}_{mine.split('_')[2][:-6]}")


def _another_secret(ground: Ground) -> Headers:
    return bearer(forged(ground.operator))


def _with_checksum(head: str) -> str:
    return head + _checksum(head)


def _revoked(ground: Ground) -> Headers:
    key = ground.key("shop")
    assert ground.ask("GET", "/v1/timers", key).status == 200
    ground.done("DELETE", f"/v1/apps/shop/keys/{key.split('_')[1]}", ground.operator)
    time.sleep(COUNTS_WITHIN_S)
    return bearer(key)


def _expired(ground: Ground) -> Headers:
    return bearer(ground.key("shop", expires_at=int(time.time() * 1_000) - 1))


def _swapped(text: str) -> str:
    """Two characters of the secret change places."""
    return text[:20] + text[21] + text[20] + text[22:]


KEYS = (
    on_every_operation("No key", "401 40101", lambda _: {}),
    on_every_operation(
        "A key as a password of Basic",
        "401 40102",
        lambda ground: {"Authorization": f"Basic {b64encode(f'x:{ground.shop}'.encode()).decode()}"},
    ),
    on_every_operation(
        "A key without its scheme", "401 40102", lambda ground: {"Authorization": ground.shop}
    ),
    on_every_operation("A key in X-API-Key", "401 40101", lambda ground: {"X-API-Key": ground.shop}),
    on_every_operation(
        "A key in a cookie", "401 40101", lambda ground: {"Cookie": f"Authorization=Bearer {ground.shop}"}
    ),
    on_every_operation("An empty bearer token", "401 40102", lambda _: {"Authorization": "Bearer "}),
    on_every_operation(
        "A key whose last character is wrong (its checksum)",
        "401 40102",
        lambda ground: bearer(ground.shop[:-1] + "-"),
    ),
    on_every_operation(
        "A key with two characters swapped", "401 40102", lambda ground: bearer(_swapped(ground.shop))
    ),
    on_every_operation("A key cut in half", "401 40102", lambda ground: bearer(ground.shop[:30])),
    on_every_operation(
        "A key made up, of the right form and checksum", "401 40102", lambda _: bearer(KeyText.new().text)
    ),
    on_every_operation("The id of an operator's key with another secret", "401 40102", _another_secret),
    on_every_operation("SQL in a key's id", "401 40102", lambda _: bearer("wtk_' OR 1=1 -- _x")),
    on_every_operation(
        "A percent sign as a key's id",
        "401 40102",
        lambda _: bearer(_with_checksum("wtk_%%%%%%%%%%%%_" + "0" * 43)),
    ),
    on_every_operation("A key of 8,000 characters", "401 40102", lambda _: bearer("wtk_" + "a" * 7_000)),
    on_every_operation(f"A key {COUNTS_WITHIN_S} s after it was revoked", "401 40103", _revoked),
    on_every_operation("A key that has expired", "401 40103", _expired),
)


def _disabled(ground: Ground) -> str:
    ground.made_app("closed")
    key = ground.key("closed")
    made = ground.ask(
        "POST",
        "/v1/timers",
        key,
        {"key": "k", "schedule": {"every": "1s"}, "target": {"url": ground.target.url}},
    )
    ground.done("PATCH", "/v1/apps/closed", ground.operator, {"disabled": True})
    time.sleep(COUNTS_WITHIN_S)
    refused = ground.ask("GET", "/v1/timers", key)
    calls = len(ground.target.calls_of(made.json["id"]))
    ground.tend(2.5)
    more = len(ground.target.calls_of(made.json["id"])) - calls
    return f"{refused}; {more} more calls of its timer"


def _two_headers(ground: Ground) -> str:
    first, second = (f"Authorization: Bearer {key}\r\n" for key in ("wtk_x", ground.shop))
    request = f"GET /v1/timers HTTP/1.1\r\nHost: localhost\r\n{first}{second}Connection: close\r\n\r\n"
    return _first_line(ground.sent_raw(request.encode(), ground.web))


def _first_line(raw: bytes) -> str:
    return raw.split(b" ", 2)[1].decode() if raw else "closed"


def _in_query(ground: Ground) -> str:
    return str(ground.ask("GET", f"/v1/timers?access_token={ground.shop}&key={ground.shop}"))


def _from_trusted(ground: Ground) -> str:
    told = [
        ground.ask("GET", "/api/timer/v1/defs?app=shop", X_Forwarded_For=one, source=ELSEWHERE)
        for one in ("10.1.2.3", "10.1.2.3, 10.1.2.4", "127.0.0.1", "::ffff:10.1.2.3")
    ]
    direct = ground.ask(
        "GET", "/api/timer/v1/defs?app=shop", X_Forwarded_For="10.1.2.3", source=ELSEWHERE, at=ground.web
    )
    return ", ".join(map(str, (*told, direct)))


def _in_the_audit(ground: Ground) -> str:
    path, body = "/v1/calendars/audited", {"days": ["2099-01-01"]}
    ground.done("PUT", path, ground.bank, body, X_Forwarded_For="192.0.2.99", source=ELSEWHERE)
    entries = ground.done("GET", "/v1/audit?app=bank&kind=calendar&limit=1", ground.operator)["items"]
    return f"the audit has {entries[0]['address']}"


SECTION = Section(
    "Keys that do not count",
    ("API2",),
    f"Each is sent to all {len(GUARDED)} operations that need a key.",
    (
        *KEYS,
        Attack("A key in the query", "401 40101", _in_query),
        Attack("A wrong key and a right one, in two headers", "401", _two_headers),
        Attack("A key of an app that was disabled", "403 40303; 0 more calls of its timer", _disabled),
        Attack(
            "An X-Forwarded-For of a network that needs no key, four ways through the proxy and directly",
            "401 40101, 401 40101, 401 40101, 401 40101, 401 40101",
            _from_trusted,
        ),
        Attack(
            "An X-Forwarded-For of somebody else, to deceive the audit",
            f"the audit has {ELSEWHERE}",
            _in_the_audit,
        ),
    ),
)
