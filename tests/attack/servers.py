"""Who took over one process, or reaches the broker: accounts in SQL and Redis, messages, remote commands."""

import os
import time
from collections.abc import Callable
from contextlib import closing

import MySQLdb
import redis
from celery import Celery

from tests.attack.answer import summed
from tests.attack.attack import Attack, Section
from tests.attack.ground import Ground
from tests.stack.test_accounts import (
    FORBIDDEN_IN_REDIS,
    FORBIDDEN_IN_SQL,
    OF_THE_BROKER,
    QUEUES,
    ROLES,
    SENDS_TO,
)
from tests.test_remote_commands import ACTING
from wangtimer.base.broker import Broker
from wangtimer.core.flow.firing import Chunk, DueMember, Member
from wangtimer.core.flow.slicing import Slice
from wangtimer.stack.ports import HOST

# A worker that was told to stop would have ended by then.
STOPS_WITHIN_S = 1.0
WORKERS = ("scheduler", "migrate", "trigger", "callback")
IN_THE_STORE = ("FLUSHALL", "FLUSHDB", "KEYS *", "CONFIG GET *", "CONFIG SET dir /tmp", "MONITOR", "ACL LIST", "SAVE",
                "SHUTDOWN NOSAVE", "REPLICAOF 192.0.2.1 6379", "MODULE LIST", "CLIENT LIST",
                "SLOWLOG GET", "SCRIPT FLUSH", "GET wangtimer-no-such-key")  # fmt: skip


def client_of(ground: Ground, server: str, role: str) -> "redis.Redis":
    password = ground.deployment.passwords[f"REDIS_{role.upper()}_PASSWORD"]
    return redis.Redis.from_url(getattr(ground.deployment, server).url_of(role, password), socket_timeout=5)


def refused(client: "redis.Redis", commands: tuple[str, ...]) -> str:
    """Return how many of the commands the account is refused; names those that it may send."""
    allowed = []
    for command in commands:
        try:
            client.execute_command(*command.split(" "))
            allowed.append(command)
        except redis.exceptions.NoPermissionError:
            continue
        except redis.exceptions.RedisError as error:
            allowed.append(f"{command} ({error})")
    return ", ".join(allowed) or f"{len(commands)} commands are refused"


def commands_refused(tried: str, server: str, role: str, commands: tuple[str, ...]) -> Attack:
    def carry_out(ground: Ground) -> str:
        with closing(client_of(ground, server, role)) as client:
            return refused(client, commands)

    return Attack(f"The account of `{role}` {tried}", f"{len(commands)} commands are refused", carry_out)


def in_redis(server: str, role: str, commands: tuple[str, ...]) -> Attack:
    tried = f"in the {server}: commands that destroy, read or reconfigure"
    return commands_refused(tried, server, role, commands)


def written_by(role: str) -> Attack:
    """Return an attack that writes to the queues which are not the role's to write to."""
    own = {queue for queue, taker in QUEUES.items() if taker == role} | set(SENDS_TO[role])
    others = sorted(QUEUES.keys() - own)
    tried = f"writes to queues that are not its own to write to: {', '.join(others)}"
    return commands_refused(tried, "broker", role, tuple(f"LPUSH {queue} x" for queue in others))


def taken_by(role: str) -> Attack:
    others = sorted(queue for queue, taker in QUEUES.items() if taker != role)
    tried = "takes messages from queues of others"
    return commands_refused(tried, "broker", role, tuple(f"BRPOP {queue} 1" for queue in others))


def strangers(server: str) -> Attack:
    """Return an attack by nobody: no password, an empty one, guessed ones, another role's, that of the other server."""

    def carry_out(ground: Ground) -> str:
        redis_server = getattr(ground.deployment, server)
        web = ground.deployment.passwords["REDIS_WEB_PASSWORD"]
        told = []
        for role, password in (
            ("default", ""),
            ("default", "redis"),
            ("web", ""),
            ("web", "web"),
            ("trigger", web),
            ("root", web),
        ):
            with closing(
                redis.Redis.from_url(redis_server.url_of(role, password), socket_timeout=5)
            ) as client:
                try:
                    client.ping()
                    told.append(f"{role} IN")
                except redis.exceptions.RedisError:
                    told.append("refused")
        return summed(told)

    return Attack(
        f"The {server} without a password, and with wrong ones, six tries", "refused of each", carry_out
    )


def in_sql(statement: str) -> Attack:
    def carry_out(ground: Ground) -> str:
        password = ground.deployment.passwords["MYSQL_PASSWORD"]
        with closing(
            MySQLdb.connect(
                host=HOST,
                port=ground.deployment.sql.port,
                user="wangtimer",
                password=password,
                database="wangtimer",
            )
        ) as sql:
            try:
                sql.cursor().execute(statement)
            except MySQLdb.OperationalError as error:
                return "denied" if error.args[0] in DENIED else str(error)
        return "DONE"

    return Attack(f"The processes' account in SQL: `{statement}`", "denied", carry_out)


# Access denied: to a database, to a table, for want of a right; a trigger where a binary log is written.
DENIED = (1044, 1045, 1142, 1227, 1419, 1370)
MORE_SQL = (
    "SELECT LOAD_FILE('/etc/passwd') IS NOT NULL FROM mysql.global_priv",
    "SHOW GRANTS FOR wangtimer_schema@'%'",
    "CREATE USER more",
    "SET GLOBAL general_log = 1",
    "DROP DATABASE wangtimer",
    "LOAD DATA INFILE '/etc/passwd' INTO TABLE calendar",
    "CREATE TRIGGER t BEFORE INSERT ON timer FOR EACH ROW SET NEW.app = 'bank'",
)


def _sql_strangers(ground: Ground) -> str:
    told = []
    for user, password in (
        ("wangtimer", ""),
        ("wangtimer", "wangtimer"),
        ("wangtimer_schema", ""),
        ("anybody", ""),
    ):
        try:
            MySQLdb.connect(
                host=HOST, port=ground.deployment.sql.port, user=user, password=password, database="wangtimer"
            ).close()
            told.append(f"{user} IN")
        except MySQLdb.OperationalError:
            told.append("refused")
    return summed(told)


def celery_of(ground: Ground, role: str) -> Celery:
    """Celery, as who has this role's password can use it."""
    password = ground.deployment.passwords[f"REDIS_{role.upper()}_PASSWORD"]
    app = Celery(config_source="celeryconfig")
    app.conf.broker_url = ground.deployment.broker.url_of(role, password)
    return app


def commanded(command: str) -> Attack:
    """Return an attack that broadcasts a remote command of Celery which acts."""

    def carry_out(ground: Ground) -> str:
        before = {name: child.pid for name, child in ground.deployment.supervisor.children().items()}
        control = celery_of(ground, "web").control
        replies = control.broadcast(command, arguments={}, reply=True, timeout=10, limit=len(WORKERS)) or []
        told = [str(next(iter(one.values()))) for one in replies]
        is_unknown = all(one == str({"error": f"KeyError('{command}')"}) for one in told)
        after = {name: child.pid for name, child in ground.deployment.supervisor.children().items()}
        known = "unknown to each that answered" if is_unknown and told else f"{told}"
        return f"{known}; {'all processes run on' if before == after else 'PROCESSES ENDED'}"

    return Attack(
        f"The remote command `{command}` to all workers",
        "unknown to each that answered; all processes run on",
        carry_out,
    )


def _still_at_work(ground: Ground) -> str:
    """After all the commands, each worker does its work."""
    replies = celery_of(ground, "web").control.broadcast(
        "ping", reply=True, timeout=10, limit=len(WORKERS) + 1
    )
    pongs = {next(iter(one)).partition("@")[0] for one in replies}
    status = ground.status_of_a_firing("after commands")
    return f"{len(pongs & set(WORKERS))} workers answer a ping; a firing: {status}"


def _chunk_not_due(ground: Ground) -> str:
    """A message that names a firing which nobody has armed."""
    timer, _, moment = ground.things.ids["coming"].partition("-")
    member = Member(int(timer), int(moment), 1)
    chunk = Chunk(Slice.at(int(moment), 0), (DueMember(member, int(time.time() * 1_000)),))
    Broker(celery_of(ground, "web")).send_chunk(chunk)
    ground.tend(3)
    return f"{len(ground.target.calls_of(int(timer)))} calls"


class Pickled:
    """Makes a directory wherever it is unpickled."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return os.mkdir, (self._path,)


def _pickle(ground: Ground) -> str:
    made = ground.directory / "unpickled"
    app = celery_of(ground, "web")
    for queue in ("migrate", "callback"):
        app.send_task("wangtimer.sweep", args=(Pickled(str(made)),), queue=queue, serializer="pickle")
    ground.tend(2)
    status = ground.status_of_a_firing("after a pickle")
    return f"{'RUN' if made.exists() else 'not run'}; a firing: {status}"


def _garbage(ground: Ground) -> str:
    """What is no message, in the queue of callbacks."""
    app = celery_of(ground, "web")
    app.send_task("wangtimer.no_such_task", queue="callback")
    app.send_task("os.system", args=("true",), queue="migrate")
    app.send_task("wangtimer.callback", args=("nonsense", -1, {"a": None}), queue="callback")
    app.send_task("wangtimer.callback", kwargs={"a": "b" * 100_000}, queue="callback")
    ground.tend(2)
    return f"a firing: {ground.status_of_a_firing('after garbage')}"


def _environment(ground: Ground) -> str:
    """Passwords on command lines are shown to every account of a machine."""
    passwords = [one for name, one in ground.deployment.passwords.items() if "PASSWORD" in name]
    lines = []
    for child in ground.deployment.supervisor.children().values():
        with open(f"/proc/{child.pid}/cmdline", "rb") as line:
            lines.append(line.read().decode())
    return (
        f"{sum(one in line for one in passwords for line in lines)} passwords on {len(lines)} command lines"
    )


SECTION = Section(
    "Accounts, messages and remote commands",
    ("API5", "API8"),
    "What who took over one process, or reaches a server, can do with the accounts that `deploy/make-accounts` makes.",
    (
        *(in_redis("store", role, IN_THE_STORE) for role in ROLES if role not in ("beat", "flower")),
        *(in_redis("broker", role, FORBIDDEN_IN_REDIS) for role in OF_THE_BROKER),
        *map(written_by, OF_THE_BROKER),
        *map(taken_by, OF_THE_BROKER),
        *map(strangers, ("store", "broker")),
        *map(in_sql, (*FORBIDDEN_IN_SQL, *MORE_SQL)),
        Attack(
            "SQL without a password, and with guessed ones, four tries", "refused of each", _sql_strangers
        ),
        *map(commanded, sorted(ACTING)),
        Attack(
            "The workers after all these commands",
            "4 workers answer a ping; a firing: succeeded",
            _still_at_work,
        ),
        Attack("A message that names a firing of the shop which is not due", "0 calls", _chunk_not_due),
        Attack(
            "A pickled message that makes a directory where it is read",
            "not run; a firing: succeeded",
            _pickle,
        ),
        Attack("Messages of unknown tasks and of nonsense", "a firing: succeeded", _garbage),
        Attack("Passwords on the command lines of processes", "0 passwords on 8 command lines", _environment),
    ),
)
