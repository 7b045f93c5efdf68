"""The nginx.conf that docker-compose.yml ships, on a real nginx: only where it listens and what it leads to differ."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from tests.servers.nginx import PACKAGE
from tests.servers.server_process import ServerProcess, find_program
from wangtimer.stack.ports import HOST, free_port

ROOT = Path(__file__).parents[2]


@contextmanager
def shipped_proxy(
    directory: Path, web_port: int, tls: Path, stream_port: int = 1, on_a_host: str | None = None
) -> Iterator[str]:
    """Start it in front of what listens at `web_port`, as if that were two API processes; yield its address.

    What listens at `stream_port` is the stream. `on_a_host` is the file as the page for hosts makes it.
    """
    port = free_port()
    one = f"server {HOST}:{web_port} max_fails=0;"
    text = on_a_host or (ROOT / "nginx.conf").read_text()
    for shipped, ours in (
        ("listen 8080;" if on_a_host else "listen 5000;", f"listen {HOST}:{port};"),
        ("http://127.0.0.1:5000;" if on_a_host else "http://web:5000;", "http://webs;"),
        ("http://127.0.0.1:5001;" if on_a_host else "http://stream:5001;", f"http://{HOST}:{stream_port};"),
        ("/etc/nginx/tls/", f"{tls}/"),
        ("pid /tmp/nginx.pid;", f"pid {directory}/pid; daemon off;"),
        # Else its workers, as another account than root's, could not write large bodies into the directory.
        ("worker_processes auto;", f"{'user root; ' if os.geteuid() == 0 else ''}worker_processes auto;"),
        ("error_log stderr warn;", f"error_log {directory}/error.log warn;"),
        (
            "http {",
            f"http {{ upstream webs {{ {one} {one} }}"
            + "".join(
                f"{name}_temp_path {directory}/{name};"
                for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
            ),
        ),
    ):
        assert text.count(shipped) == 1, shipped
        text = text.replace(shipped, ours)
    configuration = directory / "nginx.conf"
    configuration.write_text(text)
    argv = [find_program("nginx", PACKAGE), "-c", str(configuration), "-e", str(directory / "error.log")]

    def answers() -> bool:
        try:
            return requests.get(f"http://{HOST}:{port}/", timeout=1).status_code == 200
        except requests.RequestException:
            return False

    process = ServerProcess(argv, directory, answers)
    process.start()
    try:
        yield f"{HOST}:{port}"
    finally:
        process.stop()
