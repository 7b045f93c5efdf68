"""The Procfile's processes under a supervisor: started together, awaited, ended together."""

import http.client
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from wangtimer.stack.child import ChildSpec, inherited_environment
from wangtimer.stack.procfile import Command
from wangtimer.stack.supervisor import StartError, StopRequest, Supervisor, wait_for

# Processes that make work end first, then the workers, then the servers.
MAKERS_OF_WORK = ("web", "beat", "flower")
MAKERS_RANK, WORKERS_RANK, SERVERS_RANK = 0, 1, 2

# A laptop that does other work too may need a minute; a process that ends says so at once.
START_SECONDS = 120.0
SAY_EVERY_SECONDS = 5.0

READY_FILE_VARIABLE = "WANGTIMER_READY_FILE"


class Service:
    """The processes of `commands`, each with a log file and an announcement of its own in `directory`.

    If they `are_forked`, those that run a Python module are forks of this process.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        directory: Path,
        environment: Mapping[str, str],
        are_forked: bool = False,
    ) -> None:
        self._supervisor = supervisor
        self._directory = directory
        self._environment = inherited_environment() | dict(environment)
        self._are_forked = are_forked

    def start(self, commands: Iterable[Command]) -> None:
        """Start every process; `await_ready` says when they do their work."""
        for command in commands:
            rank = MAKERS_RANK if command.name.startswith(MAKERS_OF_WORK) else WORKERS_RANK
            self._supervisor.start(self._spec(command), rank)

    def await_ready(self, api_url: str, stop: StopRequest, seconds: float = START_SECONDS) -> None:
        """Return once all and the API at `api_url` are ready, or at `stop`. Raises `StartError` naming what is not."""

        def all_ready() -> bool:
            return stop.has_come or (self._supervisor.all_ready() and is_ready(api_url))

        deadline = time.monotonic() + seconds
        while not wait_for(all_ready, SAY_EVERY_SECONDS):
            missing = ", ".join(self._supervisor.unready()) or f"/readyz says {readiness(api_url)[1]}"
            if time.monotonic() > deadline:
                raise StartError(f"not ready after {seconds:g} s: {missing}; see {self._directory / 'log'}")
            self._supervisor.say(f"not ready yet: {missing}")

    def _spec(self, command: Command) -> ChildSpec:
        ready_file = self._directory / "run" / f"{command.name}.ready"
        announces = _announces_itself(command)
        variables = {READY_FILE_VARIABLE: str(ready_file)} if announces else {}
        return ChildSpec(
            name=command.name,
            argv=command.argv,
            log=self._directory / "log" / f"{command.name}.log",
            working_directory=self._directory,
            environment=self._environment | variables,
            ready_file=ready_file if announces else None,
            forked_module=command.module if self._are_forked else None,
        )


def _announces_itself(command: Command) -> bool:
    # Celery's workers, beat and the stream announce themselves; the API is asked at /readyz; nobody waits for Flower.
    return bool({"worker", "beat", "wangtimer.stream"} & set(command.argv))


def is_ready(api_url: str) -> bool:
    """Say whether the API answers that its SQL, store and broker are there."""
    return readiness(api_url)[0] == http.client.OK


def readiness(api_url: str) -> tuple[int, str]:
    """Return the status and text of the API's answer at /readyz, or 0 and why there is none."""
    connection = http.client.HTTPConnection(api_url.removeprefix("http://"), timeout=5)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return 0, str(error)
    finally:
        connection.close()
