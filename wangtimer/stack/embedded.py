"""The embedded default: the whole service on one machine, with SQLite and a private Valkey."""

import contextlib
import os
import shlex
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import redis

from wangtimer.base.broker import MIGRATE, SCHEDULE, TRIGGER
from wangtimer.base.own_servers import SETTING
from wangtimer.base.settings import read_settings, require_mail_server
from wangtimer.core.egress.egress_rules import PUBLIC_AND_LOOPBACK
from wangtimer.core.errors import BadSetting
from wangtimer.stack.child import ChildSpec, inherited_environment
from wangtimer.stack.data_directory import DataDirectory, HeldDirectory, held_directory
from wangtimer.stack.fork import import_once
from wangtimer.stack.own_keys import DEFAULT_APP, provide_keys
from wangtimer.stack.own_secret_key import own_key_setting
from wangtimer.stack.ports import HOST
from wangtimer.stack.procfile import Command, read_commands
from wangtimer.stack.service import SERVERS_RANK, Service
from wangtimer.stack.supervisor import STOP_SECONDS, StartError, StopRequest, Supervisor, wait_for
from wangtimer.stack.valkey_server import embedded_argv, valkey_program

DEFAULT_DATA_DIRECTORY = Path(".wangtimer")
DEFAULT_PORT = 5000
# Consumers connect to the port behind that of the API.
STREAM_BEHIND = 1
PROGRAM = "wangtimer"
# What is imported, all that their programs would, and the processes that are forked then. So each module is read once,
# and is in memory once. Workers start while the API is imported.
STAGES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        (
            *(
                "wangtimer.tasks",
                "celery.bin.celery",
                "celery.apps.worker",
            ),
            *("celery.app.amqp", "celery.app.control", "celery.app.events", "celery.app.log"),
            *("celery.concurrency.thread", "celery.worker.autoscale", "celery.worker.components"),
            *("celery.worker.consumer.delayed_delivery", "celery.worker.strategy", "celery.utils.static"),
            *("kombu.pidbox", "kombu.transport.redis", "billiard.dummy", "billiard.pool"),
        ),
        ("beat", "callback"),
    ),
    (
        (
            *("wangtimer.api.http.web_worker", "gunicorn.app.wsgiapp", "gunicorn.arbiter"),
            *("wangtimer.stream.stream_server", "uvicorn.loops.asyncio", "uvicorn.lifespan.on"),
        ),
        ("web", "stream"),
    ),
)
PROCESSES = tuple(name for _, names in STAGES for name in names)

# An append-only file of some hundred MB takes this long to read.
VALKEY_SECONDS = 60.0

# A worker may take a chunk for 2 s more before it waits for its calls, and records their outcomes after.
STOP_MARGIN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class EmbeddedStack:
    """A running embedded service."""

    directory: DataDirectory
    supervisor: Supervisor
    api_url: str
    stream_url: str


@contextlib.contextmanager
def embedded_stack(
    path: Path, port: int, stop: StopRequest, say: Callable[[str], None] = print, app: str = DEFAULT_APP
) -> Iterator[EmbeddedStack]:
    """Hold the data directory, start everything and wait until it is ready (or `stop` has come); end it afterwards.

    `app` and its key are made unless they are there. Raises `Conflict` when the directory is in use, `BadSetting` when
    the port is or a setting is wrong, `StartError`. The processes are forks of this one, which has one thread: their
    settings are set in its environment.
    """
    began = time.monotonic()
    settings = read_settings()
    require_mail_server(settings)
    stop_seconds = seconds_to_stop(settings.drain_s)
    with held_directory(path) as held:
        _check_free(port, "")
        _check_free(port + STREAM_BEHIND, ", of consumers, the one behind --port")
        supervisor = Supervisor(say)
        stack = EmbeddedStack(
            held.directory, supervisor, f"http://{HOST}:{port}", f"http://{HOST}:{port + STREAM_BEHIND}"
        )
        try:
            own_key_setting(held.directory.path)
            provide_keys(held.directory, app)
            say(f"starting Valkey, {', '.join(PROCESSES)} in {held.directory.path} ...")
            _start_valkey(held, supervisor, stop)
            _start_service(stack, port, stop)
            if not stop.has_come:
                say(f"ready after {time.monotonic() - began:.1f} s")
            yield stack
        finally:
            supervisor.stop(stop_seconds)


def run_embedded(
    path: Path = DEFAULT_DATA_DIRECTORY,
    port: int = DEFAULT_PORT,
    program: str = PROGRAM,
    app: str = DEFAULT_APP,
) -> int:
    """Run the embedded service until SIGINT or SIGTERM; return the exit code.

    `program` is what people type for `wangtimer`. Raises as `embedded_stack`.
    """
    # The database and the logs are for this user alone, also in a directory that others may enter. Children inherit it.
    os.umask(0o077)
    with StopRequest() as stop, embedded_stack(path, port, stop, _say, app) as stack:
        if not stop.has_come:
            _say(said(stack, program, app))
        stack.supervisor.tend_until(lambda: stop.has_come)
        _say("stopping")
    return 0


def seconds_to_stop(drain_s: float) -> float:
    """Return how long each process has to end: more than a callback process waits for its calls."""
    return max(STOP_SECONDS, drain_s + STOP_MARGIN_SECONDS)


def _check_free(port: int, which: str) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise BadSetting(
                f"port {port} of {HOST}{which}: {error.strerror}; name another one with --port"
            ) from None


def _start_valkey(held: HeldDirectory, supervisor: Supervisor, stop: StopRequest) -> None:
    directory = held.directory
    directory.valkey.mkdir(exist_ok=True)
    spec = ChildSpec(
        name="valkey",
        argv=embedded_argv(valkey_program(), directory),
        log=directory.logs / "valkey.log",
        working_directory=directory.path,
        environment=inherited_environment(),
        kept_open=(held.lock,),  # the directory is not free while its server still runs
    )
    supervisor.start(spec, SERVERS_RANK)
    if not wait_for(
        lambda: stop.has_come or (supervisor.all_ready() and _answers(directory)), VALKEY_SECONDS
    ):
        raise StartError(f"valkey does not answer after {VALKEY_SECONDS:g} s, see {spec.log}")


def _answers(directory: DataDirectory) -> bool:
    with contextlib.closing(redis.Redis.from_url(directory.store_url)) as client:
        try:
            return bool(client.ping())
        except redis.RedisError:  # not listening yet, or still reading its file
            return False


def _start_service(stack: EmbeddedStack, port: int, stop: StopRequest) -> None:
    if stop.has_come:
        return
    directory = stack.directory
    environment = {
        # Callbacks of a machine of one's own go to itself, mostly. The API is no target all the same.
        SETTING: read_settings().egress or PUBLIC_AND_LOOPBACK,
        **directory.settings,
        **own_key_setting(directory.path),
        "WANGTIMER_HTTP_BIND": f"{HOST}:{port}",
        "WANGTIMER_STREAM_BIND": f"{HOST}:{port + STREAM_BEHIND}",
        "WANGTIMER_HTTP_WORKERS": "1",  # each takes a second of CPU at the start; one serves a machine of its own
    }
    commands = read_commands()
    commands["beat"] = beat_that_works(commands["trigger"])
    service = Service(stack.supervisor, directory.path, environment, are_forked=True)
    # Some modules read settings when they are imported.
    os.environ.update(environment)
    for modules, names in STAGES:
        import_once(modules)
        service.start(commands[name] for name in names)
    service.await_ready(stack.api_url, stop)


def beat_that_works(trigger: Command) -> Command:
    """Return the command of a process, named as beat, that is beat, scheduler, migrate and trigger."""
    words = {TRIGGER: f"{SCHEDULE},{MIGRATE},{TRIGGER}", f"{TRIGGER}@%h": "beat@%h"}
    return Command("beat", (*(words.get(word, word) for word in trigger.argv), "-I", "wangtimer.own_beat"))


def said(stack: EmbeddedStack, program: str = PROGRAM, app: str = DEFAULT_APP) -> str:
    """Return the service's addresses, line by line; `program` is the command typed for `wangtimer`."""
    operator_key = shlex.quote(str(stack.directory.operator_key_file))
    return (
        f"API      {stack.api_url}/v1/timers\n"
        f"stream   {stack.stream_url}/v1/consumers/GROUP/events\n"
        f"docs     {stack.api_url}/docs\n"
        f"key      of app {app}: curl -H @{shlex.quote(str(stack.directory.key_file))} ...\n"
        f"operator WANGTIMER_KEY_FILE={operator_key} {shlex.quote(program)} apps list\n"
        f"ready    {stack.api_url}/readyz\n"
        f"check    {shlex.quote(program)} doctor --data-dir {shlex.quote(str(stack.directory.path))}\n"
        f"data     {stack.directory.path}, logs in {stack.directory.logs}\n"
        "Ctrl-C ends it; the data stay."
    )


def _say(line: str) -> None:
    # Whoever read it may be gone, and the service goes on.
    with contextlib.suppress(OSError):
        print(line, flush=True)
