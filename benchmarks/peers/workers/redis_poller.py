"""The one process that polls the sorted set."""

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import redis

from benchmarks.due import Due
from benchmarks.peers.http_call import CALLERS
from benchmarks.peers.parts import say_ready
from benchmarks.peers.redis_polling import KEY

POLL_S = 1.0
_BATCH = 1_000


def claim_one_by_one(client: redis.Redis, members: Sequence[bytes]) -> Iterable[bytes]:
    """Yield each member that this process removed."""
    return (member for member in members if client.zrem(KEY, member))


def claim_in_pipeline(client: redis.Redis, members: Sequence[bytes]) -> Iterable[bytes]:
    """Return the members that this process removed, in a few round trips."""
    claimed: list[bytes] = []
    for first in range(0, len(members), _BATCH):
        batch = members[first : first + _BATCH]
        with client.pipeline(transaction=False) as pipeline:
            for member in batch:
                pipeline.zrem(KEY, member)
            claimed += [member for member, removed in zip(batch, pipeline.execute(), strict=True) if removed]
    return claimed


def seconds_to_next(client: redis.Redis) -> float:
    """Return how long until the first member is due, at most one poll."""
    first = cast(list[tuple[bytes, float]], client.zrange(KEY, 0, 0, withscores=True))
    return min(POLL_S, max(0.0, first[0][1] / 1_000 - time.time())) if first else POLL_S


CLAIMS = {"one": claim_one_by_one, "pipeline": claim_in_pipeline}


def poll(client: redis.Redis, call: Callable[[bytes], object], claim: str, sleep: str) -> None:
    """Call due members, for ever."""
    while True:
        began_at = time.monotonic()
        members = cast(list[bytes], client.zrangebyscore(KEY, "-inf", int(time.time() * 1_000)))
        for member in CLAIMS[claim](client, members):
            call(member)
        if sleep == "next":
            time.sleep(seconds_to_next(client))
        else:
            time.sleep(max(0.0, began_at + POLL_S - time.monotonic()))


def main() -> None:
    """Work as the one process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("redis_url")
    parser.add_argument("target_url")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--client", choices=CALLERS)
    parser.add_argument("--claim", choices=CLAIMS)
    parser.add_argument("--sleep", choices=("second", "next"))
    chosen = parser.parse_args()
    caller = CALLERS[chosen.client](chosen.target_url)

    def call(member: bytes) -> None:
        id_, at_ms = member.split(b":")
        caller(Due(int(id_), int(at_ms)))

    client = redis.Redis.from_url(chosen.redis_url)
    say_ready()
    if chosen.threads == 1:
        poll(client, call, chosen.claim, chosen.sleep)
    with ThreadPoolExecutor(chosen.threads) as pool:
        poll(client, lambda member: pool.submit(call, member), chosen.claim, chosen.sleep)


if __name__ == "__main__":
    main()
