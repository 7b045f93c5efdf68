"""Alert rules: their messages go nowhere that calls may not go, and nobody reads a robot's key."""

import json
from functools import cache

import orjson
from sqlalchemy import text

from tests.attack.answer import summed
from tests.attack.attack import Attack, Section
from tests.attack.egress import own_servers
from tests.attack.ground import BANK, Ground
from wangtimer.callback.egress import REFUSED

KEY, SECRET = "robot-key-7c1f", "robot-secret-93ab"


def put(ground: Ground, name: str, url: str, kind: str = "webhook", **fields: str) -> str:
    body = {"events": ["missed"], "destination": {"kind": kind, "url": url, **fields}}
    answer = ground.ask("PUT", f"/v1/alert-rules/{name}", ground.bank, body)
    return "made" if answer.status == 201 else f"not made ({answer})"


def _inside(ground: Ground) -> str:
    urls = [
        f"http://127.0.0.1:{ground.inside.port}/",
        f"http://[::ffff:127.0.0.1]:{ground.inside.port}/",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        *own_servers(ground).values(),
    ]
    return summed([put(ground, "inside", url) for url in urls])


def _each_kind(ground: Ground) -> str:
    return summed(
        [put(ground, "inside", "http://10.0.0.1/", kind) for kind in ("dingtalk", "wecom", "feishu", "slack")]
    )


def _planted(ground: Ground) -> str:
    """A rule is written into SQL past the API, so that a callback process must refuse it too."""
    assert put(ground, "planted", f"{ground.target.url}told") == "made"
    connections, url = ground.inside.accepted, f"http://127.0.0.1:{ground.inside.port}/"
    content = {
        "events": ["missed"],
        "per": "timer",
        "kind": "webhook",
        "to": {"url": url, "secret": "", "to": []},
    }
    with ground.sql.begin() as sql:
        query = text("UPDATE alert_rule SET content = :content WHERE app = :app AND name = 'planted'")
        sql.execute(query, {"content": orjson.dumps(content).decode(), "app": BANK})
    found = ground.done("POST", "/v1/alert-rules/planted:test", ground.bank)
    is_refused = found["isTaken"] is False and REFUSED in found["error"]
    told = "not sent, by the rules of egress" if is_refused else json.dumps(found)
    return f"{told}; {ground.inside.accepted - connections} connections"


@cache
def shown(ground: Ground) -> tuple[str, ...]:
    """Return all that is answered of a robot, to its app and to operators."""
    url = f"{ground.target.url}robot?access_token={KEY}"
    assert put(ground, "robot", url, "dingtalk", secret=SECRET) == "made"
    key, operator = ground.bank, ground.operator
    answers = [
        ground.ask("GET", "/v1/alert-rules", key),
        ground.ask("GET", "/v1/alert-rules", operator, WangTimer_App=BANK),
        ground.ask("GET", "/v1/audit?kind=alert_rule", operator),
    ]
    return tuple(one.text for one in answers)


def _seen(ground: Ground) -> str:
    seen = [one for one in shown(ground) if KEY in one or SECRET in one]
    assert all(one for one in shown(ground))
    return f"seen in {len(seen)}"


def _in_sql(ground: Ground) -> str:
    shown(ground)
    with ground.sql.connect() as sql:
        (content,) = sql.execute(
            text("SELECT content FROM alert_rule WHERE app = :app AND name = 'robot'"), {"app": BANK}
        ).one()
    return "readable" if KEY in content or SECRET in content else "sealed"


def _kept_for_another(ground: Ground) -> str:
    """Whoever may change a rule has its secret sent to a host of theirs."""
    shown(ground)
    return put(ground, "robot", "http://evil.example/mine", "dingtalk", secret="***")


SECTION = Section(
    "Alert rules",
    ("API7",),
    "An app says where its alerts go: a URL of its own choice, or the robot of a chat, whose key stands in the URL.",
    (
        Attack(
            "rules that tell loopback, private addresses, a cloud's metadata and our own servers",
            "not made (400 40009) of each",
            _inside,
        ),
        Attack("the same as a robot of each chat", "not made (400 40009) of each", _each_kind),
        Attack(
            "the same, written into SQL past the API",
            "not sent, by the rules of egress; 0 connections",
            _planted,
        ),
        Attack("the key and the secret of a robot, in lists and in the audit", "seen in 0", _seen),
        Attack("the same, in SQL", "sealed", _in_sql),
        Attack(
            "`***` as the secret of a robot at another host",
            "not made (400 40007)",
            _kept_for_another,
        ),
    ),
)
