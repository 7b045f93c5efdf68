"""Named targets: another app's, their secrets, and ways out of them."""

import json
from collections.abc import Sequence
from functools import cache

from tests.attack.answer import summed
from tests.attack.attack import Attack, Section
from tests.attack.egress import asked_for, own_servers
from tests.attack.ground import Ground
from tests.callback.target import Received
from wangtimer.core.apps.scopes import APP_SCOPES, Scope

SECRET, SECRET_ANEW = "of-a-named-target-4d8e", "of-a-moved-target-71ca"
# Who may call two places.
APP = "moving"


@cache
def moving(ground: Ground) -> str:
    """Make an app that may call the partner too; return a key of it."""
    key = ground.made_app(APP, {"allow": [f"127.0.0.1:{ground.partner.port}"]})
    ground.tend(6)  # until it counts
    return key


def call(url: str, secret: str = SECRET) -> dict[str, object]:
    return {"url": url, "headers": {"Authorization": secret}}


def put(ground: Ground, name: str, body: object, key: str = "") -> object:
    return ground.ask("PUT", f"/v1/targets/{name}", key or moving(ground), body)


def _same_name(ground: Ground) -> str:
    """The bank's target has the name of the shop's, and a firing goes to the bank's own."""
    name = ground.things.ids["target"]
    ground.done("PUT", f"/v1/targets/{name}", ground.bank, call(f"{ground.target.url}of-the-bank", "banks"))
    outcome, received = _called_through(ground, name, ground.bank)
    sent = [value for one in received for value in one.values("authorization")]
    return f"{outcome}; {len(received)} call to {received[0].path}, with {', '.join(sent)}"


def _called_through(ground: Ground, name: str, key: str) -> tuple[str, list[Received]]:
    body = {"schedule": {"delay": "0s"}, "target": {"name": name}}
    timer = int(ground.done("POST", "/v1/timers", key, body)["id"])
    outcome = ground.outcome(timer)
    return outcome.status, ground.target.calls_of(timer)


@cache
def shown(ground: Ground) -> tuple[str, ...]:
    """Return all that is answered of a target with a secret, to its app and to operators."""
    key, body = moving(ground), call(f"{ground.target.url}secret")
    said = [ground.ask("PUT", "/v1/targets/secret", key, body)]
    said.append(ground.ask("PATCH", "/v1/targets/secret", key, {"timeout": "5s"}))
    timer = ground.done(
        "POST", "/v1/timers", key, {"schedule": {"delay": "0s"}, "target": {"name": "secret"}}
    )["id"]
    ground.outcome(timer)
    (received,) = ground.target.calls_of(timer)
    assert received.values("authorization") == [SECRET]
    firing = f"{timer}-{ground.moment_of(timer)}"
    paths = (
        "/v1/targets",
        "/v1/targets/secret",
        "/v1/timers",
        f"/v1/timers/{timer}",
        f"/v1/firings/{firing}",
    )
    said += [ground.ask("GET", path, key) for path in (*paths, f"/api/timer/v1/def?id={timer}")]
    said.append(ground.ask("GET", f"/v1/audit?app={APP}", ground.operator))
    assert all(one.status < 300 for one in said), summed(said)
    return tuple(f"{one.text}{one.headers}" for one in said)


def _secret_shown(ground: Ground) -> str:
    return f"in {sum(SECRET in one for one in shown(ground))} of {len(shown(ground))} answers"


def _moved(ground: Ground) -> str:
    key, place = moving(ground), f"{ground.partner.url}moved"
    ground.done("PUT", "/v1/targets/moved", key, call(f"{ground.target.url}moved"))
    mask = ground.done("GET", "/v1/targets/moved", key)["headers"]["Authorization"]
    told = [
        ground.ask("PATCH", "/v1/targets/moved", key, {"url": place}),
        ground.ask("PATCH", "/v1/targets/moved", key, call(place, mask)),
        put(ground, "moved", call(place, mask)),
    ]
    return summed(told)


def _moved_anew(ground: Ground) -> str:
    """With secrets of its own; a timer that was made before goes there too."""
    key = moving(ground)
    ground.done("PUT", "/v1/targets/anew", key, call(f"{ground.target.url}anew"))
    body = {"schedule": {"delay": "10s"}, "target": {"name": "anew"}}
    timer = int(ground.done("POST", "/v1/timers", key, body)["id"])
    ground.done("PATCH", "/v1/targets/anew", key, call(f"{ground.partner.url}anew", SECRET_ANEW))
    ground.outcome(timer)
    sent = [value for one in ground.partner.calls_of(timer) for value in one.values("authorization")]
    said = "the new secret alone" if sent == [SECRET_ANEW] else sent
    return f"{len(ground.target.calls_of(timer))} calls to the former host; {said}"


def _moved_fallback(ground: Ground) -> str:
    """Who may change targets, and reads no secret."""
    key, consumers = moving(ground), {"group": "moved", "fallbackUrl": f"{ground.target.url}held"}
    body = {"consumers": consumers, "headers": {"Authorization": SECRET}}
    ground.done("PUT", "/v1/targets/fallback", key, body)
    other = consumers | {"fallbackUrl": f"{ground.partner.url}moved"}
    mask = body | {"consumers": other, "headers": {"Authorization": "***"}}
    told = [
        ground.ask("PATCH", "/v1/targets/fallback", key, {"consumers": other}),
        put(ground, "fallback", mask),
    ]
    held = ground.done("GET", "/v1/targets/fallback", key)["consumers"] == consumers
    return f"{summed(told)}; {'as it was' if held else 'moved'}"


def _moved_with_timers_secrets(ground: Ground) -> str:
    """The target has no secret of its own."""
    key = moving(ground)
    ground.done("PUT", "/v1/targets/bare", key, {"url": f"{ground.target.url}bare"})
    own = {"name": "bare", "headers": {"Authorization": SECRET}}
    ground.done("POST", "/v1/timers", key, {"schedule": {"delay": "2h"}, "target": own})
    return str(ground.ask("PATCH", "/v1/targets/bare", key, {"url": f"{ground.partner.url}bare"}))


def _secret_place(ground: Ground) -> str:
    """It was stored, and each list of targets failed from then on."""
    key, body = moving(ground), {"consumers": {"group": "masked"}}
    told = [put(ground, "masked", body | {"secretQuery": True})]
    ground.done("PUT", "/v1/targets/masked", key, body)
    told.append(ground.ask("PATCH", "/v1/targets/masked", key, {"secretQuery": True}))
    return f"{summed(told)}; the list: {ground.ask('GET', '/v1/targets', key)}"


def _deleted(ground: Ground) -> str:
    """Made anew with the mask of what it had; and what is left of it in SQL and in the store."""
    key = moving(ground)
    ground.done("PUT", "/v1/targets/gone", key, call(f"{ground.target.url}gone-target"))
    mask = ground.done("GET", "/v1/targets/gone", key)["headers"]["Authorization"]
    ground.done("DELETE", "/v1/targets/gone", key)
    anew = put(ground, "gone", call(f"{ground.target.url}gone-target", mask))
    left = [one for one in ground.state_of(APP)["target"] if "gone" in str(one[:2])]
    return f"{anew}; {len(left)} rows"


def _deleted_while_named(ground: Ground) -> str:
    key = moving(ground)
    ground.done("PUT", "/v1/targets/kept", key, call(f"{ground.target.url}kept"))
    ground.done("POST", "/v1/timers", key, {"schedule": {"delay": "2h"}, "target": {"name": "kept"}})
    return f"{ground.ask('DELETE', '/v1/targets/kept', key)}; {ground.ask('GET', '/v1/targets/kept', key).status}"


def _without_the_scope(ground: Ground) -> str:
    """Who may write every timer, but no target."""
    key = ground.key(APP, APP_SCOPES - {Scope.TARGETS_WRITE})
    moving(ground)
    told = [
        put(ground, "mine", call("http://evil.example/"), key),
        ground.ask("PATCH", "/v1/targets/kept", key, {"url": "http://evil.example/"}),
        ground.ask("DELETE", "/v1/targets/kept", key),
    ]
    return summed(told)


OUT = ("/../admin", "/%2e%2e/admin", "/a/..%2fadmin", "/..;/admin", "@evil.example/", ".evil.example/", "//../x",
       "\\..\\admin", ":80/", "/a\r\nX-Injected: yes", "/a b", "http://evil.example/", "/./x")  # fmt: skip


def led_out(path: str) -> Attack:
    def carry_out(ground: Ground) -> str:
        ground.done("PUT", "/v1/targets/base", moving(ground), call(f"{ground.target.url}base"))
        body = {"schedule": {"delay": "1h"}, "target": {"name": "base", "path": path}, "enabled": False}
        return str(ground.ask("POST", "/v1/timers", moving(ground), body))

    return Attack(f"A timer's path behind its target: `{json.dumps(path)[1:-1]}`", "400 40009", carry_out)


def _another_host(ground: Ground) -> str:
    """What a timer says beside the name of its target."""
    more: Sequence[dict[str, object]] = (
        {"url": "http://evil.example/"},
        {"headers": {"Host": "evil.example"}},
        {"method": "GET / HTTP/1.1\r\nHost: evil.example"},
    )
    told = [
        ground.ask(
            "POST",
            "/v1/timers",
            moving(ground),
            {"schedule": {"delay": "1h"}, "target": {"name": "base"} | one, "enabled": False},
        )
        for one in more
    ]
    return ", ".join(map(str, told))


def _inside(ground: Ground) -> str:
    urls = [
        f"http://127.0.0.1:{ground.inside.port}/",
        "http://169.254.169.254/",
        *own_servers(ground).values(),
    ]
    made = [put(ground, f"inside{number}", {"url": url}) for number, url in enumerate(urls)]
    ground.done("PUT", "/v1/targets/edited", moving(ground), {"url": ground.target.url})
    edited = [ground.ask("PATCH", "/v1/targets/edited", moving(ground), {"url": url}) for url in urls]
    return summed([*made, *edited])


def _inside_by_a_name(ground: Ground) -> str:
    """A name is looked up when the call is made."""
    before = ground.inside.accepted
    made = put(ground, "by-a-name", {"url": f"http://localhost.:{ground.inside.port}/"})
    status, _ = _called_through(ground, "by-a-name", moving(ground))
    return f"{made}; {'not called' if status != 'succeeded' else status}; {ground.inside.accepted - before} connections"


def _partners_url(ground: Ground) -> str:
    """The bank reads in no answer of the other app where its target is; it guesses the URL."""
    moving(ground)
    url = f"{ground.partner.url}moved"
    return f"{put(ground, 'guessed', {'url': url}, ground.bank)}; {asked_for(ground, url)}"


SECTION = Section(
    "Named targets",
    ("API1", "API3", "API7"),
    "A target has a URL and secrets that all timers use which name it. Those who write timers must not learn them, nor "
    "send them elsewhere; what other apps may reach stays theirs. Ids of the shop's targets are in the first section.",
    (
        Attack(
            "A target of the bank with the name of the shop's, and a timer that names it",
            "succeeded; 1 call to /of-the-bank, with banks",
            _same_name,
        ),
        Attack(
            "A target's secret header, in what its app and operators are answered",
            "in 0 of 9 answers",
            _secret_shown,
        ),
        Attack(
            "A target with a secret moved to another port: its URL alone; with the mask, by two operations",
            "400 40009 of each",
            _moved,
        ),
        Attack(
            "A target moved with a new secret, and a timer that named it before",
            "0 calls to the former host; the new secret alone",
            _moved_anew,
        ),
        Attack(
            "The fallback of a target for consumers moved to another port, by two operations",
            "400 40009 of each; as it was",
            _moved_fallback,
        ),
        Attack("A target moved whose timer has a secret of its own", "409 40902", _moved_with_timers_secrets),
        Attack(
            "`secretQuery` on a target for consumers, by two operations",
            "400 40007 of each; the list: 200",
            _secret_place,
        ),
        Attack("A deleted target made anew with the mask of its secret", "400 40007; 0 rows", _deleted),
        Attack("A target deleted while a timer names it", "409 40902; 200", _deleted_while_named),
        Attack(
            "A key that may write timers and no targets makes, moves and deletes one",
            "403 40301 of each",
            _without_the_scope,
        ),
        *map(led_out, OUT),
        Attack(
            "A timer's own URL, `Host` and a request in its method, beside the name of its target",
            "400 40007, 400 40009, 400 40009",
            _another_host,
        ),
        Attack(
            "Targets inside: loopback, metadata, our own servers; made, and edited to",
            "400 40009 of each",
            _inside,
        ),
        Attack("A target at a name that leads inside", "201; not called; 0 connections", _inside_by_a_name),
        Attack(
            "A target and a timer of the bank at what another app alone may call",
            "400 40009; not made (400 40009)",
            _partners_url,
        ),
    ),
)
