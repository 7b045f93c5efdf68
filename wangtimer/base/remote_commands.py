"""The remote commands of Celery that a worker obeys: those that ask. Those that act are unknown to it.

Whoever reaches the broker can broadcast commands to all workers, without a password of their own. Celery has commands
that stop a worker, take its queue away or change its threads.
"""

from collections.abc import MutableMapping
from typing import Any

# What health checks, `celery inspect`, `wangtimer doctor` and Flower ask, by both of its names where it has two.
# A list of what stays: a command that a later Celery adds is unknown until somebody has read what it does.
# `hello` is no question: it takes in a list of revoked tasks. `objgraph`, `memsample` and `memdump` write files or
# take seconds.
ASKING = frozenset(
    {
        "active",
        "active_queues",
        "clock",
        "conf",
        "dump_active",
        "dump_conf",
        "dump_reserved",
        "dump_revoked",
        "dump_schedule",
        "dump_tasks",
        # Have a sign of life sent: Flower says so when it starts.
        "heartbeat",
        "ping",
        "query_task",
        "registered",
        "report",
        "reserved",
        "revoked",
        "scheduled",
        "stats",
    }
)


def forget_acting(*tables: MutableMapping[str, Any]) -> None:
    """Take every command that does more than ask out of these tables, which have commands by name."""
    for table in tables:
        for name in table.keys() - ASKING:
            del table[name]
