"""The check-ups of what processes run on: variables, SQL, Redis, the broker with its workers, clocks."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from celery import Celery
from kombu.exceptions import OperationalError
from redis import Redis
from redis.exceptions import NoPermissionError, ResponseError
from sqlalchemy import Connection, text

from wangtimer.base.broker import ANSWER_WITHIN_S, Broker, redis_url
from wangtimer.base.settings import Settings, unknown_variables
from wangtimer.base.shown_url import shown_url
from wangtimer.cli.doctor.findings import Finding, Part
from wangtimer.client.api_key import is_loopback
from wangtimer.core.errors import StoreAway
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.sql.database import Database, missing_file
from wangtimer.store.sql.upgrade import lacks

VARIABLES = Part("settings")
SQL = Part("sql")
# The oldest supported versions; docs/how-to/deploy-with-systemd.md says which of them were tried.
OLDEST_SQL = {"MariaDB": (10, 11), "MySQL": (8, 0)}
UPGRADE = "wangtimer schema upgrade --apply"

OLDEST_REDIS, OLDEST_VALKEY = 7, 7
NEARLY_FULL = 0.9
# Room for definitions: 200,000 timers that are near, at 400 bytes each.
DEFINITIONS_MB = 80

Info = Mapping[str, Any]

BROKER = Part("broker")
BROKER_URL = "WANGTIMER_BROKER_URL"
BEAT = "beat@"

CLOCKS = Part("clocks")
# A wrong clock makes nothing fire early or twice. But people, and the moments they write, follow other clocks.
WARN_MS, WRONG_MS = 500.0, 5_000.0
SAMPLES = 5


def check_variables() -> Iterator[Finding]:
    """Yield a warning for each variable that looks like a setting but is not one of this version."""
    for name in unknown_variables():
        mend = "remove it, or use one that wangtimer settings lists; a setting of a newer version is ignored here"
        yield VARIABLES.warning(f"{name} is not a setting of this version", mend)


def check_bind(http_bind: str) -> Iterator[Finding]:
    """Yield a warning for each address of the API that other machines can reach, perhaps without a proxy."""
    for address in map(str.strip, http_bind.split(",")):
        if address.startswith(("unix:", "fd://")) or is_loopback(address.rpartition(":")[0].strip("[]")):
            continue
        mend = "put a proxy in front that reads requests whole; see docs/how-to/secure.md"
        yield VARIABLES.warning(f"WANGTIMER_HTTP_BIND is {address}: slow clients hold its threads", mend)


def check_secret_keys(settings: Settings) -> Iterator[Finding]:
    """Yield a warning where no timer with a secret can be stored."""
    if not settings.secret_key_ring:
        mend = "set WANGTIMER_SECRET_KEYS_FILE, then run wangtimer secrets rotate; see docs/how-to/secure.md"
        found = "there is no key for secrets: timers with secrets are refused, signing secrets not encrypted"
        yield VARIABLES.warning(found, mend)


def check_database(settings: Settings) -> Iterator[Finding]:
    """Yield which database is checked, and a warning where none is set."""
    file = settings.unset_database
    if file is None:
        yield SQL.ok(f"looked at {shown_url(settings.database_url)}")
        return
    said = f"SQLite at {file}: one machine only; WANGTIMER_DATABASE_URL is not set"
    yield SQL.warning(said, "set it as for the workers; do nothing if one machine is intended")


def check_sql(url: str) -> Iterator[Finding]:
    """Yield the findings; the database is only read."""
    file = missing_file(url)
    if file is not None:
        yield SQL.warning(f"there is no file {file} yet", "nothing: the service makes it when it starts")
        return
    try:
        database = Database(url, pool_size=1)
    except ImportError as missing:
        yield SQL.error(f"the driver is missing: {missing}", "in a checkout: pip install '.[mysql]'")
        return
    try:
        yield from database.read(lambda sql: [*_sql_server(sql), *_schema(sql)])
    except StoreAway as away:
        yield SQL.error(str(away), "look at WANGTIMER_DATABASE_URL, the server, and the network between")
    finally:
        database.close()


def _sql_server(sql: Connection) -> Iterator[Finding]:
    if sql.dialect.name == "sqlite":
        version = sql.execute(text("SELECT sqlite_version()")).scalar_one()
        yield SQL.ok(f"SQLite {version} answers")
        return
    version = str(sql.execute(text("SELECT VERSION()")).scalar_one())
    kind = "MariaDB" if "mariadb" in version.lower() else "MySQL"
    yield _sql_version(kind, version)
    isolation = sql.get_isolation_level()
    if isolation == "READ COMMITTED":
        yield SQL.ok(f"transactions are {isolation}")
    else:
        yield SQL.error(
            f"transactions are {isolation}", "let the account choose READ COMMITTED for its sessions"
        )
    yield from _variables(sql)


def _sql_version(kind: str, version: str) -> Finding:
    found = re.match(r"(\d+)\.(\d+)", version)
    oldest = OLDEST_SQL[kind]
    if found is None or (int(found[1]), int(found[2])) < oldest:
        wanted = ".".join(map(str, oldest))
        return SQL.warning(
            f"{kind} {version} answers", f"update it: {kind} {wanted} is the oldest that is meant to do"
        )
    return SQL.ok(f"{kind} {version} answers")


def _variables(sql: Connection) -> Iterator[Finding]:
    is_read_only, flushes = sql.execute(
        text("SELECT @@GLOBAL.read_only, @@GLOBAL.innodb_flush_log_at_trx_commit")
    ).one()
    # MariaDB 11 and later answer in words.
    if str(is_read_only) not in ("0", "OFF"):
        yield SQL.error(
            "the server takes no writes (read_only)", "point WANGTIMER_DATABASE_URL at the primary"
        )
    if int(flushes) != 1:
        yield SQL.warning(
            f"innodb_flush_log_at_trx_commit is {flushes}: a crash of the server loses what it had confirmed",
            "set it to 1",
        )


def _schema(sql: Connection) -> Iterator[Finding]:
    found = lacks(sql)
    for lack in found:
        if lack.statement is None:
            yield SQL.error(
                f"the schema lacks {lack.what}", "compare it with schema.sql, and alter it by hand"
            )
        else:
            yield SQL.error(
                f"the schema lacks {lack.what}", f"{UPGRADE}, or run: {lack.statement.expandtabs(4)};"
            )
    if not found:
        yield SQL.ok("the schema has every table, column and index")


def check_redis(url: str, part: Part, setting: str, planned_mb: int = 0) -> Iterator[Finding]:
    """Yield findings about the Redis of `setting`, only by reading. `planned_mb`: its bound, beside definitions."""
    connection = RedisConnection(url)
    try:
        info: Info = connection.command(lambda client: client.info())
        yield from _judge_redis(info, connection.command(_save_points), part, setting)
        yield from _planned(info, planned_mb, part)
    except StoreAway as away:
        yield part.error(str(away), f"look at {setting}, the server, and the network between")
    except NoPermissionError:
        yield part.warning(
            "it answers, but this account may not ask it for INFO",
            f"allow INFO, or give {setting} another one",
        )
    finally:
        connection.close()


def _save_points(client: "Redis") -> str | None:
    """Return when it saves snapshots; None where it does not allow the question."""
    try:
        found = client.config_get("save")
    except (NoPermissionError, ResponseError):
        return None
    return str(found.get("save", ""))


def _judge_redis(info: Info, save_points: str | None, part: Part, setting: str) -> Iterator[Finding]:
    yield _redis_version(info, part)
    if info.get("role") not in (None, "master"):
        yield part.error("it is a replica and takes no writes", f"point {setting} at the primary")
    yield _policy(info, part)
    yield from _memory(info, part)
    yield from _persistence(info, save_points, part)


def _redis_version(info: Info, part: Part) -> Finding:
    is_valkey = info.get("server_name") == "valkey" or "valkey_version" in info
    name, oldest = ("Valkey", OLDEST_VALKEY) if is_valkey else ("Redis", OLDEST_REDIS)
    version = str(info.get("valkey_version") or info.get("redis_version", "?"))
    major = version.partition(".")[0]
    if not major.isdecimal() or int(major) < oldest:
        return part.error(
            f"{name} {version} answers", f"update it: {name} {oldest} is the oldest that will do"
        )
    return part.ok(f"{name} {version} answers")


def _policy(info: Info, part: Part) -> Finding:
    policy = info.get("maxmemory_policy")
    if policy == "noeviction":
        return part.ok("maxmemory-policy is noeviction")
    if policy is None:
        return part.warning("it does not tell its maxmemory-policy", "make sure that it is noeviction")
    return part.error(
        f"maxmemory-policy is {policy}: when memory is short it silently drops firings",
        "CONFIG SET maxmemory-policy noeviction, and the same in its configuration file",
    )


def _memory(info: Info, part: Part) -> Iterator[Finding]:
    most, used = int(info.get("maxmemory", 0)), int(info.get("used_memory", 0))
    if most and used > NEARLY_FULL * most:
        yield part.warning(f"{used * 100 // most} % of its maxmemory is used", "give it more memory")
    if int(info.get("evicted_keys", 0)):
        yield part.warning(
            f"it has evicted {info['evicted_keys']} keys since it started",
            "give it a maxmemory-policy of noeviction, and memory of its own",
        )


def _planned(info: Info, planned_mb: int, part: Part) -> Iterator[Finding]:
    """Compare what it may use with what settings let it take."""
    most_mb = int(info.get("maxmemory", 0)) // 1_000_000
    machine_mb = int(info.get("total_system_memory", 0)) // 1_000_000
    used_mb = int(info.get("used_memory", 0)) // 1_000_000
    if not planned_mb:
        return
    words = f"the window, lanes, outcomes and consumers may take {planned_mb:,} MB, and it uses {used_mb:,} MB now"
    room_mb, of_what = (most_mb, "its maxmemory") if most_mb else (machine_mb, "the memory of its machine")
    if room_mb and room_mb < planned_mb + DEFINITIONS_MB:
        yield part.warning(
            f"{words}; {of_what} is {room_mb:,} MB",
            f"give it {planned_mb + DEFINITIONS_MB:,} MB and more for definitions (docs/how-to/scale.md), or lower the "
            "settings",
        )
    else:
        yield part.ok(words)


def _persistence(info: Info, save_points: str | None, part: Part) -> Iterator[Finding]:
    if info.get("aof_last_write_status", "ok") != "ok" or info.get("rdb_last_bgsave_status", "ok") != "ok":
        yield part.error("its last write to disk failed", "look at its log and its disk")
    if int(info.get("aof_enabled", 0)):
        yield part.ok("it persists (appendonly)")
    elif save_points:
        yield part.ok(f"it persists by snapshots (save {save_points})")
    elif save_points is not None:
        yield part.ok("it persists nothing, which is enough: what it loses is loaded again from SQL")


def check_broker(settings: Settings, app: Celery) -> Iterator[Finding]:
    """Yield the findings. Workers are pinged; nothing is sent to their queues."""
    try:
        Broker(app).ping()
    except StoreAway as away:
        yield BROKER.error(str(away), f"look at {BROKER_URL}, the server, and the network between")
        return
    url = redis_url(settings.broker_url)
    if url is not None:
        yield from check_redis(url, BROKER, BROKER_URL)
    else:
        yield BROKER.ok("it answers")
    if url == settings.store_url:
        yield BROKER.warning(
            "broker and store are one Redis database",
            "give the broker its own database, so it can be flushed and moved alone",
        )
    try:
        yield from _workers(settings, app)
    except (OperationalError, OSError) as gone:
        yield BROKER.error(f"workers could not be asked: {gone}", f"look at {BROKER_URL}")


def _workers(settings: Settings, app: Celery) -> Iterator[Finding]:
    workers_at = app.control.inspect(timeout=ANSWER_WITHIN_S)
    by_worker = workers_at.active_queues() or {}
    for queue in (task_queue.name for task_queue in app.conf.task_queues):
        workers = sorted(name for name, taken in by_worker.items() if queue in _names(taken))
        if workers:
            yield BROKER.ok(f"queue {queue}: {', '.join(workers)}")
        else:
            yield BROKER.error(
                f"queue {queue} has no worker",
                f"start one: celery -A wangtimer worker -Q {queue} (the Procfile has it in full)",
            )
    yield judge_beat(workers_at.ping() or {})
    own = settings.own_queues
    broker = Broker(app, own.message_queue_of)
    for number in range(len(own.names) + 1):
        waiting = broker.waiting_chunks(number)
        if waiting > settings.callback_queue_most:
            yield BROKER.warning(
                f"{waiting} chunks wait in queue {own.message_queue_of(number)}",
                "add callback processes, or look for a slow target",
            )


def _names(queues: list[dict[str, object]] | None) -> set[object]:
    return {queue.get("name") for queue in queues or ()}


def judge_beat(answered: Mapping[str, object]) -> Finding:
    """Return the finding about beat; `answered` has the processes that answered a ping, by node name."""
    beats = sorted(name for name in answered if name.startswith(BEAT))
    if beats:
        return BROKER.ok(f"beat: {', '.join(beats)}")
    return BROKER.error(
        "no beat answers: nothing is planned, scheduled or swept",
        "start it as the Procfile does, with --hostname beat@%h --enable-remote-control",
    )


def check_clocks(settings: Settings) -> Iterator[Finding]:
    """Yield how far the readable clocks are apart."""
    try:
        redis_ms = _redis_offset_ms(settings.store_url)
    except StoreAway:
        return
    yield judge_clock("this host", -redis_ms)
    if settings.database_url.startswith("sqlite"):
        return
    try:
        yield judge_clock("SQL", _sql_offset_ms(settings.database_url) - redis_ms)
    except (StoreAway, ImportError):
        return


def judge_clock(whose: str, ahead_ms: float) -> Finding:
    """Return the finding for a clock that is so far ahead of Redis' (ms, negative: behind)."""
    where = "ahead of" if ahead_ms >= 0 else "behind"
    said = f"the clock of {whose} is {abs(ahead_ms):.0f} ms {where} Redis'"
    mend = "set both by NTP (chrony); firings follow Redis' clock"
    if abs(ahead_ms) >= WRONG_MS:
        return CLOCKS.error(said, mend)
    return CLOCKS.warning(said, mend) if abs(ahead_ms) >= WARN_MS else CLOCKS.ok(said)


def _redis_offset_ms(url: str) -> float:
    connection = RedisConnection(url)
    try:
        return _offset_ms(lambda: _ms_of(*connection.command(lambda client: client.time())))
    finally:
        connection.close()


def _sql_offset_ms(url: str) -> float:
    database = Database(url, pool_size=1)
    # Not by the session's own zone: an hour that its clocks show twice would be read as the first.
    now = text("SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) / 1000")
    try:
        return _offset_ms(lambda: float(database.read(lambda sql: sql.execute(now).scalar_one())))
    finally:
        database.close()


def _ms_of(seconds: int, microseconds: int) -> float:
    return seconds * 1_000 + microseconds / 1_000


def _offset_ms(read_ms: Callable[[], float]) -> float:
    """Return a server's clock minus this host's at the middle of the quickest call."""
    samples = []
    for _ in range(SAMPLES):
        began = time.time()
        read = read_ms()
        ended = time.time()
        samples.append((ended - began, read - (began + ended) * 500))
    return min(samples)[1]
