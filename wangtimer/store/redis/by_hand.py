"""What an operator does to a Redis by hand: of all accounts of `deploy/redis` only `operator` may."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from wangtimer.store.redis.connection import RedisConnection

# Keys that one look goes through, and that one command deletes at most.
KEYS_AT_ONCE = 1_000
# As many refusals as Redis keeps by default (acllog-max-len).
MOST_REFUSALS = 128


@dataclass(frozen=True, slots=True)
class RefusedCommand:
    """Something that Redis refused to an account; `what` is a command, key or channel, `age_s` of the last time."""

    account: str
    what: str
    kind: str
    times: int
    age_s: float


def delete_all(connection: RedisConnection, prefix: str) -> int:
    """Delete each key of the deployment whose keys begin with `prefix:`; return how many. Raises `StoreAway`."""
    deleted, cursor = 0, 0
    while True:
        look = ("SCAN", cursor, "MATCH", f"{prefix}:*", "COUNT", KEYS_AT_ONCE)
        cursor, keys = connection.command(lambda client, look=look: client.execute_command(*look))  # type: ignore[misc]
        if keys:
            deleted += connection.command(lambda client, keys=keys: client.unlink(*keys))  # type: ignore[misc]
        if cursor == 0:
            return deleted


def refusals(connection: RedisConnection) -> Iterator[RefusedCommand]:
    """Yield what Redis refused by its ACL, the newest first. Raises `StoreAway`."""
    told: list[dict[str, Any]] = connection.command(lambda client: client.acl_log(MOST_REFUSALS))
    for refusal in told:
        yield RefusedCommand(
            str(refusal["username"]),
            str(refusal["object"]),
            str(refusal["reason"]),
            int(refusal["count"]),
            float(refusal["age-seconds"]),
        )
