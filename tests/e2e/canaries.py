"""Canaries planted in the secrets of timers, and the files of a deployment in which they are searched for."""

import json
from pathlib import Path
from typing import Any

import requests
import trustme

from tests.callback.target import Received, Target
from tests.certificates import pair_of
from wangtimer.callback.client_certificate import read_pair

# What makes the servers write all that they can: binary log, append-only file, snapshots as they are.
SQL_WRITES_ALL = ("--log-bin=binlog", "--server-id=1", "--binlog-format=MIXED")
REDIS_WRITES_ALL = ("--appendonly", "yes", "--appendfsync", "always", "--rdbcompression", "no")

# Each in a part of its own, and long enough to be in no file by chance.
CANARIES = {
    name: f"canary-{name}-5f3a9c1e7b" for name in ("header", "cookie", "marked", "query", "body", "gone")
}
PAIR = pair_of(trustme.CA(), "shop")
# Parts of the private key, as it is sent, and as it is written.
CANARIES["key"] = PAIR.key.splitlines()[1][12:48]
CANARIES["written-key"] = read_pair(*PAIR, 0).key.splitlines()[2][:24]
# What is no secret stands in every store: so the search finds what is there.
OPEN = "no-secret-81d2c4"
APP = {"WangTimer-App": "shop"}
TIMERS = "/v1/timers"


def target_of(url: str, **more: Any) -> dict[str, Any]:
    return {
        "url": f"{url}fire?token={CANARIES['query']}",
        "headers": {
            "Authorization": f"Bearer {CANARIES['header']}",
            "Cookie": CANARIES["cookie"],
            "X-Tenant": CANARIES["marked"],
            "X-Tag": OPEN,
        },
        "body": CANARIES["body"],
        "secretHeaders": ["X-Tenant"],
        "secretBody": True,
    } | more


def refuse(received: Received) -> None:
    """Answer a call with a failure that repeats a secret: so there are errors, attempts and outputs."""
    said = f"busy; you sent {received.values('authorization')}".encode()
    head = f"HTTP/1.1 503 No\r\nContent-Length: {len(said)}\r\n\r\n"
    received.connection.sendall(head.encode() + said)


def everything_asked(url: str, target: Target, **headers: str) -> list[str]:
    """Make, change, read and delete timers in every way, as an operator; return all that was answered."""
    said, named = [], APP | headers

    def send(method: str, path: str, body: Any = None, **more: str) -> Any:
        answered = requests.request(method, f"{url}{path}", json=body, headers=named | more, timeout=20)
        said.append(f"{answered.text}{answered.headers}")
        assert answered.status_code < 300, answered.text
        return answered.json()

    every = {"schedule": {"every": "1s"}, "misfire": {"policy": "fire_all"}}
    body = every | {"key": "first", "target": target_of(target.url)}
    for _ in range(2):
        made = send("POST", TIMERS, body, **{"Idempotency-Key": "once"})
    shown = send("GET", f"{TIMERS}/{made['id']}")
    send("PUT", f"{TIMERS}/key:first", every | {"target": shown["target"]})
    send("PATCH", f"{TIMERS}/key:first", {"target": {"headers": {"X-Tag": f"{OPEN}-2"}}})
    many = send(
        "POST",
        f"{TIMERS}:batchCreate",
        {"timers": [every | {"key": "many", "target": target_of(target.url)}]},
    )
    send("PUT", "/v1/client-certificate", {"certificate": PAIR.chain, "privateKey": PAIR.key})
    send("GET", "/v1/client-certificate")
    gone = every | {"key": "gone", "target": {"url": target.url, "headers": {"X-Api-Key": CANARIES["gone"]}}}
    send("POST", TIMERS, gone)
    target.wait_for_requests(6, 30)
    send("DELETE", f"{TIMERS}/key:gone")
    old = {"url": f"{target.url}?key={CANARIES['query']}", "header": {"Authorization": CANARIES["header"]}}
    send("POST", "/api/timer/v1/def", {"app": "shop", "name": "old", "everyMs": 1000, "notifyHTTPParam": old})
    for path in (
        TIMERS,
        f"/v1/firings?timer={made['id']}",
        "/metrics",
        "/readyz",
        "/api/timer/v1/defs?app=shop",
    ):
        answered = requests.get(f"{url}{path}", headers=named, timeout=20)
        said.append(f"{answered.text}{answered.headers}")
    wrong = target_of("ftp://nowhere/")
    answered = requests.post(
        f"{url}{TIMERS}", json=body | {"key": "wrong", "target": wrong}, headers=named, timeout=20
    )
    assert answered.status_code == 400
    said.append(answered.text)
    # A timer that was not changed: of its firings the request is known.
    unchanged = many["items"][0]["id"]
    firing = requests.get(f"{url}/v1/firings?timer={unchanged}", headers=named, timeout=20).json()
    states = set()
    for one in firing["items"]:
        history = requests.get(f"{url}/v1/firings/{one['id']}", headers=named, timeout=20)
        said.append(f"{json.dumps(one)}{history.text}")
        states.add(history.json()["requestState"])
    assert "as_sent" in states
    assert any("busy; you sent" in text for text in said)
    return said


def contents_of(directory: Path) -> dict[str, bytes]:
    files = (one for one in directory.rglob("*") if one.is_file() and not one.is_symlink())
    return {str(one.relative_to(directory)): one.read_bytes() for one in files}
