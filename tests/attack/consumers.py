"""Who has no key of an app gets none of its firings from the stream, and says nothing of them."""

import time
from contextlib import suppress
from typing import Any

import requests

from tests.attack.attack import Attack, Section
from tests.attack.ground import Ground
from wangtimer.core.apps.scopes import APP_SCOPES, Scope
from wangtimer.core.flow.firing import Member
from wangtimer.core.signing.ack_token import AckTokens

GROUP = "attacked"
# s; so long a connection is read.
READ_S = 3.0


def connect(ground: Ground, key: str | None, group: str = GROUP, **more: Any) -> requests.Response:
    url = f"{ground.deployment.stream_url}/v1/consumers/{group}/events"
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return requests.get(url, headers=headers | more.pop("headers", {}), stream=True, timeout=10, **more)


def heard(response: requests.Response) -> str:
    """Return what comes on a connection within a few seconds."""
    text, ends_at = b"", time.monotonic() + READ_S
    with response, suppress(requests.RequestException):
        for part in response.iter_content(None):
            text += part
            if b"event: firing" in text or time.monotonic() > ends_at:
                break
    return text.decode()


def waiting(ground: Ground, name: str) -> str:
    """Have a firing wait for the shop's consumers; return its id."""
    body = {"consumers": {"group": GROUP}, "ackTimeout": "1h"}
    ground.done("PUT", "/v1/targets/attacked", ground.shop, body)
    timer = {"key": name, "schedule": {"delay": "1s"}, "target": {"name": "attacked", "json": {"secret": 7}}}
    made = ground.done("POST", "/v1/timers", ground.shop, timer)
    ends_at = time.monotonic() + 30
    while time.monotonic() < ends_at:
        found = ground.ask("GET", f"/v1/firings?timer={made['id']}", ground.shop).json["items"]
        if found and found[0]["status"] == "accepted":
            return str(found[0]["id"])
        time.sleep(0.2)
    raise AssertionError("the firing was never accepted")


def _without_right(ground: Ground) -> str:
    keys = (
        None,
        "wtk_nobody",
        ground.operator,
        ground.key(None, APP_SCOPES - {Scope.FIRINGS_CONSUME}),
        ground.key("shop", APP_SCOPES - {Scope.FIRINGS_CONSUME}),
    )
    return ", ".join(str(connect(ground, key).status_code) for key in keys)


def _of_another(ground: Ground) -> str:
    waiting(ground, "attacked by another app")
    of_bank = heard(connect(ground, ground.bank, headers={"WangTimer-App": "shop"}))
    of_shop = heard(connect(ground, ground.shop))
    return (
        f"the bank hears {of_bank.count('event: firing')}, the shop {min(1, of_shop.count('event: firing'))}"
    )


def _strange_groups(ground: Ground) -> str:
    names = ("..%2Fshop%2Fattacked", "shop%2Fattacked", "%2A", "a%00b", "a" * 65, "%0d%0aPUBLISH", "группа")
    statuses = {connect(ground, ground.bank, name).status_code for name in names}
    return "400 or 404 of each" if statuses <= {400, 404} else f"{sorted(statuses)}"


def _forged_words(ground: Ground) -> str:
    firing_id = waiting(ground, "attacked by words")
    timer_id, _, fire_at = firing_id.partition("-")
    forged = AckTokens((b"k" * 32,)).token(Member(int(timer_id), int(fire_at), 1))
    url = f"{ground.deployment.stream_url}/v1/consumers/{GROUP}"
    said = []
    for verb in ("ack", "nack", "heartbeat"):
        answer = requests.post(
            f"{url}:{verb}",
            json={"firings": [{"id": firing_id, "token": forged}]},
            headers={"Authorization": f"Bearer {ground.bank}"},
            timeout=20,
        )
        said.append(str(answer.json()["items"][0]["problem"]["status"]))
    status = ground.ask("GET", f"/v1/firings/{firing_id}", ground.shop).json["status"]
    return f"{', '.join(said)}; the shop's is {status}"


def _large_words(ground: Ground) -> str:
    url = f"{ground.deployment.stream_url}/v1/consumers/{GROUP}:ack"
    headers = {"Authorization": f"Bearer {ground.bank}", "Content-Type": "application/json"}
    word = {"id": "7-1795207483000", "token": "1.a"}
    bodies = (b"x" * 2_000_000, b"[" * 500_000, b"{}", b'{"firings":[]}')
    statuses = [requests.post(url, data=one, headers=headers, timeout=20).status_code for one in bodies]
    many = requests.post(url, json={"firings": [word] * 1_001}, headers=headers, timeout=20).status_code
    return ", ".join(map(str, [*statuses, many]))


def _of_page(ground: Ground) -> str:
    """A web page that has let its name point here."""
    return str(connect(ground, ground.bank, headers={"Host": "evil.example"}).status_code)


SECTION = Section(
    "Consumers",
    ("API1", "API2", "API4", "API5"),
    "Consumers connect to the stream with an app's key that has `firings:consume`, and get the app's own firings. What "
    "they say of a firing needs its token.",
    (
        Attack(
            "no key, none of ours, an operator's, and keys without the scope",
            "401, 401, 403, 403, 403",
            _without_right,
        ),
        Attack(
            "the group of another app, named in a header too", "the bank hears 0, the shop 1", _of_another
        ),
        Attack("names that lead out of an app's groups", "400 or 404 of each", _strange_groups),
        Attack(
            "words with a made-up token, by another app",
            "403, 403, 403; the shop's is accepted",
            _forged_words,
        ),
        Attack("words of 2 MB, nested, none, and more than may be", "413, 400, 400, 400, 400", _large_words),
        Attack("the name of a web page as Host", "400", _of_page),
    ),
)
