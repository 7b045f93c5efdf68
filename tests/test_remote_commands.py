"""A worker answers remote commands that ask, and knows none that acts."""

import subprocess
import sys

from celery.worker.control import Panel

from wangtimer.base.remote_commands import ASKING, forget_acting

# What Celery 5.7 does when it is told so from outside.
ACTING = {
    "add_consumer",
    "autoscale",
    "cancel_consumer",
    "disable_events",
    "election",
    "enable_events",
    "hello",
    "memdump",
    "memsample",
    "objgraph",
    "pool_grow",
    "pool_restart",
    "pool_shrink",
    "rate_limit",
    "revoke",
    "revoke_by_stamped_headers",
    "shutdown",
    "terminate",
    "time_limit",
}


def test_every_command_of_celery_either_asks_or_acts() -> None:
    """In a process of its own: a worker that was made in this one has taken commands away."""
    asked = "from celery.worker.control import Panel; print(*sorted(Panel.data))"
    known = set(subprocess.check_output([sys.executable, "-c", asked], text=True).split())
    assert known == ASKING | ACTING


def test_what_acts_is_forgotten_and_what_asks_stays() -> None:
    table = {"ping": Panel.data["ping"], "shutdown": None, "a_command_of_a_later_celery": None}
    forget_acting(table)
    assert table == {"ping": Panel.data["ping"]}
