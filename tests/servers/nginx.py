"""A real nginx as a callback target: it notes each call's arrival by its own clock, and is never the bottleneck."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.servers.server_process import ServerProcess, find_program
from wangtimer.stack.ports import HOST, free_port

PACKAGE = "nginx-light"

_CONFIGURATION = """
daemon off;
worker_processes 1;
pid {directory}/pid;
error_log {directory}/error.log;
events {{ worker_connections 4096; }}
http {{
    log_format calls '$msec $http_x_wangtimer_timer $http_x_wangtimer_fire_at $http_x_wangtimer_attempt';
    access_log {directory}/calls.log calls buffer=64k flush=500ms;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    keepalive_requests 100000000;
    server {{
        listen {host}:{port} backlog=4096;
        location / {{ return 204; }}
        location = /up {{ access_log off; return 204; }}
        location = /gone {{ access_log off; return 410; }}
        location = /stop {{ access_log off; add_header X-WangTimer-Control stop; return 204; }}
    }}
}}
"""


@dataclass(frozen=True, slots=True)
class ArrivedCall:
    """One call at the target; moments in ms by the target's own clock."""

    timer_id: int
    fire_at: int
    attempt: int
    arrived_at: float

    @property
    def lateness_ms(self) -> float:
        """Arrival less scheduled moment."""
        return self.arrived_at - self.fire_at


class NginxTarget:
    """`with NginxTarget(directory) as target: target.url`; `calls()` half a second after the last one."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._port = free_port()
        self.url = f"http://{HOST}:{self._port}/callback"
        self.unlogged_url = f"http://{HOST}:{self._port}/up"
        configuration = directory / "nginx.conf"
        configuration.write_text(_CONFIGURATION.format(directory=directory, host=HOST, port=self._port))
        argv = [find_program("nginx", PACKAGE), "-c", str(configuration), "-p", str(directory)]
        argv += ["-e", str(directory / "error.log")]
        self.process = ServerProcess(argv, directory, self._answers)

    def __enter__(self) -> "NginxTarget":
        self.process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stop()

    def calls(self) -> Iterator[ArrivedCall]:
        """Yield every call that was logged."""
        with (self._directory / "calls.log").open() as lines:
            for line in lines:
                arrived_s, timer_id, fire_at, attempt = line.split()
                arrived_at = int(arrived_s.replace(".", ""))
                yield ArrivedCall(int(timer_id), int(fire_at), int(attempt), arrived_at)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(self.unlogged_url, timeout=1):
                return True
        except (urllib.error.URLError, OSError):
            return False
