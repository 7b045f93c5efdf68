"""Targets inside: each spelling of an address that callbacks may not reach, names that change, redirects, own servers.

A timer with such a URL is asked for, and written into SQL past the API, so that a callback process must refuse it too.
"""

import socket
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cache

from benchmarks.load import insert_rows, timer_row
from tests.attack.attack import Attack, Section
from tests.attack.ground import BANK, Ground, Outcome
from tests.callback.calls import Outcomes, egress_of, engine_of
from tests.callback.name_server import NameServer
from tests.callback.target import Target, answer_with
from tests.callback.test_egress import CLOSING, LOOPBACK, METADATA, ONE_ALLOWED, SPECIAL, SPELLINGS, Counting
from wangtimer.callback import Reply
from wangtimer.callback.egress import REFUSED

PLANTED_AHEAD_MS = 4_000
REFUSED_EARLY = "not made (400 40009)"
UNSENT = "its call is not sent"
# Names are resolved when a call is made, so their timers are made; that of this machine is refused as its address is.
# The last two are names that nobody has.
NAMES = {"localhost.", "127.0.0.1.", "127.0x0.0.0x1"}


def own_servers(ground: Ground) -> dict[str, str]:
    deployment = ground.deployment
    ports = {
        "MariaDB": deployment.sql.port,
        "the store": deployment.store.port,
        "the broker": deployment.broker.port,
    }
    urls = {name: f"http://127.0.0.1:{port}/" for name, port in ports.items()}
    return urls | {
        "the API": f"http://{ground.web}/v1/timers",
        "the API, by another spelling": f"http://[::ffff:127.0.0.1]:{ground.web.rpartition(':')[2]}/",
        "Flower": f"{deployment.flower_url}/",
        "the proxy": f"http://{ground.proxy}/",
    }


OWN = ("MariaDB", "the store", "the broker", "the API", "the API, by another spelling", "Flower", "the proxy")


def plant(ground: Ground, app: str, urls: Mapping[str, str]) -> dict[str, Outcome]:
    """Write a timer of an app for each URL into SQL; return what became of each call."""
    now = int(time.time() * 1_000)
    due = now + PLANTED_AHEAD_MS
    rows = {
        name: timer_row(app, f"planted {name}", url, now)
        | {"at_ms": due, "next_fire_at": due, "plan_by": due}
        for name, url in urls.items()
    }
    insert_rows(ground.sql, list(rows.values()))
    ended = ground.outcomes([int(str(row["id"])) for row in rows.values()])
    return {name: ended[int(str(row["id"]))] for name, row in rows.items()}


@cache
def planted(ground: Ground) -> tuple[dict[str, Outcome], int]:
    """Plant a timer of the bank for each; return what became of each call, and how many connections came."""
    connections = ground.inside.accepted
    urls = {one: f"http://{one}:{ground.inside.port}/" for one in SPELLINGS} | own_servers(ground)
    return plant(ground, BANK, urls), ground.inside.accepted - connections


def told(outcome: Outcome) -> str:
    return UNSENT if outcome.is_unsent else f"its call: {outcome}"


def asked_for(ground: Ground, url: str, key: str = "") -> str:
    body = {"schedule": {"every": "1h"}, "target": {"url": url}, "enabled": False}
    answer = ground.ask("POST", "/v1/timers", key or ground.bank, body)
    return "made" if answer.status == 201 else f"not made ({answer})"


def by_spelling(spelling: str) -> Attack:
    def carry_out(ground: Ground) -> str:
        asked = asked_for(ground, f"http://{spelling}:{ground.inside.port}/")
        return f"{asked}; {told(planted(ground)[0][spelling])}"

    expected = "made" if spelling in NAMES else REFUSED_EARLY
    return Attack(f"`http://{spelling}:PORT/`", f"{expected}; {UNSENT}", carry_out)


def by_own_server(name: str) -> Attack:
    def carry_out(ground: Ground) -> str:
        return f"{asked_for(ground, own_servers(ground)[name])}; {told(planted(ground)[0][name])}"

    return Attack(
        f"Our own server: {name}, at a port that the rules allow", f"{REFUSED_EARLY}; {UNSENT}", carry_out
    )


def _connections(ground: Ground) -> str:
    return f"{planted(ground)[1]} connections"


def _one_text(ground: Ground) -> str:
    """What is there, and what is not, in the app's eyes."""
    errors = {
        planted(ground)[0][one].error for one in ("127.0.0.1", "10.0.0.1", "169.254.169.254", "MariaDB")
    }
    return "one text" if errors == {f"not sent: {REFUSED}"} else f"{len(errors)} texts: {sorted(errors)}"


def _not_retried(ground: Ground) -> str:
    return f"{planted(ground)[0]['127.0.0.1'].attempt} attempt"


def _redirected(ground: Ground) -> str:
    before = ground.inside.accepted
    timer = ground.timer("redirect", f"{ground.target.url}redirect?to=http://127.0.0.1:{ground.inside.port}/")
    outcome = ground.outcome(timer)
    return f"{outcome.http_status} on record, {ground.inside.accepted - before} connections"


def _rebound(ground: Ground) -> str:
    """By the engine alone: a deployment asks the machine's name servers, which a test cannot change."""
    with ExitStack() as stack:
        inside = Counting(socket.create_server(("127.0.0.1", 0)))
        stack.callback(inside.close)
        stack.callback(Target(answer_with(CLOSING), None, ("127.0.0.2", inside.port)).close)
        names = NameServer(ttl_s=0)
        stack.callback(names.close)
        engine = engine_of(egress=egress_of(ONE_ALLOWED), name_servers=[names.address])
        engine.start()
        stack.callback(engine.stop, 0)
        outcomes = Outcomes()

        def last() -> Reply:
            engine.submit([outcomes.call(f"http://target.example:{inside.port}/")])
            return outcomes.wait(outcomes.ends + 1)[-1]

        names.addresses["target.example"] = ["127.0.0.2"]
        first = last()
        names.addresses["target.example"] = ["127.0.0.1"]
        ground.waited(lambda: last().is_refused)
        # An idle connection to the allowed address may serve for a while.
        told = ["refused" if one.is_refused else "called" for one in (first, outcomes.replies[-1][1])]
        return f"{', then '.join(told)}; {inside.accepted} connections"


def _edited(ground: Ground) -> str:
    made = ground.done(
        "POST", "/v1/timers", ground.bank,
        {"key": "edited", "schedule": {"every": "1h"}, "target": {"url": "http://target.example/"}},
    )  # fmt: skip
    inside = {"url": f"http://127.0.0.1:{ground.inside.port}/"}
    answers = [
        ground.ask("PATCH", f"/v1/timers/{made['id']}", ground.bank, {"target": inside}),
        ground.ask(
            "PUT", "/v1/timers/key:edited", ground.bank, {"schedule": {"every": "1h"}, "target": inside}
        ),
        ground.ask("PATCH", "/api/timer/v1/def", ground.bank, {"id": made["id"], "notifyHTTPParam": inside}),
    ]
    return ", ".join(map(str, answers))


SCHEMES = ("file:///etc/passwd", "gopher://127.0.0.1:6379/_FLUSHALL", "dict://127.0.0.1:6379/info",
           "ftp://127.0.0.1/", "ldap://127.0.0.1/", "unix:///var/run/docker.sock", "http+unix://%2Fsock/",
           "//127.0.0.1/", "http:127.0.0.1", "jar:http://127.0.0.1!/")  # fmt: skip


def by_scheme(url: str) -> Attack:
    return Attack(f"`{url}`", REFUSED_EARLY, lambda ground: asked_for(ground, url))


SECTION = Section(
    "Targets inside (SSRF)",
    ("API7",),
    f"{len(LOOPBACK)} spellings of loopback, {len(SPECIAL)} of other networks that are not public, {len(METADATA)} of "
    "clouds' metadata; our own servers; schemes; redirects; a name that is rebound. Something listens at PORT, and "
    "counts connections.",
    (
        *map(by_spelling, SPELLINGS),
        *map(by_own_server, OWN),
        *map(by_scheme, SCHEMES),
        Attack("Connections that came of all these", "0 connections", _connections),
        Attack(
            "What an app is told of an open port, nobody's address, metadata, our server",
            "one text",
            _one_text,
        ),
        Attack("Attempts of a refused call", "1 attempt", _not_retried),
        Attack("A target that redirects inside", "307 on record, 0 connections", _redirected),
        Attack(
            "A name that is rebound to loopback after its first call",
            "called, then refused; 0 connections",
            _rebound,
        ),
        Attack(
            "A timer edited to a URL inside, by three operations", "400 40009, 400 40009, 400 40009", _edited
        ),
    ),
)
