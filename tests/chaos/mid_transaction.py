"""Freezes a process while it is within a transaction, beside another of its role that lives."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Thread
from uuid import uuid4

import MySQLdb
import requests

from tests.chaos.faults import EXECUTORS
from tests.chaos.holdings import Holdings
from tests.chaos.load import Window, add_many_to_plan, moments_of
from tests.chaos.trial import Strike, Trial
from wangtimer.stack.ports import HOST

FROZEN_S = 120.0
FOUND_WITHIN_S = 60.0
# How long a process is let go before it is looked at again; long against a look, so that its work goes on.
BETWEEN_LOOKS_S = 0.03
# While one is looked for that is within a transaction, all of its role get work so often.
WORK_EVERY_S = 5.0
# Every-second timers that are made once it is frozen, within so long. All but their first moments must be planned by
# the one that lives.
NEW_TIMERS, MADE_WITHIN_MS = 40, 20_000
# Threads that change timers by the API process that is to freeze.
EDITORS = 8
CRONS = ("*/5 * * * * *", "*/6 * * * * *")
LOOK_S = 0.2


def freeze_migrate(trial: Trial) -> Strike:
    return _freeze(trial, ("migrate", "migrate2"), lambda: add_many_to_plan(trial.deployment))


def freeze_callback(trial: Trial) -> Strike:
    return _freeze(trial, ("callback", "callback2"))


def freeze_web(trial: Trial) -> Strike:
    with _editors(trial):
        return _freeze(trial, ("web2",))


def _freeze(trial: Trial, names: Sequence[str], give_work: Callable[[], None] = lambda: None) -> Strike:
    """Freeze one of these for two minutes while it holds rows.

    Timers that are made meanwhile, far more often due than they are planned for at first, are called in time all the
    while.
    """
    name, rows, held = _freeze_with_rows(trial, names, give_work)
    frozen_at = time.time()
    try:
        window = Window(int(frozen_at * 1_000) + MADE_WITHIN_MS, trial.window.end)
        ids = [
            trial.deployment.make_timer(uuid4().hex, cron="* * * * * *", timezone="UTC")
            for _ in range(NEW_TIMERS)
        ]
        assert time.time() * 1_000 < window.start, "making the timers took too long"
        trial.tend_for(frozen_at + FROZEN_S - time.time())
    finally:
        _send(trial, name, signal.SIGCONT)
    promised = {(one, moment) for one in ids for moment in moments_of("* * * * * *", "UTC", window)}
    made_meanwhile = {
        (one, moment)
        for one in ids
        for moment in moments_of("* * * * * *", "UTC", Window(int(frozen_at * 1_000), window.start))
    }
    running = held.running_of(trial.pid(name))
    touched = running | held.armed if name in EXECUTORS else frozenset()
    note = f"{name} held {rows} rows"
    return Strike(rows, touched, running, 0, frozenset(promised), frozenset(made_meanwhile), note)


def _freeze_with_rows(
    trial: Trial, names: Sequence[str], give_work: Callable[[], None]
) -> tuple[str, int, Holdings]:
    """Stop a process and its children within a transaction.

    Return its name, how many rows it has locked or written, and what all executors hold.
    """
    ends_at, works_at = time.monotonic() + FOUND_WITHIN_S, 0.0
    while time.monotonic() < ends_at:
        if time.monotonic() >= works_at:
            give_work()
            works_at = time.monotonic() + WORK_EVERY_S
        for name in names:
            _send(trial, name, signal.SIGSTOP)
            # A statement or a commit may be under way: what it holds once that is over is what it keeps.
            if _rows_held(trial, name) and (rows := _held_after(trial, name, LOOK_S)):
                return name, rows, trial.look()
            _send(trial, name, signal.SIGCONT)
            trial.tend_for(BETWEEN_LOOKS_S)
    raise AssertionError(f"none of {names} was within a transaction for {FOUND_WITHIN_S:g} s")


def _held_after(trial: Trial, name: str, seconds: float) -> int:
    time.sleep(seconds)
    return _rows_held(trial, name)


def _send(trial: Trial, name: str, signal_: signal.Signals) -> None:
    os.killpg(trial.pid(name), signal_)


def _rows_held(trial: Trial, name: str) -> int:
    ports = _ports_of(trial.pid(name))
    asked = (
        "SELECT process.host, held.trx_rows_locked + held.trx_rows_modified FROM information_schema.innodb_trx AS held"
        " JOIN information_schema.processlist AS process ON process.id = held.trx_mysql_thread_id"
    )
    with closing(MySQLdb.connect(host=HOST, port=trial.deployment.sql.port, user="root")) as connection:
        cursor = connection.cursor()
        cursor.execute(asked)
        return sum(int(rows) for host, rows in cursor.fetchall() if int(host.rpartition(":")[2]) in ports)


def _ports_of(group: int) -> set[int]:
    """Return the local ports of a group of processes, those of all their TCP connections."""
    inodes = {
        link
        for pid in _pids_of(group)
        for link in _links(Path(f"/proc/{pid}/fd"))
        if link.startswith("socket:")
    }
    found = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if f"socket:[{words[9]}]" in inodes:
            found.add(int(words[1].rpartition(":")[2], 16))
    return found


def _pids_of(group: int) -> Iterator[int]:
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                if os.getpgid(int(place.name)) == group:
                    yield int(place.name)
            except ProcessLookupError:
                continue


def _links(directory: Path) -> Iterator[str]:
    for place in directory.iterdir():
        try:
            yield os.readlink(place)
        except FileNotFoundError:
            continue


@contextmanager
def _editors(trial: Trial) -> Iterator[None]:
    """Let timers be changed all the while by the second API, which is to freeze; what it answers is not asked."""
    over = Event()
    url = trial.deployment.target.unlogged_url
    ids = [trial.deployment.make_timer(uuid4().hex, cron=CRONS[0], url=url) for _ in range(EDITORS)]
    threads = [Thread(target=_edit, args=(trial, one, over), daemon=True) for one in ids]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(60)


def _edit(trial: Trial, timer_id: int, over: Event) -> None:
    url, number = f"{trial.deployment.second_api_url}/api/timer/v1/def", 0
    with requests.Session() as session:
        session.headers.update(trial.deployment.operator)
        while not over.is_set():
            number += 1
            changed = {"app": "e2e", "id": timer_id, "cron": CRONS[number % 2]}
            try:
                session.patch(url, json=changed, timeout=5)
            except requests.RequestException:
                continue
