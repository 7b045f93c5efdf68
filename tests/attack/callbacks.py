"""What a timer may make a callback say, what a target may answer, and calls that lead back to us."""

import csv
import io
import json
import re
import time

from tests.api.sample_requests import sample_request
from tests.attack.answer import summed
from tests.attack.attack import Attack, Section
from tests.attack.called import FORMULA, SCRIPT
from tests.attack.ground import Ground
from wangtimer.api.access.rights import RIGHTS
from wangtimer.core.apps.scopes import CHANGING_SCOPES

BAD, URL = "400 40009", "http://target.example/"


def target(tried: str, expected: str = BAD, **target: object) -> Attack:
    def carry_out(ground: Ground) -> str:
        body = {"schedule": {"delay": "1h"}, "target": {"url": URL} | target, "enabled": False}
        return str(ground.ask("POST", "/v1/timers", ground.bank, body))

    return Attack(tried, expected, carry_out)


def header(name: str, value: str = "a") -> Attack:
    shown = json.dumps(f"{name}: {value}")[1:-1].replace("|", "\\|")
    return target(f"A header `{shown}`", headers={name: value})


CRLF = "a\r\nX-Injected: yes"
INJECTED = (
    header("X-A", CRLF),
    header("X-A", "a\nb"),
    header("X-A", "a\rb"),
    header("X-A", "a\0b"),
    header("X-A\r\nX-B", "a"),
    header("X A", "a"),
    header("X-A:", "a"),
    header("", "a"),
    header("Host", "evil.example"),
    header("Content-Length", "0"),
    header("Transfer-Encoding", "chunked"),
    header("Connection", "upgrade"),
    header("Expect", "100-continue"),
    header("webhook-id", "1-1"),
    header("X-WangTimer-App", "shop"),
    target("A method `GET / HTTP/1.1\\r\\nX: y`", method="GET / HTTP/1.1\r\nX: y"),
    target("A method `CONNECT`", method="CONNECT"),
    target("A URL with CR LF", url=f"{URL}a\r\nX-Injected: yes"),
    target("A URL with a space", url=f"{URL}a HTTP/1.1"),
    target("A URL with a tab", url=f"{URL}a\tb"),
    target("A URL with a NUL", url=f"{URL}a\0b"),
    target("A URL with a user and a password", url="http://user:password@target.example/"),
    target("A URL with port 0", url="http://target.example:0/"),
    target("A URL with port 99999", url="http://target.example:99999/"),
    target("A URL without a host", url="http:///a"),
    target("A URL of 10,000 characters", url=URL + "a" * 10_000),
    target("101 headers", "400 40012", headers={f"X-{number}": "a" for number in range(101)}),
)


def _as_it_arrives(ground: Ground) -> str:
    """What a URL and a key may hold is sent so that it ends no line."""
    timer = ground.timer("a key: b, 100 % ü", f"{ground.target.url}plain?a=%0d%0aX-Injected:%20yes")
    ground.outcome(timer)
    (call,) = ground.target.calls_of(timer)
    end = call.path.rpartition("=")[2]
    return f"{len(call.values('x-injected'))} headers of the attacker's; the path ends in {end}"


def _nobodys_answer(ground: Ground) -> str:
    """Two answers where one was asked for: the second would be that of the connection's next call."""
    first = ground.timer("twice", f"{ground.target.url}twice")
    ground.outcome(first)
    second = ground.timer("after twice", f"{ground.target.url}plain")
    outcome = ground.outcome(second)
    return f"the next call on record: {outcome.http_status} {outcome.output!r}"


def _endless(ground: Ground) -> str:
    timers = [ground.timer(name, f"{ground.target.url}{name}") for name in ("endless", "endless-head")]
    ended = ground.outcomes(timers)
    longest = max(len(one.output) for one in ended.values())
    plain = ground.outcome(ground.timer("beside endless", f"{ground.target.url}plain"))
    kept = "1,024" if longest <= 1_024 else longest
    return f"{len(ended)} broken off, at most {kept} characters kept; a call beside: {plain.status}"


def _bomb(ground: Ground) -> str:
    outcome = ground.outcome(ground.timer("bomb", f"{ground.target.url}gzip-bomb"))
    return f"at most {'1,024' if len(outcome.output) <= 1_024 else len(outcome.output)} characters kept"


def _script(ground: Ground) -> str:
    timer = ground.timer("script", f"{ground.target.url}script")
    ground.outcome(timer)
    answers = [
        ground.ask("GET", f"/v1/firings?timer={timer}", ground.bank),
        ground.ask("GET", f"/v1/firings:export?timer={timer}&format=csv", ground.bank),
    ]
    assert all(SCRIPT.split(">")[0] in one.text for one in answers), [one.text for one in answers]
    return ", ".join(one.headers["content-type"].partition(";")[0] for one in answers)


def exported(ground: Ground, timer: int) -> list[list[str]]:
    answer = ground.ask("GET", f"/v1/firings:export?timer={timer}&format=csv", ground.bank)
    assert answer.status == 200, answer
    return list(csv.reader(io.StringIO(answer.text, newline="")))


def _formula(ground: Ground) -> str:
    timer = ground.timer("formula", f"{ground.target.url}formula")
    ground.outcome(timer)
    rows = exported(ground, timer)
    cells = [cell for row in rows[1:] for cell in row]
    computing = [one for one in cells if re.match(r"[=+\-@\t\r]", one) and not re.fullmatch(r"-?[\d.]+", one)]
    assert f"'{FORMULA}" in cells, cells
    return f"{len(computing)} cells that compute"


def _formula_as_key(ground: Ground) -> str:
    """A name that an attacker chose, in the export of whoever looks at all timers."""
    timer = ground.timer("@SUM(1+1)*cmd", f"{ground.target.url}plain")
    ground.outcome(timer)
    cells = [cell for row in exported(ground, timer)[1:] for cell in row]
    return f"{len([one for one in cells if re.match(r'[=+@]', one)])} cells that compute"


def _lines(ground: Ground) -> str:
    timer = ground.timer("lines", f"{ground.target.url}lines")
    ground.outcome(timer)
    forged = sum(b"event=forged" in one.read_bytes() for one in ground.deployment.logs())
    return f"in {forged} logs"


def _own_callback(ground: Ground) -> str:
    """By headers, as a callback of ours carries them, wherever it comes from."""
    acting = [
        route
        for route, right in RIGHTS.items()
        if right in CHANGING_SCOPES
        and not route.startswith("DELETE")
        and not re.search(r"isable|unable|cancel|Delete|signing|certificate", route)
    ]
    headers = {"webhook-id": "1-2", "X-WangTimer-Timer": "1"}
    told = summed(ground.ask_sample(sample_request(one, None), ground.bank, **headers) for one in acting)
    return f"{told.replace(f' of {len(acting)}', ' of each')}"


def _to_ourselves(ground: Ground) -> str:
    before = ground.state_of("bank")["timer"]
    body = {"key": "loop", "schedule": {"delay": "0s"}, "target": {"url": f"http://{ground.web}/v1/timers"}}
    answer = ground.ask("POST", "/v1/timers", ground.bank, body)
    return f"{answer}; {len(ground.state_of('bank')['timer']) - len(before)} more timers"


def _same_idempotency_key(ground: Ground) -> str:
    """The key with which the shop made a timer, and the shop's own body."""
    things = ground.things
    body = {"key": "order-42", "schedule": {"delay": "1h"}, "target": {"url": URL}, "enabled": False}
    answer = ground.ask("POST", "/v1/timers", ground.bank, body, Idempotency_Key=things.ids["idempotency"])
    is_own = answer.status == 201 and str(answer.json["id"]) != things.ids["timer"]
    if is_own:
        ground.done("DELETE", f"/v1/timers/{answer.json['id']}", ground.bank)
    return "a timer of its own" if is_own else f"{answer} {answer.text}"


def _kept_secret(ground: Ground) -> str:
    """A writer of timers moves a secret that it cannot read to a host of its own."""
    target = {"url": URL, "headers": {"Authorization": "hush-hush"}}
    body = {"schedule": {"every": "1h"}, "target": target}
    made = ground.done("POST", "/v1/timers", ground.bank, body)
    shown = ground.done("GET", f"/v1/timers/{made['id']}", ground.bank)["target"]["headers"]["Authorization"]
    assert "hush-hush" not in shown
    moved = {"target": {"url": "http://evil.example/"}}
    with_mask = {"target": {"url": "http://evil.example/", "headers": {"Authorization": shown}}}
    told = [ground.ask("PATCH", f"/v1/timers/{made['id']}", ground.bank, one) for one in (moved, with_mask)]
    return ", ".join(map(str, told))


def _secrets_that_begin_alike(ground: Ground) -> str:
    """A hundred calls whose secrets begin as the target's answer does; a second later another app's call is due."""
    query = "&".join(f"key=aaaaaa{number:x}" for number in range(150))
    ground.done("PUT", "/v1/targets/alike", ground.bank, {"url": f"{ground.target.url}alike?{query}"})
    once = {"schedule": {"delay": "3s"}, "target": {"name": "alike"}}
    timers = {"timers": [once | {"key": f"alike {number}"} for number in range(100)]}
    made = ground.done("POST", "/v1/timers:batchCreate", ground.bank, timers)["items"]
    began_at = time.monotonic()
    body = {"schedule": {"delay": "4s"}, "target": {"url": f"{ground.target.url}plain"}}
    of_shop = int(ground.done("POST", "/v1/timers", ground.shop, body)["id"])
    ground.waited(lambda: bool(ground.target.calls_of(of_shop)), 30)
    took = "soon" if time.monotonic() - began_at < 7 else "late"
    outputs = {one.output for one in ground.outcomes([int(one["id"]) for one in made]).values()}
    return f"the shop's call came {took}; on record: {', '.join(sorted(outputs))}"


SECTION = Section(
    "What callbacks say and targets answer",
    ("API3", "API6", "API10"),
    "A timer that would inject headers or requests into a call, a target that answers badly, and timers that would act "
    "on the API.",
    (
        *INJECTED,
        Attack(
            "CR LF in the percent-codes of a URL",
            "0 headers of the attacker's; the path ends in %0d%0aX-Injected:%20yes",
            _as_it_arrives,
        ),
        Attack("A target that answers twice", "the next call on record: 204 ''", _nobodys_answer),
        Attack(
            "Targets whose answer or head never ends",
            "2 broken off, at most 1,024 characters kept; a call beside: succeeded",
            _endless,
        ),
        Attack("An answer of 20 MB packed into 20 KB", "at most 1,024 characters kept", _bomb),
        Attack(
            "A script as answer, in the list of firings and in the export",
            "application/json, text/csv",
            _script,
        ),
        Attack(
            "150 secrets that begin alike, and a target that repeats how, a hundred times at once",
            "the shop's call came soon; on record: ***",
            _secrets_that_begin_alike,
        ),
        Attack("A formula as answer, in the export for spreadsheets", "0 cells that compute", _formula),
        Attack("A formula as a timer's key, in the export", "0 cells that compute", _formula_as_key),
        Attack("Line ends and log fields in an answer", "in 0 logs", _lines),
        Attack(
            "A callback's headers on each operation that makes or changes timers, firings, calendars and targets",
            "400 40013 of each",
            _own_callback,
        ),
        Attack("A timer whose target is the API itself", "400 40009; 0 more timers", _to_ourselves),
        Attack(
            "The shop's `Idempotency-Key` and body, by the bank", "a timer of its own", _same_idempotency_key
        ),
        Attack(
            "A timer's secret header moved to another host, and its mask sent back",
            "400 40009, 400 40009",
            _kept_secret,
        ),
    ),
)
