"""No stage reads the wall clock of its node: moments come from the one clock, so a node an hour off does no harm.

In the simulation each process has a wall clock of its own, up to an hour off, and `time.time` reads it; what reads
`datetime.now` or a server's `NOW()` instead is found here in the source.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import wangtimer
from tests.simulation.run import run_seed

ROOT = Path(wangtimer.__file__).parent

WALL_CLOCKS = {
    "time": {"time", "time_ns", "localtime", "gmtime", "ctime", "asctime", "strftime", "clock_gettime"},
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
    "func": {"now", "current_timestamp", "localtime", "localtimestamp", "sysdate"},
}
STOP_WATCHES = {"time": {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "sleep"}}
# What a message may not carry: Celery holds them against the receiver's wall clock.
WALL_CLOCK_OPTIONS = {"eta", "countdown", "expires"}

# What runs beside the service: supervisors, tools that tell a person when something came, and other services' client.
BESIDE = ("cli/", "client/", "stack/")
# The clock itself; connections, waits for locks, watchdogs and the reading of requests: they measure how long something
# takes.
MAY_HOLD_A_STOP_WATCH = {
    "api/http/web_worker.py",
    "base/broker.py",
    "features/alerts/mailer.py",
    "messaging/amqp_link.py",
    "store/app_directory.py",
    "store/redis/clock.py",
    "store/redis/connection.py",
    "store/redis/process_marks.py",
    "store/sql/begun_firings.py",
    "store/sql/database.py",
    "stream/stream_redis.py",
    "worker.py",
}


def sources() -> dict[str, str]:
    """Return the service's modules by their path in the package."""
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in sorted(ROOT.rglob("*.py"))}
    return {path: text for path, text in texts.items() if not path.startswith(BESIDE)}


def readings(source: str, clocks: dict[str, set[str]]) -> Iterator[str]:
    """Yield every mention of a clock, called or passed on, however it was imported."""
    tree = ast.parse(source)
    known = {owner: owner for owner in clocks}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            known |= {one.asname: one.name for one in node.names if one.asname and one.name in clocks}
        if isinstance(node, ast.ImportFrom) and node.module in clocks:
            yield from (f"{node.module}.{one.name}" for one in node.names if one.name in clocks[node.module])
        if isinstance(node, ast.Attribute):
            owner = known.get(ast.unparse(node.value).rpartition(".")[2], "")
            if node.attr in clocks.get(owner, ()):
                yield f"{owner}.{node.attr}"


def options_of_calls(source: str) -> Iterator[str]:
    """Yield the names of all arguments given by name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            yield from (one.arg for one in node.keywords if one.arg is not None)


def test_no_part_of_the_service_reads_the_wall_clock() -> None:
    found = {path: list(readings(source, WALL_CLOCKS)) for path, source in sources().items()}
    assert {path: clocks for path, clocks in found.items() if clocks} == {}


def test_stages_measure_time_by_the_clock_they_are_given() -> None:
    found = {path for path, source in sources().items() if list(readings(source, STOP_WATCHES))}
    assert found == MAY_HOLD_A_STOP_WATCH


def test_no_message_carries_a_moment_of_its_senders_wall_clock() -> None:
    for path, source in sources().items():
        assert not WALL_CLOCK_OPTIONS & set(options_of_calls(source)), path


@pytest.mark.parametrize(
    "source",
    [
        "import time\nnow = time.time()",
        "import time as t\nnow = t.time()",
        "from time import time\nnow = time()",
        "from time import time as now",
        "import time\ndef look(now=time.time): ...",
        "import datetime\nnow = datetime.datetime.now()",
        "from datetime import UTC, datetime\nnow = datetime.now(UTC)",
        "from datetime import datetime as d\nnow = d.utcnow()",
        "from datetime import date\ntoday = date.today()",
        "from sqlalchemy import func\nnow = func.now()",
    ],
)
def test_every_way_to_the_wall_clock_is_seen(source: str) -> None:
    assert list(readings(source, WALL_CLOCKS))


def test_the_sql_that_is_sent_asks_no_server_for_its_time() -> None:
    words = ("CURRENT_TIMESTAMP", "NOW()", "UTC_TIMESTAMP", "SYSDATE", "UNIX_TIMESTAMP")
    schemas = {path.name: path.read_text() for path in ROOT.parent.glob("*.sql")}
    assert schemas
    for path, text in (sources() | schemas).items():
        assert not [word for word in words if word in text], path


@pytest.mark.test_all
def test_nodes_an_hour_ahead_and_behind_send_nothing_early_and_stall_nothing() -> None:
    runs = [run_seed(seed, faults=[]) for seed in range(60)]
    assert sum(run.wall_clocks_off for run in runs) > 100
    assert {run.seed: run.violations for run in runs if run.violations} == {}
