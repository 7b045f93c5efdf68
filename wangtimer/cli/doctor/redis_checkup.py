"""The check-up of a Redis: reachable, new enough, a primary, never evicting."""

from collections.abc import Iterator, Mapping
from typing import Any

from redis import Redis
from redis.exceptions import NoPermissionError, ResponseError

from wangtimer.cli.doctor.findings import Finding, Part
from wangtimer.core.errors import StoreAway
from wangtimer.store.redis.connection import RedisConnection

OLDEST_REDIS, OLDEST_VALKEY = 7, 7
NEARLY_FULL = 0.9
# Room for definitions: 200,000 timers that are near, at 400 bytes each.
DEFINITIONS_MB = 80

Info = Mapping[str, Any]


def check_redis(url: str, part: Part, setting: str, planned_mb: int = 0) -> Iterator[Finding]:
    """Yield the findings about the Redis at the URL of `setting`; nothing is written.

    `planned_mb` is what settings let it take, beside definitions.
    """
    connection = RedisConnection(url)
    try:
        info: Info = connection.command(lambda client: client.info())
        yield from _judged(info, connection.command(_save_points), part, setting)
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


def _judged(info: Info, save_points: str | None, part: Part, setting: str) -> Iterator[Finding]:
    yield _version(info, part)
    if info.get("role") not in (None, "master"):
        yield part.error("it is a replica and takes no writes", f"point {setting} at the primary")
    yield _policy(info, part)
    yield from _memory(info, part)
    yield from _persistence(info, save_points, part)


def _version(info: Info, part: Part) -> Finding:
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
