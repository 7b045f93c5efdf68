"""The target of every workload: one nginx that logs each arrival to the millisecond, for us and for every peer.

The URL of a call identifies it (`?due=<ms UTC>&id=<number>`). A cron timer's URL is the same at each moment, so
WangTimer's headers identify its calls. Both give the same log line, so one reader judges all systems.
"""

import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import trustme

from tests.servers.nginx import PACKAGE
from tests.servers.server_process import ServerProcess, find_program
from wangtimer.stack.ports import HOST, free_port

_CONFIGURATION = """
daemon off;
worker_processes 1;
pid {directory}/pid;
error_log {directory}/error.log;
worker_rlimit_nofile 20000;
events {{ worker_connections 8192; }}
http {{
    map $arg_due $due {{ "" $http_x_wangtimer_fire_at; default $arg_due; }}
    map $arg_id $id {{ "" $http_x_wangtimer_timer; default $arg_id; }}
    log_format t '$msec $due $id';
    access_log {directory}/arrivals.log t buffer=64k flush=200ms;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    keepalive_requests 100000000;
    server {{
        {listens}
        location / {{ return 204; }}
        location = /up {{ access_log off; return 204; }}
        location = /slow {{ limit_rate {slow_rate}; return 200 "{slow_answer}"; }}
    }}
    server {{
        listen {host}:{tls_port} ssl backlog=4096;
        ssl_certificate {directory}/chain.pem;
        ssl_certificate_key {directory}/key.pem;
        location / {{ return 204; }}
    }}
}}
"""
# Addresses to listen on, so that workloads can have many targets, each with its own connections.
HOSTS = 50
# Over TLS it answers to every name of this domain.
DOMAIN = "target.test"
# An answer of 1,000 bytes at 200 bytes a second: nginx cannot sleep, but it can be slow.
SLOW_ANSWER_BYTES, SLOW_BYTES_A_SECOND = 1_000, 200
# Twice the time for which nginx buffers lines.
LINES_WITHIN_S = 0.4


@dataclass(frozen=True, slots=True)
class Arrival:
    """One call at the target: when it was due, which one it is, when it came; moments in ms UTC."""

    due_ms: int
    id: int
    arrived_ms: int

    @property
    def late_ms(self) -> int:
        """Arrival minus moment; negative when early."""
        return self.arrived_ms - self.due_ms


class Target:
    """`with Target(directory) as target: target.url`; `arrivals()` has the calls since the last `forget`."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._port, self.tls_port = free_port(), free_port()
        self.authority = _write_certificate(directory)
        self._log = directory / "arrivals.log"
        self._forgotten_bytes = 0
        self.url = self._url(1, "callback")
        configuration = directory / "nginx.conf"
        listens = " ".join(f"listen {_host(n)}:{self._port} backlog=4096;" for n in range(1, HOSTS + 1))
        configuration.write_text(
            _CONFIGURATION.format(
                directory=directory,
                listens=listens,
                host=HOST,
                tls_port=self.tls_port,
                slow_rate=SLOW_BYTES_A_SECOND,
                slow_answer="." * SLOW_ANSWER_BYTES,
            )
        )
        argv = [find_program("nginx", PACKAGE), "-c", str(configuration), "-p", str(directory)]
        self._process = ServerProcess([*argv, "-e", str(directory / "error.log")], directory, self._answers)

    def __enter__(self) -> "Target":
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stop()

    @property
    def pid(self) -> int:
        """The master's process id."""
        return self._process.pid

    def hosts(self, slow_share: float = 0.0) -> list[str]:
        """Return one URL for each address; the last `slow_share` of them answer after five seconds."""
        slow_from = HOSTS - int(HOSTS * slow_share)
        return [self._url(n, "callback" if n <= slow_from else "slow") for n in range(1, HOSTS + 1)]

    def forget(self) -> None:
        """Leave all calls so far out of `arrivals`."""
        self._forgotten_bytes = self._log.stat().st_size

    def arrivals(self) -> list[Arrival]:
        """Return the calls since `forget`. A call is in the log at most `LINES_WITHIN_S` after its answer."""
        return [_read(line) for line in self._new_bytes().splitlines()]

    def watch(self) -> Callable[[], int]:
        """Return a function that returns how many calls have come since `forget`."""
        count, read_to = 0, self._forgotten_bytes

        def arrived() -> int:
            nonlocal count, read_to
            with self._log.open("rb") as log:
                log.seek(read_to)
                fresh = log.read()
            count += fresh.count(b"\n")
            read_to += len(fresh)
            return count

        return arrived

    def _new_bytes(self) -> bytes:
        with self._log.open("rb") as log:
            log.seek(self._forgotten_bytes)
            fresh = log.read()
        return fresh[: fresh.rfind(b"\n") + 1]

    def _url(self, number: int, path: str) -> str:
        return f"http://{_host(number)}:{self._port}/{path}"

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(self._url(1, "up"), timeout=1):
                return True
        except (urllib.error.URLError, OSError):
            return False


def _write_certificate(directory: Path) -> Path:
    """Write a certificate for all names of `DOMAIN`, and its key; return the file of who vouches for it."""
    authority = trustme.CA()
    issued = authority.issue_cert(f"*.{DOMAIN}")
    issued.private_key_pem.write_to_path(str(directory / "key.pem"))
    (directory / "chain.pem").write_bytes(b"".join(one.bytes() for one in issued.cert_chain_pems))
    authority.cert_pem.write_to_path(str(directory / "authority.pem"))
    return directory / "authority.pem"


def _host(number: int) -> str:
    return HOST if number == 1 else f"127.0.1.{number}"


def _read(line: bytes) -> Arrival:
    arrived_s, due, id_ = line.split()
    return Arrival(int(due), int(id_), int(arrived_s.replace(b".", b"")))
