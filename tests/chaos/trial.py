"""A deployment under load, and the tools to do it harm and to see whom that met."""

import os
import signal
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socket import gethostname

import redis
import requests
from celery import Celery

from tests.chaos.bad_targets import BadTargets
from tests.chaos.holdings import Holdings, look
from tests.chaos.load import Key, Window
from tests.chaos.proxy import MessageDoubler, Proxy
from tests.chaos.shifted_clock import MovableClock, build, words
from tests.chaos.switched_sql import SwitchedServer
from tests.chaos.told_alerts import ToldAlerts
from tests.e2e.deployment import Deployment
from tests.servers.mariadb import MariaDBServer
from tests.servers.nginx import ArrivedCall
from tests.servers.redis_server import RedisServer, redis_program
from tests.servers.server_process import has_stopped
from wangtimer.core.flow.firing import Member
from wangtimer.stack.ports import free_port
from wangtimer.stack.procfile import Command
from wangtimer.stack.supervisor import Supervisor

_ARMED_ONCE = """
file="$1"; shift
if [ -f "$file" ]; then WANGTIMER_FAIL_POINT="$(cat "$file")"; export WANGTIMER_FAIL_POINT; rm -f "$file"; fi
exec "$@"
"""
# A pause of the store's writers ends by itself, should a test die in it.
PAUSE_MS = 2_000
STOPPED_WITHIN_S = 5.0
STORE, BROKER, SQL = "store", "broker", "sql"


@dataclass(frozen=True, slots=True)
class Strike:
    """What a fault met: `bite` firings held by the victim, members `touched`, and those that `may_repeat`, each as
    often as it was met.

    What came due before `others_from` (ms UTC) was touched too. `promised` are firings that timers made during the
    fault promise; `maybe` those whose promise was not heard.
    """

    bite: int
    touched: frozenset[Member] = frozenset()
    may_repeat: Collection[Member] = ()
    others_from: int = 0
    promised: frozenset[Key] = frozenset()
    maybe: frozenset[Key] = frozenset()
    note: str = ""


class ChaosDeployment(Deployment):
    """A deployment in which the processes of `proxied` reach the dependencies named there through proxies, and the
    wall clocks of those in `shifted` are off by so many seconds. A second API listens at an address of its own.
    """

    def __init__(
        self,
        directory: Path,
        copies: Mapping[str, int] | None = None,
        proxied: Mapping[str, tuple[str, ...]] | None = None,
        doubles_messages: bool = False,
        is_armable: bool = False,
        shifted: Mapping[str, int] | None = None,
        is_store_clock_movable: bool = False,
        has_standby: bool = False,
        **variables: str | int,
    ) -> None:
        super().__init__(directory, copies, **variables)
        self._proxied = dict(proxied or {})
        self._shifted = dict(shifted or {})
        self._doubles_messages = doubles_messages
        self._is_armable = is_armable
        self._has_standby = has_standby
        self.store_clock = MovableClock.made(directory) if is_store_clock_movable else None
        # These processes die every few seconds, and are not to be waited for.
        self.supervisor = Supervisor(longest_pause=0.5) if is_armable else self.supervisor
        self.proxies: dict[tuple[str, str], Proxy] = {}
        self.doublers: list[MessageDoubler] = []
        self.second_api_url = ""

    def __exit__(self, *error: object) -> None:
        # What is to be learnt has been: nobody waits for a good end.
        self.supervisor.stop(0.0)
        super().__exit__(None, None, None)

    def _sql_server(self, directory: Path) -> MariaDBServer:
        return SwitchedServer(directory, 1) if self._has_standby else super()._sql_server(directory)

    def _load_schema(self) -> None:
        if isinstance(self.sql, SwitchedServer):
            self.sql.make_a_primary()
        super()._load_schema()

    def switch_sql_over(self) -> None:
        """Move SQL to another server. The first one lives on and takes no writes; what is connected to it stays so."""
        assert isinstance(self.sql, SwitchedServer)
        standby = self._stack.enter_context(SwitchedServer(self._directory / "standby", 2))
        standby.follow(self.sql)
        standby.take_over_from(self.sql)
        for (_, dependency), proxy in self.proxies.items():
            if dependency == SQL:
                proxy.lead_to(standby.port)
        self.database_url = standby.url("wangtimer")

    def _store_server(self, directory: Path) -> RedisServer:
        before = self.store_clock.words() if self.store_clock else []
        return RedisServer(redis_program(), directory, before=before)

    def _commands(self) -> Iterator[Command]:
        for command in super()._commands():
            settings = [
                *self._proxies(command.name),
                *self._clock(command.name),
                *self._address(command.name),
            ]
            argv = ("env", *settings, *command.argv) if settings else command.argv
            if self._is_armable:
                argv = ("sh", "-c", _ARMED_ONCE, "arm", str(self.fail_point_file(command.name)), *argv)
            yield Command(command.name, argv)

    def fail_point_file(self, process: str) -> Path:
        """Return the file whose text is the fail point of the next start of this process, and of no later one."""
        return self._directory / f"{process}.fail-point"

    def _proxies(self, process: str) -> list[str]:
        wanted = (BROKER,) if self._doubles_messages else self._proxied.get(process, ())
        return [self._through_proxy(process, dependency) for dependency in wanted]

    def _clock(self, process: str) -> list[str]:
        shift_s = self._shifted.get(process)
        return words(build(self._directory), shift_s) if shift_s else []

    def _address(self, process: str) -> list[str]:
        if process != "web2":
            return []
        address = f"127.0.0.1:{free_port()}"
        self.second_api_url = f"http://{address}"
        return [f"WANGTIMER_HTTP_BIND={address}"]

    def _through_proxy(self, process: str, dependency: str) -> str:
        """Open a proxy; return the environment's word for it."""
        name, url, port = {
            STORE: ("STORE", self.store.url(0), self.store.port),
            BROKER: ("BROKER", self.broker.url(1), self.broker.port),
            SQL: ("DATABASE", self.database_url, self.sql.port),
        }[dependency]
        rewriter = self._new_doubler if self._doubles_messages else None
        proxy = self._stack.enter_context(Proxy(port, rewriter))
        self.proxies[process, dependency] = proxy
        return f"WANGTIMER_{name}_URL={url.replace(f':{port}/', f':{proxy.port}/')}"

    def _new_doubler(self) -> MessageDoubler:
        self.doublers.append(MessageDoubler())
        return self.doublers[-1]


@dataclass(slots=True)
class Trial:
    """One row's deployment and window."""

    deployment: ChaosDeployment
    window: Window
    bad_targets: BadTargets | None = None
    store: redis.Redis = field(init=False)
    alerts: ToldAlerts | None = None

    def __post_init__(self) -> None:
        self.store = redis.Redis.from_url(self.deployment.store.url(0), decode_responses=True)

    def calls(self) -> Iterator[ArrivedCall]:
        """Yield every call that any target received, by its own clock, or by the store's where that was put."""
        clock = self.deployment.store_clock
        calls = self.deployment.target.calls()
        yield from calls if clock is None else map(clock.stamped, calls)
        if self.bad_targets is not None:
            yield from self.bad_targets.calls()

    # alerts

    def told_alerts(self) -> ToldAlerts:
        """Return what lets targets fail and hears of it."""
        if self.alerts is None:
            self.alerts = ToldAlerts(self.deployment)
        return self.alerts

    def close(self) -> None:
        """End what it started: until then timers of troubles go on, and are to have their outcomes."""
        if self.alerts is not None:
            self.alerts.close()

    def await_told(self, seconds: float) -> None:
        """Let it run until all is told; raises `AssertionError` when it is not in time."""
        alerts = self.told_alerts()
        ends_at = time.monotonic() + seconds
        self.deployment.supervisor.tend_until(lambda: not alerts.untold() or time.monotonic() > ends_at)
        assert not alerts.untold(), f"not told within {seconds:g} s: {alerts.untold()}"

    # processes

    def pid(self, name: str) -> int:
        return self.deployment.supervisor.children()[name].pid

    def freeze(self, name: str) -> int:
        """Stop a process; once back, it has stopped and the store has what it had sent. Return its id."""
        pid = self.pid(name)
        os.kill(pid, signal.SIGSTOP)
        await_(lambda: has_stopped(pid), STOPPED_WITHIN_S)
        # Two round trips: what lay in the store's sockets before the first is done before the second.
        self.store.ping()
        self.store.ping()
        return pid

    def kill(self, name: str) -> None:
        """End a process and what it forked as a crash does."""
        os.killpg(self.pid(name), signal.SIGKILL)

    def log_of(self, name: str) -> str:
        return self.deployment.supervisor.children()[name].spec.log.read_text(errors="replace")

    def restart_armed(self, name: str, fail_point: str) -> frozenset[Member]:
        """Kill a process and let it come back with this fail point; return what it ran when it was killed."""
        self.deployment.fail_point_file(name).write_text(fail_point)
        pid, running = self.pid(name), frozenset[Member]()
        if not self.deployment.supervisor.children()[name].has_ended():
            self.freeze(name)
            running = self.look().running_of(pid)
            self.kill(name)
        self.tend_until(lambda: self.pid(name) != pid, 20, f"{name} comes back")
        return running

    def freeze_one_that_runs(self, *names: str) -> tuple[str, frozenset[Member], Holdings]:
        """Stop one of these executors while it runs firings; return its name, those, and everybody's."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            for name in names:
                pid = self.freeze(name)
                held = look(self.store)
                if running := held.running_of(pid):
                    return name, running, held
                os.kill(pid, signal.SIGCONT)
            self.tend_for(0.2)
        raise AssertionError(f"none of {names} ran a firing within 20 s")

    def slices_of(self, name: str) -> list[str]:
        """Return the tags of the slices that a trigger process watches."""
        node = f"{name}@{gethostname()}"
        app = Celery(broker=self.deployment.broker.url(1))
        try:
            active = app.control.inspect([node], timeout=5, limit=1).active() or {}
        finally:
            app.close()
        return [task["args"][0] for task in active.get(node, []) if task["name"] == "wangtimer.trigger"]

    def locked_slices(self) -> list[str]:
        """Return the tags of the slices that some trigger owns."""
        return [key.split("{")[1].split("}")[0] for key in self.store.keys("wt:{*}:lock")]

    def trigger_that_watches(self, *names: str) -> tuple[str, list[str]]:
        """Return the first of these triggers that watches a slice, and its slices."""
        for _ in range(10):
            for name in names:
                if tags := self.slices_of(name):
                    return name, tags
            self.tend_for(0.5)
        raise AssertionError(f"none of {names} watches a slice")

    # the store

    @contextmanager
    def writers_paused(self) -> Iterator[None]:
        """Hold every write at the store, so that what is read inside stays so until the store is killed."""
        self.store.execute_command("CLIENT", "PAUSE", PAUSE_MS, "WRITE")
        yield

    def look(self, due_within_s: float = 0) -> Holdings:
        return look(self.store, (time.time() + due_within_s) * 1_000)

    # the API

    def has_ticks(self) -> bool:
        """Tell whether `/readyz` says that somebody looks, each second, for what is due."""
        answer = requests.get(f"{self.deployment.api_url}/readyz", timeout=5).json()
        return bool(answer["data"]["ticks"]["ok"])

    # time

    def tend_for(self, seconds: float) -> None:
        """Let it run; what died is started again."""
        self.deployment.tend_for(seconds)

    def tend_until(self, is_so: Callable[[], bool], seconds: float, what: str) -> None:
        """Let it run until something has come about; raises `AssertionError` when it does not in time."""
        deadline = time.monotonic() + seconds
        self.deployment.supervisor.tend_until(lambda: is_so() or time.monotonic() > deadline)
        assert is_so(), f"not within {seconds:g} s: {what}"

    def tend_until_moment(self, moment_ms: int) -> None:
        self.tend_for(max(0.0, moment_ms / 1_000 - time.time()))

    def leave_for(self, seconds: float) -> None:
        """Let it run, but start nothing again that died."""
        await_(lambda: False, seconds)


def await_(is_so: Callable[[], bool], seconds: float) -> bool:
    """Wait for a condition, at most so long; tell whether it came about."""
    deadline = time.monotonic() + seconds
    while not (came := is_so()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return came
