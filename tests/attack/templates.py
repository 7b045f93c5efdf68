"""Placeholders: they tell nothing but of their own firing, end no header or string, and cost no more than they say."""

import json
import time
from urllib.parse import parse_qs, urlsplit

from tests.attack.answer import summed
from tests.attack.attack import Attack, Section
from tests.attack.ground import Ground
from tests.callback.target import Received
from wangtimer.core.timers.templates import MOST_PLACEHOLDERS, PLACEHOLDERS

# What template languages would carry out, and what an attacker would like to read.
EXPRESSIONS = (
    "{{7*7}}",
    "{{config}}",
    "{{self.__class__}}",
    "{{ env.WANGTIMER_DATABASE_URL }}",
    "{{secrets}}",
    "{{app|attr('x')}}",
    "{{#app}}x{{/app}}",
    "{{{app}}}",
    "{{app.__init__}}",
    "{{fireAt",
    "{{\u0430pp}}",
)
# Those of other languages are sent as they are.
PLAIN = ("${7*7}", "{% raw %}", "<%= 7*7 %>", "#{7*7}", "$(id)", "%(app)s", "{app}", "{0.__class__}")
# An app that may have such a name has no other characters than these, at most.
KEYS = ('"},"admin":true,{"a":"', "a\\", "a&admin=1#", "</a><b>", "%22%0d%0a")


def asked(ground: Ground, **target: object) -> str:
    body = {
        "schedule": {"delay": "1h"},
        "target": {"url": f"{ground.target.url}plain", "templates": True} | target,
    }
    return str(ground.ask("POST", "/v1/timers", ground.bank, body))


def called(ground: Ground, key: str, **target: object) -> Received:
    """Have a timer call the target at once; return the call."""
    part = {"templates": True, "method": "POST"} | target
    timer = ground.timer(key, str(part.pop("url", f"{ground.target.url}plain")), target=part)
    ground.outcome(timer)
    (received,) = ground.target.calls_of(timer)
    return received


def _expressions(ground: Ground) -> str:
    return summed([asked(ground, body=one) for one in EXPRESSIONS])


def _plain(ground: Ground) -> str:
    received = called(ground, "of other languages", body="\n".join(PLAIN))
    return "as they are" if received.body.decode() == "\n".join(PLAIN) else received.body.decode()


def _elsewhere(ground: Ground) -> str:
    """In all parts of a URL but its query, in the method, and in the name of a header."""
    url = ground.target.url
    parts: list[dict[str, object]] = [
        {"url": "http://{{app}}.example/"},
        {"url": "http://127.0.0.1:{{attempt}}/"},
        {"url": f"{url}{{{{app}}}}/plain"},
        {"url": f"{url}plain#{{{{app}}}}"},
        {"method": "{{app}}"},
        {"headers": {"X-{{app}}": "a"}},
    ]
    return summed([asked(ground, **part) for part in parts])


def _in_each_place(ground: Ground) -> str:
    """All placeholders at once: each place still holds what stood there, and nothing beside."""
    every = "".join(f"{{{{{name}}}}}" for name in PLACEHOLDERS if name != "seq")
    received = called(
        ground,
        "all placeholders",
        url=f"{ground.target.url}plain?a={every}&b=1",
        headers={"X-All": every, "Content-Type": "application/json"},
        body=json.dumps({"a": every, "b": 1}),
    )
    query = parse_qs(urlsplit(received.path).query, keep_blank_values=True)
    body = json.loads(received.body)
    return f"{len(query)} parameters, {len(received.values('x-all'))} header, {len(body)} fields"


def _keys(ground: Ground) -> str:
    """A timer's key is in no placeholder; in the body of another's call it cannot be."""
    found = []
    for number, key in enumerate(KEYS):
        received = called(ground, f"{key}{number}", body='{"id": "{{timerId}}"}')
        found.append(json.dumps(sorted(json.loads(received.body))))
    return summed(found)


def _twice(ground: Ground) -> str:
    """What a placeholder wrote is not read for placeholders again."""
    received = called(ground, "twice {{app}}", body="{{{{app}}}}", templates=False)
    return received.body.decode()


def _others(ground: Ground) -> str:
    """The app of another, by a header of the request and by a named target of the same name."""
    body = {"url": f"{ground.target.url}plain", "method": "POST", "templates": True, "body": "{{app}}"}
    ground.done("PUT", "/v1/targets/templated", ground.bank, body)
    ground.done("PUT", "/v1/targets/templated", ground.shop, body | {"body": "of the shop"})
    made = ground.done(
        "POST",
        "/v1/timers",
        ground.bank,
        {"schedule": {"delay": "0s"}, "target": {"name": "templated"}},
    )
    ground.outcome(int(made["id"]))
    (received,) = ground.target.calls_of(int(made["id"]))
    return received.body.decode()


def _too_many(ground: Ground) -> str:
    within = asked(ground, body="{{app}}" * MOST_PLACEHOLDERS)
    over = asked(ground, body="{{app}}" * (MOST_PLACEHOLDERS + 1))
    return f"{within}, {over}"


def _too_many_together(ground: Ground) -> str:
    """The timer and its target have as many as they may, each."""
    many = "{{app}}" * MOST_PLACEHOLDERS
    target = {
        "url": f"{ground.target.url}plain",
        "method": "POST",
        "templates": True,
        "headers": {"X-Many": many},
    }
    ground.done("PUT", "/v1/targets/many", ground.bank, target)
    timer = {"schedule": {"delay": "0s"}, "target": {"name": "many", "body": many}}
    answer = ground.ask("POST", "/v1/timers", ground.bank, timer)
    if answer.status != 201:
        return str(answer)
    outcome = ground.outcome(int(answer.json["id"]))
    return f"{outcome.status}: {outcome.error}"


def _long(ground: Ground) -> str:
    """Braces without end, which a pattern could look through again and again."""
    bodies = ("{" * 60_000, "{{" + " " * 60_000, "{{ a" * 15_000, "}}" * 30_000)
    began_at = time.monotonic()
    said = [asked(ground, body=one) for one in bodies]
    took = "soon" if time.monotonic() - began_at < 5 else "late"
    return f"{summed(said)}, {took}"


SECTION = Section(
    "Placeholders in calls",
    ("API3", "API6", "API8", "API10"),
    "An app with `templates` has placeholders filled in. They are names of a fixed list: nothing is carried out, "
    "nothing of others can be read, and what is filled in stays in its place.",
    (
        Attack(
            "Expressions of template languages, and names that are none", "400 40007 of each", _expressions
        ),
        Attack("What other languages would carry out, in a body", "as they are", _plain),
        Attack(
            "A placeholder in the host, port, path, fragment, method, and a header's name",
            "400 40007 of 2, 400 40009 of 4",
            _elsewhere,
        ),
        Attack(
            "All placeholders in the query, a header and a JSON body",
            "2 parameters, 1 header, 2 fields",
            _in_each_place,
        ),
        Attack("Keys of timers that would end a string, in calls with placeholders", '["id"] of each', _keys),
        Attack("Placeholders where they were not asked for", "{{{{app}}}}", _twice),
        Attack("A named target that the shop has too", "bank", _others),
        Attack("100 placeholders, and 101", "201, 400 40007", _too_many),
        Attack(
            "100 of the timer and 100 of its target",
            "failed: its call has more than 100 placeholders",
            _too_many_together,
        ),
        Attack("60,000 braces in a body, four ways", "201 of 1, 400 40007 of 3, soon", _long),
    ),
)
