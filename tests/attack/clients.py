"""Clients that hold on to what they have: half requests, drips, answers that nobody takes, floods of all kinds."""

import gzip
import json
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta

from tests.api.test_half_sent import CHUNKED, HALF_BODY, HALF_CHUNKS, HALF_HEAD
from tests.attack.answer import statuses, summed
from tests.attack.attack import Attack, Section
from tests.attack.ground import BANK, BODY_S, Ground
from tests.certificates import diffie_hellman_key, self_signed, with_diffie_hellman
from wangtimer.api.http.answer_pace import BEHIND_S
from wangtimer.core.apps.key_text import KeyText

# Twice the API's threads: 2 processes of 8 each.
HALVES = 32
SILENT = 300
# No thread waits for the rest of a head.
AT_ONCE_S = 2.0
# Of a prime.
LONG_BITS = 9_941
# A machine that is busy with other work takes its time.
WITHIN_S = 2 * BODY_S + 10


def served_within(ground: Ground, at: str) -> str:
    began = time.monotonic()
    status = ground.ask("GET", "/healthz", at=at).status
    return f"another client: {status}" if time.monotonic() - began < WITHIN_S else "another client waits"


def with_key(ground: Ground, sent: bytes) -> bytes:
    """Return a request, or half of one, with the bank's key: without one nobody waits for its body."""
    return sent.replace(
        b"Host: localhost\r\n", f"Host: localhost\r\nAuthorization: Bearer {ground.bank}\r\n".encode()
    )


def halves(tried: str, sent: bytes, expected: str) -> Attack:
    def carry_out(ground: Ground) -> str:
        with ExitStack() as held:
            clients = [held.enter_context(ground.connected(ground.web, WITHIN_S)) for _ in range(HALVES)]
            for client in clients:
                client.sendall(with_key(ground, sent))
            told = served_within(ground, ground.web)
            ends = summed(statuses(ground.received(client, until_closed=True)) for client in clients)
        return f"{told}; {ends}"

    return Attack(
        f"{HALVES} clients that send half a {tried}, at the API itself",
        f"another client: 200; {expected}",
        carry_out,
    )


def _silent(ground: Ground) -> str:
    """Nobody needs a key for it."""
    with ExitStack() as held:
        clients = [held.enter_context(ground.connected(ground.web, WITHIN_S)) for _ in range(SILENT)]
        told = served_within(ground, ground.web)
        ends = {ground.received(client, until_closed=True) for client in clients}
    return f"{told}; {'closed without a word' if ends == {b''} else ends}"


def _half_heads(ground: Ground) -> str:
    """Of each kind: a new connection, one that had an answer, and one whose half came with the request before."""
    whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with ExitStack() as held:
        clients = [held.enter_context(ground.connected(ground.web, WITHIN_S)) for _ in range(SILENT)]
        for number, client in enumerate(clients):
            client.sendall((b"G", whole + b"G", whole)[number % 3])
            if number % 3:
                client.recv(65_536)
        for client in clients[2::3]:
            client.sendall(b"G")
        began = time.monotonic()
        status = ground.ask("GET", "/healthz", at=ground.web).status
        took = time.monotonic() - began
        ends = summed(statuses(ground.received(client, until_closed=True)) for client in clients)
    return f"another client: {status}{'' if took < AT_ONCE_S else f' after {took:.0f} s'}; {ends}"


def _long_judged(ground: Ground) -> str:
    """Keys and certificates of which 1.8 KB stopped all threads of a process for 35 s."""
    mine = self_signed("CN=bank", datetime.now(UTC) + timedelta(days=30))
    bodies = (
        {"certificate": mine.chain, "privateKey": diffie_hellman_key(LONG_BITS)},
        {"certificate": with_diffie_hellman(mine, LONG_BITS), "privateKey": mine.key},
    )
    told = [ground.ask("PUT", "/v1/client-certificate", ground.bank, body, at=ground.web) for body in bodies]
    return f"{summed(told)}; {served_within(ground, ground.web)}"


def _drip(ground: Ground) -> str:
    """A byte now and then, through the proxy and directly."""
    told = []
    for at in (ground.proxy, ground.web):
        with ExitStack() as held:
            clients = [held.enter_context(ground.connected(at)) for _ in range(HALVES)]
            for client in clients:
                client.sendall(HALF_HEAD)
            for _ in range(5):
                for client in clients:
                    with suppress(OSError):
                        client.sendall(b"1")
                time.sleep(0.1)
            told.append(served_within(ground, at))
    return ", ".join(told)


def _halves_at_the_proxy(ground: Ground) -> str:
    with ExitStack() as held:
        for _ in range(HALVES * 4):
            held.enter_context(ground.connected()).sendall(HALF_BODY)
        return served_within(ground, ground.proxy)


def _rest_is_no_request(ground: Ground) -> str:
    """What comes after a body that was given up is no request of its own."""
    with ground.connected(ground.web, WITHIN_S) as client:
        client.sendall(with_key(ground, HALF_BODY))
        found = client.recv(65_536)
        with suppress(OSError):
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            found += ground.received(client, until_closed=True)
    return statuses(found)


def _nobody_takes(ground: Ground) -> str:
    """Each asks for large answers again and again, and reads nothing."""
    asked = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with ExitStack() as held:
        for _ in range(HALVES // 2):
            client = held.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            host, _, port = ground.web.partition(":")
            client.connect((host, int(port)))
            client.sendall(asked)
        began = time.monotonic()
        status = ground.ask("GET", "/healthz", at=ground.web).status
        took = time.monotonic() - began
    return f"another client: {status}" if took < BEHIND_S + 10 else f"another client waits {took:.0f} s"


def _flood(ground: Ground, send: Callable[[int], object], number: int) -> str:
    with ThreadPoolExecutor(16) as threads:
        told = summed(threads.map(send, range(number)))
    return f"{told}; {served_within(ground, ground.proxy)}"


def _forged_keys(ground: Ground) -> str:
    keys = [KeyText.new().text for _ in range(400)]
    return _flood(ground, lambda number: ground.ask("GET", "/v1/timers", keys[number]), len(keys))


def _connections(ground: Ground) -> str:
    """One address may not take all connections of the proxy, which refuses them as such, or as too many requests."""
    with ExitStack() as held:
        clients = [held.enter_context(ground.connected()) for _ in range(500)]
        for client in clients:
            with suppress(OSError):
                client.sendall(HALF_BODY)
            client.setblocking(False)
        refused: set[socket.socket] = set()

        def are_all_refused() -> bool:
            for client in clients:
                with suppress(OSError):
                    if statuses(client.recv(65_536)) in ("429", "503"):
                        refused.add(client)
            return len(refused) >= 100

        ground.waited(are_all_refused)
        direct = ground.ask("GET", "/healthz", at=ground.web).status
    return f"{len(refused)} are refused; the API itself: {direct}"


TIMER = {"schedule": {"every": "1h"}, "target": {"url": "http://target.example/"}}


def posted(tried: str, raw: Callable[[], bytes], expected: str, path: str = "/v1/timers") -> Attack:
    return Attack(tried, expected, lambda ground: str(ground.ask("POST", path, ground.bank, raw=raw())))


def nested(opening: str, closing: str, depth: int) -> bytes:
    return (opening * depth + "1" + closing * depth).encode()


def batch(number: int, **more: object) -> bytes:
    return json.dumps({"timers": [TIMER | {"key": f"f{one}"} | more for one in range(number)]}).encode()


def pattern(cron: str) -> bytes:
    return json.dumps({"schedule": {"cron": cron}, "target": TIMER["target"]}).encode()


BODIES = (
    posted("A body of 9 MB to an operation for one timer", lambda: b"{" + b" " * 9_000_000, "413 41301"),
    posted(
        "A body of 9 MB to the operation for many",
        lambda: b"{" + b" " * 9_000_000,
        "413 41301",
        "/v1/timers:batchCreate",
    ),
    posted("Lists in lists, 30,000 deep", lambda: nested("[", "]", 30_000), "400 40001"),
    posted("Objects in objects, 10,000 deep", lambda: nested('{"a":', "}", 10_000), "400 40001"),
    posted("A number of 60,000 digits", lambda: b'{"key": ' + b"9" * 60_000 + b"}", "400 40001"),
    posted("A number with an exponent of a million", lambda: b'{"key": 1e1000000}', "400 40007"),
    posted(
        "An object of 5,000 fields",
        lambda: json.dumps({f"a{one}": 1 for one in range(5_000)}).encode(),
        "400 40012",
    ),
    posted("1,001 timers in one request", lambda: batch(1_001), "400 40007", "/v1/timers:batchCreate"),
    posted(
        "8 MB of empty objects",
        lambda: b'{"timers": [' + b"{}," * 2_600_000 + b"{}]}",
        "400 40012",
        "/v1/timers:batchCreate",
    ),
    posted("A text of 60,000 quotes", lambda: b'{"key": "' + b'\\"' * 30_000 + b'"}', "400 40005"),
    posted(
        "A key of 60,000 characters", lambda: json.dumps(TIMER | {"key": "k" * 60_000}).encode(), "400 40007"
    ),
    posted("A NUL in a key", lambda: json.dumps(TIMER | {"key": "a\0b"}).encode(), "400 40007"),
    posted("Half a surrogate pair in a key", lambda: b'{"key": "\\ud800"}', "400 40001"),
    posted("Bytes that are no UTF-8", lambda: b'{"key": "\xff\xfe"}', "400 40001"),
    posted("A byte order mark", lambda: b"\xef\xbb\xbf{}", "400 40001"),
    posted("A field twice", lambda: b'{"key": "a", "key": "b"}', "400 40003"),
    posted("`__proto__` and `constructor` as fields", lambda: b'{"__proto__": {"x": 1}}', "400 40004"),
    posted("SQL in a key", lambda: json.dumps(TIMER | {"key": "'; DROP TABLE timer; --"}).encode(), "201"),
    posted("A cron that never fires", lambda: pattern("0 0 30 2 *"), "400 40008"),
    posted("A cron of 10,000 characters", lambda: pattern("1," * 5_000 + "1 * * * *"), "400 40008"),
    posted("A cron with a range that never ends", lambda: pattern("*/0 * * * *"), "400 40008"),
    posted(
        "A preview of a rule that takes long",
        lambda: json.dumps({"schedule": {"cron": "0 0 29 2 1#5"}, "count": 100}).encode(),
        "200",
        "/v1/schedules:preview",
    ),
)


def _gzip(ground: Ground) -> str:
    packed = gzip.compress(b"{" + b" " * 50_000_000 + b"}")
    return str(ground.ask("POST", "/v1/timers", ground.bank, raw=packed, Content_Encoding="gzip"))


def _crumbs(ground: Ground) -> str:
    key = f"\r\nAuthorization: Bearer {ground.bank}\r\n\r\n".encode()
    of_bank = CHUNKED.replace(b"WangTimer-App: shop\r\n", f"WangTimer-App: {BANK}\r\n".encode())
    sent = of_bank.replace(b"\r\n\r\n", key) + b"1\r\n \r\n" * 100_100
    told = ground.statuses_raw(sent, ground.web)
    # A client that goes on sending may lose the answer.
    return "refused" if told in ("413", "400", "closed") else told


def _long_line(ground: Ground) -> str:
    told = [
        ground.ask("GET", f"/v1/timers?{'a' * 40_000}", ground.bank, at=at)
        for at in (ground.proxy, ground.web)
    ]
    return ", ".join(str(one.status) for one in told)


def _many_headers(ground: Ground) -> str:
    lines = "".join(f"X-{number}: a\r\n" for number in range(3_000))
    sent = f"GET /healthz HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode()
    return ", ".join(ground.statuses_raw(sent, at) for at in (ground.proxy, ground.web))


def _many_parameters(ground: Ground) -> str:
    query = "&".join(f"a{number}=1" for number in range(700))
    return str(ground.ask("GET", f"/v1/timers?{query}", ground.bank))


def _exports(ground: Ground) -> str:
    """Each may hold a thread for hours; so a quarter of the threads does."""
    with ThreadPoolExecutor(32) as threads:
        told = set(
            threads.map(
                lambda _: str(ground.ask("GET", "/v1/firings:export?format=csv", ground.bank, at=ground.web)),
                range(64),
            )
        )
    return (
        f"{'200 or 503 50303' if told <= {'200', '503 50303'} else told}; {served_within(ground, ground.web)}"
    )


def _batches(ground: Ground) -> str:
    """Each takes half a second of CPU; so few of an app run at once."""
    raw = batch(1_000, schedule={"cron": "61 9 * * *"})

    def send(_: int) -> str:
        return str(ground.ask("POST", "/v1/timers:batchCreate", ground.bank, raw=raw, at=ground.web))

    with ThreadPoolExecutor(32) as threads:
        under_way = [threads.submit(send, number) for number in range(64)]
        served = served_within(ground, ground.web)
        told = {one.result() for one in under_way}
    return f"{'200 or 503 50303' if told <= {'200', '503 50303'} else told}; {served}"


def _many_calendars(ground: Ground) -> str:
    last = ""
    for number in range(101):
        last = str(ground.ask("PUT", f"/v1/calendars/c{number}", ground.bank, {"days": ["2099-01-01"]}))
        if not last.startswith("20"):
            break
    for number in range(101):
        ground.ask("DELETE", f"/v1/calendars/c{number}", ground.bank)
    return f"the last one: {last}"


SECTION = Section(
    "Slow clients and floods",
    ("API4",),
    "Clients that send or read slowly, many requests, large and deep bodies. Another client must be answered. These "
    "apps have no limits of their own: those are in the next section.",
    (
        Attack(
            f"{SILENT} clients that send half a head, at the API itself",
            "another client: 200; 408 of each",
            _half_heads,
        ),
        halves("body", HALF_BODY, "400 of each"),
        halves("body in chunks", HALF_CHUNKS, "400 of each"),
        Attack(
            f"{HALVES * 4} clients that send half a body, at the proxy",
            "another client: 200",
            _halves_at_the_proxy,
        ),
        Attack(
            f"{HALVES} clients that drip bytes, at the proxy and the API",
            "another client: 200, another client: 200",
            _drip,
        ),
        Attack(
            f"{SILENT} connections that send nothing, at the API itself",
            "another client: 200; closed without a word",
            _silent,
        ),
        Attack(
            "A private key and a certificate that take half a minute to judge",
            "400 40007 of each; another client: 200",
            _long_judged,
        ),
        Attack("A request behind a body that was given up", "400", _rest_is_no_request),
        Attack(
            f"{HALVES // 2} clients that take no byte of a large answer", "another client: 200", _nobody_takes
        ),
        Attack(
            "500 connections of one address at the proxy, which lets it have 400",
            "100 are refused; the API itself: 200",
            _connections,
        ),
        Attack("400 requests with made-up keys", "401 40102 of each; another client: 200", _forged_keys),
        *BODIES,
        Attack("50 MB packed into 50 KB", "400 40001", _gzip),
        Attack("A body in 100,100 chunks", "refused", _crumbs),
        Attack("A request line of 40,000 characters, at the proxy and the API", "414, 414", _long_line),
        Attack("3,000 headers, at the proxy and the API", "400, 431", _many_headers),
        Attack("700 parameters", "400 40004", _many_parameters),
        Attack("64 exports at once", "200 or 503 50303; another client: 200", _exports),
        Attack("64 batches of 1,000 timers at once", "200 or 503 50303; another client: 200", _batches),
        Attack("More than 100 calendars of one app", "the last one: 409 40902", _many_calendars),
    ),
)
