"""Secrets searched for in all that the deployment wrote and answered. The last section: it looks at all before it."""

import sys
from contextlib import closing
from functools import cache

import MySQLdb

from tests.attack.attack import Attack, Section
from tests.attack.ground import QUEUES_PASSWORD, Ground
from tests.attack.named_targets import SECRET, SECRET_ANEW
from tests.attack.signatures import calls
from tests.attack.ways_out import private_keys
from tests.callback.target import Target
from tests.e2e.canaries import CANARIES, MARKED, OPEN, PARTS, contents_of, everything_asked, refuse
from wangtimer.stack.ports import HOST

WHOSE = {"timer": "a timer", "target": "a named target", "consumers": "a firing for consumers"}
# Of all tables in which what was given may stand.
TABLES = (
    "timer, firing, attempt, audit, idempotency, api_key, signing, app, calendar, target, client_certificate, "
    "dead_letter, alert_rule, alert_note, alert, alert_message"
)


@cache
def answers(ground: Ground) -> list[str]:
    """Put canaries into all parts of timers that may hold a secret; return all that was answered."""
    # At the port of the attacks' target, which the rules of egress allow.
    ground.target.close()
    target = Target(refuse, None, (HOST, ground.target.port))
    try:
        headers = {"Authorization": f"Bearer {ground.operator}"}
        said = everything_asked(f"http://{ground.web}", target, **headers)
        ground.tend(3)
    finally:
        target.close()
    ground.done("PATCH", "/v1/apps/shop", ground.operator, {"disabled": True})
    return said


@cache
def files(ground: Ground) -> dict[str, bytes]:
    """Have each server write what it has in memory; return the contents of all files."""
    answers(ground)
    for server in (ground.deployment.store, ground.deployment.broker):
        with closing(server.watcher()) as client:
            client.save()
    with closing(
        MySQLdb.connect(host=HOST, port=ground.deployment.sql.port, user="root", database="wangtimer")
    ) as sql:
        sql.cursor().execute("FLUSH LOGS")
        # Pages of tables are on disk while this holds.
        sql.cursor().execute(f"FLUSH TABLES {TABLES} FOR EXPORT")
        return {
            name: content
            for name, content in contents_of(ground.directory / "deployment").items()
            # The passwords that `make-accounts` wrote for operators.
            if not name.startswith("accounts/")
        }


def in_files(ground: Ground, secret: str) -> str:
    found = [name for name, content in files(ground).items() if secret.encode() in content]
    return f"in {len(found)} files" if not found else f"in {', '.join(found)}"


def canary(name: str) -> Attack:
    words = {
        "header": "an Authorization header", "cookie": "a Cookie", "marked": "a header that is marked as secret",
        "query": "the query of a URL", "body": "a body that is marked as secret", "gone": "a timer that was deleted",
        "key": "a client certificate's key, as it is sent", "written-key": "a client certificate's key, as it is used",
    }  # fmt: skip
    words |= {
        f"{place}-{part}": f"{PARTS[part]} of {WHOSE[place]} that its target repeats"
        for place, part in MARKED
    }

    def carry_out(ground: Ground) -> str:
        said = sum(CANARIES[name] in one for one in answers(ground))
        return f"in {said} answers; {in_files(ground, CANARIES[name])}"

    return Attack(
        f"The secret of {words[name]}, in answers and in all files", "in 0 answers; in 0 files", carry_out
    )


def _open(ground: Ground) -> str:
    """What is no secret is found: so the search finds what is there."""
    found = [name for name, content in files(ground).items() if OPEN.encode() in content]
    places = {
        "SQL's tables": "sql/data/wangtimer/",
        "its binary log": "sql/data/binlog",
        "the store": "store/",
    }
    missing = [what for what, place in places.items() if not any(one.startswith(place) for one in found)]
    return f"in {', '.join(places)}" if not missing else f"not in {', '.join(missing)}"


def _api_keys(ground: Ground) -> str:
    secrets = [one.split("_")[2] for one in (ground.shop, ground.bank, ground.operator)]
    return ", ".join(sorted({in_files(ground, one) for one in secrets}))


def _signing(ground: Ground) -> str:
    have = calls(ground)
    secrets = [one.removeprefix("whsec_") for one in (have.shops_secret, have.banks_secret)]
    return ", ".join(sorted({in_files(ground, one) for one in secrets}))


def _named_targets(ground: Ground) -> str:
    """Of targets that were called, moved and deleted."""
    return ", ".join(sorted({in_files(ground, one) for one in (SECRET, SECRET_ANEW)}))


def _certificates(ground: Ground) -> str:
    """Of apps that showed theirs, and took it away."""
    lines = [line for one in private_keys(ground) for line in one.splitlines()[1:-1]]
    return ", ".join(sorted({in_files(ground, one[:36]) for one in lines}))


def _passwords(ground: Ground) -> str:
    """MariaDB writes the statements that make accounts into its binary log as they are; MySQL writes hashes."""
    passwords = [one for name, one in ground.deployment.passwords.items() if "PASSWORD" in name]
    others = {name: content for name, content in files(ground).items() if "/binlog." not in name}
    found = [name for name, content in others.items() if any(one.encode() in content for one in passwords)]
    return f"in {len(found)} files" if not found else f"in {', '.join(found)}"


def _logs(ground: Ground) -> str:
    """A worker logs stack traces of remote commands that it does not know; the API logs none for a request."""
    logs = {one.stem: one.read_bytes() for one in ground.deployment.logs()}
    secrets = [*CANARIES.values(), "wtk_", "whsec_", *ground.deployment.passwords.values(), QUEUES_PASSWORD]
    found = sum(one.encode() in log for one in secrets for log in logs.values())
    traces = logs["web"].split(b"Traceback")[1:]
    for trace in traces:
        print(trace[:4_000].decode(errors="replace"), file=sys.stderr)
    return f"{found} secrets in {len(logs)} logs; {len(traces)} stack traces of the API"


def _audit(ground: Ground) -> str:
    answers(ground)
    text = ground.ask("GET", "/v1/audit?limit=500", ground.operator).text
    return f"{sum(one in text for one in (*CANARIES.values(), 'wtk_', 'whsec_'))} secrets"


SECTION = Section(
    "Secrets at rest, in answers and in logs",
    ("API2", "API3", "API8"),
    "Secrets in all parts of timers, which were made, changed, called and deleted; keys, signing secrets, passwords. "
    "All files of MariaDB (tables, redo and binary logs), of both Redis (append-only files and snapshots) and all logs "
    "are searched, after all attacks above.",
    (
        Attack(
            "What is no secret, to show that the search finds",
            "in SQL's tables, its binary log, the store",
            _open,
        ),
        *map(canary, CANARIES),
        Attack("API keys, of which only hashes are stored", "in 0 files", _api_keys),
        Attack("Secrets that callbacks are signed with", "in 0 files", _signing),
        Attack("Secret headers of named targets", "in 0 files", _named_targets),
        Attack("Each line of client certificates' private keys", "in 0 files", _certificates),
        Attack(
            "Passwords of accounts, but in MariaDB's binary log, where they were made",
            "in 0 files",
            _passwords,
        ),
        Attack(
            "Secrets in the logs of all processes, and stack traces of the API",
            "0 secrets in 8 logs; 0 stack traces of the API",
            _logs,
        ),
        Attack("Secrets in the audit", "0 secrets", _audit),
    ),
)
