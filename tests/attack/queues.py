"""Messages to brokers: only where an operator let the app write, never to our own servers, and no password seen."""

import json
from contextlib import closing
from functools import cache

from sqlalchemy import text

from tests.attack.answer import summed
from tests.attack.attack import Attack, Section
from tests.attack.ground import BANK, QUEUES_PASSWORD, Ground, Outcome

NAME = "queued"
# What a client of Redis or AMQP would send along if it wrote names as they are.
HOSTILE_NAMES = ("bank:a\r\nDEL shop:work\r\n", "bank:a\0", "bank:\u2028a\n", " bank:a", "BANK:a")


def put(ground: Ground, body: object, key: str = "", name: str = NAME) -> str:
    answer = ground.ask("PUT", f"/v1/targets/{name}", key or ground.bank, body)
    return "made" if answer.status == 201 else str(answer)


def queue(broker: str, name: str, kind: str = "list", **more: object) -> dict[str, object]:
    return {"queue": {"broker": broker, kind: name, **more}}


def names_of(ground: Ground) -> list[str]:
    """Return what the brokers' Redis has."""
    with closing(ground.queues.watcher()) as client:
        return sorted(client.keys())


def fired(ground: Ground, target: str, key: str = "", **part: object) -> Outcome:
    """Have a timer fire that names a target; return what is on record."""
    body = {"schedule": {"delay": "0s"}, "target": {"name": target, **part}}
    timer = int(ground.done("POST", "/v1/timers", key or ground.bank, body)["id"])
    return ground.outcome(timer)


def _given_url(ground: Ground) -> str:
    url = ground.queues.url_of("sender", QUEUES_PASSWORD)
    bodies: list[object] = [
        {"url": url},
        {"url": "amqp://127.0.0.1:5672//"},
        {"url": "queue://queues/list?name=bank:a"},
        queue(url, "bank:a"),
        {"queue": {"broker": "queues", "url": url, "list": "bank:a"}},
        {"celery": {"broker": url, "queue": "bank.tasks"}},
    ]
    return summed([put(ground, one).partition(" ")[0] for one in bodies])


def _of_others(ground: Ground) -> str:
    bodies: list[object] = [
        queue("shops", "bank:a"),
        queue("queues", "shop:work"),
        queue("queues", "shop:events", "stream"),
        {"celery": {"broker": "queues", "queue": "shop.tasks"}},
    ]
    return summed([put(ground, one) for one in bodies])


def _is_told_apart(ground: Ground) -> str:
    """The answer to a broker of the shop, beside that to one which nobody has."""
    said = [
        ground.ask("PUT", f"/v1/targets/{NAME}", ground.bank, queue(name, "bank:a"))
        for name in ("shops", "nobod")
    ]
    alike = said[0].text.replace("shops", "nobod") == said[1].text
    return f"{summed([str(one) for one in said])}; " + ("alike" if alike else "not alike")


def _hostile_names(ground: Ground) -> str:
    """What is made all the same is one key of the broker's Redis, whatever stands in it."""
    before = set(names_of(ground))
    made = []
    for number, name in enumerate(HOSTILE_NAMES):
        if put(ground, queue("queues", name), name=f"{NAME}-{number}") == "made":
            fired(ground, f"{NAME}-{number}", body="x")
            made.append(name)
    new = set(names_of(ground)) - before
    strange = [one for one in new if one not in made]
    return f"{len(strange)} lists of other names"


def _tasks(ground: Ground) -> str:
    assert put(ground, {"celery": {"broker": "queues", "queue": "bank.tasks"}}, name="tasks") == "made"
    said = []
    for celery in (
        {"task": "shop.tasks.pay"},
        {"task": "celery.chord_unlock"},
        {"task": "bank.tasks.a", "queue": "shop.tasks"},
    ):
        body = {"schedule": {"delay": "0s"}, "target": {"name": "tasks", "celery": celery}}
        said.append(str(ground.ask("POST", "/v1/timers", ground.bank, body)))
    return summed(said)


def _celery_headers(ground: Ground) -> str:
    """Headers that a worker of Celery believes: another task, a place for its result, a time limit."""
    headers = {
        "task": "shop.tasks.pay",
        "id": "1",
        "reply_to": "shop.tasks",
        "timelimit": "1",
        "root_id": "1",
    }
    body = {
        "schedule": {"delay": "0s"},
        "target": {"name": "tasks", "celery": {"task": "bank.tasks.a"}, "headers": headers},
    }
    answer = ground.ask("POST", "/v1/timers", ground.bank, body)
    if answer.status != 201:
        return str(answer)
    ground.outcome(int(answer.json["id"]))
    with closing(ground.queues.watcher()) as client:
        message = json.loads(client.lindex("bank.tasks", 0))
    return f"a worker is told to run {message['headers']['task']}"


def _inside(ground: Ground) -> str:
    """The operator named our own store by mistake, and let the bank write any list of it."""
    assert put(ground, queue("inside", "wangtimer:attacked"), name="inside") == "made"
    outcome = fired(ground, "inside", body="x")
    with closing(ground.deployment.store.watcher()) as client:
        written = client.exists("wangtimer:attacked")
    return f"{'not sent' if outcome.is_unsent else outcome}; {written} lists in the store"


def _planted(ground: Ground) -> str:
    """A place that the API refuses is written into SQL, so that a callback process must refuse it too."""
    assert put(ground, queue("queues", "bank:mine"), name="planted") == "made"
    with ground.sql.begin() as sql:
        where = "WHERE app = :app AND name = 'planted'"
        content = sql.execute(text(f"SELECT content FROM target {where}"), {"app": BANK}).scalar_one()
        changed = content.replace("bank:mine", "shop:work").replace("bank%3Amine", "shop%3Awork")
        assert changed != content
        sql.execute(text(f"UPDATE target SET content = :content {where}"), {"app": BANK, "content": changed})
    with closing(ground.deployment.store.watcher()) as client:
        # Executors read the copies in Redis first.
        dropped = sum(client.hdel(key, f"{BANK}\nplanted") for key in client.scan_iter(_type="hash"))
    assert dropped == 1
    outcome = fired(ground, "planted", body="x")
    # The error ends with the place.
    return (
        f"{outcome.error.partition(': list')[0]}; in the shop's list: {names_of(ground).count('shop:work')}"
    )


@cache
def shown(ground: Ground) -> tuple[str, ...]:
    """Return all that is answered of a target whose broker has a password, to its app and to operators."""
    assert put(ground, queue("queues", "bank:shown"), name="shown") == "made"
    assert fired(ground, "shown", body="x").status == "succeeded"
    answers = [
        ground.ask("GET", path, ground.bank)
        for path in ("/v1/targets", "/v1/targets/shown", "/v1/timers", "/v1/firings", "/v1/failing-hosts")
    ]
    answers += [ground.ask("GET", f"/v1/audit?app={BANK}", ground.operator)]
    assert all(one.status == 200 for one in answers), summed([str(one) for one in answers])
    return tuple(one.text for one in answers)


def _seen(ground: Ground) -> str:
    port = str(ground.queues.port)
    return f"seen in {sum(QUEUES_PASSWORD in one or port in one for one in shown(ground))}"


SECTION = Section(
    "Message brokers",
    ("API1", "API3", "API5", "API7"),
    "An operator named a Redis as a broker, and let each app write lists, streams and queues of its own. A second name "
    "of it is for the shop alone. A third leads to our own store, by mistake.",
    (
        Attack("A URL of a broker that the app gives itself, six ways", "400 of each", _given_url),
        Attack("The shop's broker, list, stream and Celery queue", "400 40009 of each", _of_others),
        Attack("Whether there is a broker of another app", "400 40009 of each; alike", _is_told_apart),
        Attack(
            "Names with line ends, NUL, spaces and capital letters", "0 lists of other names", _hostile_names
        ),
        Attack("The shop's task, one of Celery itself, and the shop's queue", "400 40007 of each", _tasks),
        Attack(
            "Headers that Celery's workers believe", "a worker is told to run bank.tasks.a", _celery_headers
        ),
        Attack("A broker's name that leads to our own store", "not sent; 0 lists in the store", _inside),
        Attack(
            "The shop's list, written into SQL past the API",
            "not sent: the operator has not allowed this app to send there; in the shop's list: 0",
            _planted,
        ),
        Attack("The broker's password and port, in all answers", "seen in 0", _seen),
    ),
)
