"""What a service at rest costs: numbers, not times, so that a change that costs more is caught on any machine."""

import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
import redis
from celery import Celery
from sqlalchemy import event

from tests.patience import wait_for
from tests.stack.running_up import running_up
from tests.stack.test_embedded import VALKEY, children_of, supervisor_of
from wangtimer import tasks
from wangtimer.base.settings import Settings
from wangtimer.stack.embedded import PROCESSES, EmbeddedStack
from wangtimer.wiring import Wiring

SECONDS = 10
# Of the embedded default in `SECONDS`: commands of Redis, messages among them, and how often a thread wakes.
COMMANDS, MESSAGES, WAKES = 180, 0, 460
# SQL statements of all periodic tasks in as long, while nobody commits.
STATEMENTS = 12


def wakes_of(pids: list[int]) -> int:
    """Return how often the threads of processes have gone to sleep by themselves."""
    lines: list[str] = []
    for thread in (thread for pid in pids for thread in Path(f"/proc/{pid}/task").iterdir()):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            lines += (thread / "status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))


def processes_of(stack: EmbeddedStack) -> list[int]:
    supervisor = supervisor_of(stack)
    children = children_of(supervisor)
    assert set(children) == {VALKEY, *PROCESSES}
    return [supervisor, *children.values(), *children_of(children["web"]).values()]


@pytest.mark.processes
def test_the_embedded_default_at_rest_sends_no_message_and_wakes_seldom(tmp_path: Path) -> None:
    with running_up(tmp_path) as stack, redis.Redis.from_url(stack.directory.store_url) as client:

        def seen() -> Counter[str]:
            calls: dict[str, int] = {
                name: figures["calls"] for name, figures in client.info("commandstats").items()
            }
            return Counter({**calls, "wakes": wakes_of(pids)})

        pids = processes_of(stack)
        counted: list[Counter[str]] = []

        def is_at_rest() -> bool:
            before = seen()
            time.sleep(SECONDS)
            counted.append(seen() - before)
            wakes, messages = counted[-1].pop("wakes"), counted[-1]["cmdstat_lpush"]
            counted[-1]["in all"] = sum(counted[-1].values())
            counted[-1]["wakes"] = wakes
            return messages <= MESSAGES and counted[-1]["in all"] <= COMMANDS and wakes <= WAKES

        # The first seconds are those of a beginning.
        assert wait_for(is_at_rest, seconds=4 * SECONDS), counted


def test_the_periodic_tasks_at_rest_ask_sql_little(
    sqlite_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = Wiring(Settings(database_url=sqlite_url, store_url=redis_url), Celery())
    monkeypatch.setattr(tasks, "wiring", lambda: parts)
    monkeypatch.setattr(parts, "pace", lambda _name, _least_s: Unpaced())
    counted: dict[str, float] = {}
    tasks.app.loader.import_default_modules()
    # The first round opens connections, and says what Redis has not; the second one sees what the first one wrote.
    for _ in range(3):
        counted.clear()
        for name, entry in tasks.app.conf.beat_schedule.items():
            statements: list[str] = []
            note = lambda *of, statements=statements: statements.append(of[2])  # noqa: E731
            event.listen(parts.database.engine, "before_cursor_execute", note)
            tasks.app.tasks[entry["task"]].run()
            event.remove(parts.database.engine, "before_cursor_execute", note)
            counted[name] = len(statements) * SECONDS / entry["schedule"].total_seconds()
    assert 0 < sum(counted.values()) < STATEMENTS, counted
    parts.redis.close()
    parts.database.close()


class Unpaced:
    """Lets each run through."""

    def is_due(self) -> bool:
        return True

    def alone(self) -> "Unpaced":
        return self

    def __enter__(self) -> bool:
        return True

    def __exit__(self, *_error: object) -> None: ...
