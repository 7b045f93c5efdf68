"""Canaries planted in the secrets of timers, and the files of a deployment in which they are searched for."""

import json
import time
from collections.abc import Callable
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
# Of each place in which a call may stand, each part that may be secret, in a call of its own.
PLACES = ("timer", "target", "consumers")
PARTS = {"by-name": "a header by its name", "marked": "a header", "query": "the query", "body": "the body"}
MARKED = {
    (place, part): f"canary-{place}-{part}-8d21f0b6c4"
    for place in PLACES
    for part in PARTS
    # Consumers get no query.
    if (place, part) != ("consumers", "query")
}
CANARIES |= {f"{place}-{part}": canary for (place, part), canary in MARKED.items()}
# What a target says to a call that has it as the first part of its path.
ANSWERS = {
    "fine": "200 OK\r\nX-A: ",
    "control": "200 OK\r\nX-WangTimer-Control: ",
    "moved": "302 Found\r\nLocation: /",
    "fail": "500 No\r\nX-A: ",
}
FAILING = ("moved", "fail")
ALERTS = "alerts"
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
    """Answer a call with what repeats its secrets: so there are errors, attempts and outputs."""
    answer = ANSWERS.get(received.path.split("/")[1].partition("?")[0])
    if answer is not None:
        sent = [value for name, value in received.headers if name in ("x-api-key", "x-tenant")]
        came = "|".join((*sent, received.body.decode(), received.path.replace("?", "+")))
        head = f"HTTP/1.1 {answer}{came}\r\nContent-Length: {len(came)}\r\n\r\n"
        received.connection.sendall(f"{head}{came}".encode())
        return
    said = f"busy; you sent {received.values('authorization')}".encode()
    head = f"HTTP/1.1 503 No\r\nContent-Length: {len(said)}\r\n\r\n"
    received.connection.sendall(head.encode() + said)


def marked_call(place: str, **more: Any) -> dict[str, Any]:
    """Return a call that has a canary in each part that may be secret, but the query."""
    return {
        "headers": {
            "X-Api-Key": MARKED[place, "by-name"],
            "X-Tenant": MARKED[place, "marked"],
            "X-Tag": OPEN,
        },
        "body": MARKED[place, "body"],
        "secretHeaders": ["X-Tenant"],
        "secretBody": True,
    } | more


def call_marked(send: Callable[..., Any], target: Target) -> None:
    """Have each way to answer repeat all that is marked, of timers and of a named target; have alerts told of it."""
    rule = {
        "events": ["first_failure", "failed_for_good"],
        "destination": {"kind": "webhook", "url": f"{target.url}{ALERTS}"},
    }
    send("PUT", "/v1/alert-rules/all", rule)
    query = {"timer": f"?plain={MARKED['timer', 'query']}", "target": f"?plain={MARKED['target', 'query']}"}
    send(
        "PUT",
        "/v1/targets/named",
        marked_call("target", url=f"{target.url}{query['target']}", secretQuery=True, allowControl=True),
    )
    send("PUT", "/v1/targets/consumers", {"consumers": {"group": "canaries"}, "ackTimeout": "1h"})
    once = {"schedule": {"delay": "1s"}, "retry": {"attempts": 1}}
    for answer in ANSWERS:
        # Again and again where it fails: until executors know the rule, no alert comes of it.
        when = once | ({"schedule": {"every": "4s"}} if answer in FAILING else {})
        url = f"{target.url}{answer}{query['timer']}"
        own = marked_call("timer", url=url, secretQuery=True, allowControl=True)
        send("POST", TIMERS, when | {"key": f"own-{answer}", "target": own})
        send(
            "POST",
            TIMERS,
            when | {"key": f"named-{answer}", "target": {"name": "named", "path": f"/{answer}"}},
        )
    given = marked_call("consumers", name="consumers")
    send("POST", TIMERS, once | {"key": "for-consumers", "target": given})


def called_as_marked(target: Target) -> set[str]:
    """Return the canaries that the target got, but those of alerts."""
    came = [
        f"{one.path} {one.headers} {one.body!r}" for one in list(target.requests) if one.path != f"/{ALERTS}"
    ]
    return {canary for canary in MARKED.values() if any(canary in one for one in came)}


def letters_of(url: str, headers: dict[str, str]) -> list[Any]:
    """Return the dead letters that there are."""
    items: list[Any] = requests.get(f"{url}/v1/dead-letters", headers=headers, timeout=20).json()["items"]
    return items


def everything_asked(url: str, target: Target, **headers: str) -> list[str]:
    """Make, change, read and delete timers in every way, as an operator; return all that was answered."""
    said, named = [], APP | headers

    def send(method: str, path: str, body: Any = None, **more: str) -> Any:
        answered = requests.request(method, f"{url}{path}", json=body, headers=named | more, timeout=20)
        said.append(f"{answered.text}{answered.headers}")
        assert answered.status_code < 300, answered.text
        return answered.json()

    # First, while the host does not fail yet: then calls would wait for it.
    call_marked(send, target)
    called = {one for (place, _), one in MARKED.items() if place != "consumers"}
    alerts = [one for one in target.requests if one.path == f"/{ALERTS}"]
    ends_at = time.monotonic() + 60
    while not alerts or called_as_marked(target) != called or len(letters := letters_of(url, named)) < 4:
        assert time.monotonic() < ends_at, (alerts, called - called_as_marked(target))
        time.sleep(0.2)
        alerts = [one for one in list(target.requests) if one.path == f"/{ALERTS}"]
    said.extend(f"{one.body!r}" for one in alerts)
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
    target.wait_for_requests(len(target.requests) + 6, 30)
    send("DELETE", f"{TIMERS}/key:gone")
    old = {"url": f"{target.url}?key={CANARIES['query']}", "header": {"Authorization": CANARIES["header"]}}
    send("POST", "/api/timer/v1/def", {"app": "shop", "name": "old", "everyMs": 1000, "notifyHTTPParam": old})
    for path in (
        TIMERS,
        f"/v1/firings?timer={made['id']}",
        "/v1/firings?limit=200",
        "/v1/dead-letters",
        "/v1/audit?limit=500",
        "/v1/alert-rules",
        "/v1/targets",
        "/v1/firings:export",
        *(f"/v1/firings/{one['id']}" for one in letters),
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
