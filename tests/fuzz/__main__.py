"""`python -m tests.fuzz --examples 5000 --seed 0`: the deployed app on SQLite and an embedded Valkey, fuzzed."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
import schemathesis

from tests.fuzz.run import LEAST_DONE, fuzz
from tests.fuzz.standing import APP, Standing
from tests.made_apps import make_apps
from tests.servers.redis_server import RedisServer, embedded_valkey_program
from wangtimer.core.egress.egress_rules import PUBLIC_AND_LOOPBACK
from wangtimer.stack.child import dying_with
from wangtimer.stack.ports import free_port

START_SECONDS = 30.0
GUNICORN = ("-m", "gunicorn", "--config", "python:wangtimer.api.gunicorn", "wangtimer.api:create_app()")


def main() -> int:
    """Run; return 1 where an answer was at fault, or too few did anything."""
    asked = _arguments()
    with tempfile.TemporaryDirectory(prefix="wangtimer-fuzz-") as folder:
        log = Path(folder) / "web.log"
        with _served(Path(folder), log) as url:
            schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
            standing = Standing(_sender(url), now=int(time.time() * 1_000))
            tally = fuzz(schema, standing, asked.examples, asked.seed)
        print(*tally.lines(), sep="\n")
        if tally.faults:
            print(log.read_text()[-4_000:])
    if tally.done < LEAST_DONE:
        print(
            f"under {LEAST_DONE:.0%} of the cases did anything: what tests/fuzz/sensible.py picks is refused"
        )
    return 1 if tally.faults or tally.done < LEAST_DONE else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--examples", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


@contextmanager
def _served(folder: Path, log: Path) -> Iterator[str]:
    with RedisServer(embedded_valkey_program(), folder) as store, log.open("w") as out:
        port = free_port()
        settings = {
            "WANGTIMER_DATABASE_URL": f"sqlite:///{folder / 'wangtimer.db'}",
            "WANGTIMER_STORE_URL": store.url(),
            "WANGTIMER_BROKER_URL": store.url(1),
            "WANGTIMER_HTTP_BIND": f"127.0.0.1:{port}",
            "WANGTIMER_EGRESS": PUBLIC_AND_LOOPBACK,
            "WANGTIMER_HTTP_WORKERS": "1",
            "WANGTIMER_AUTH": "off",
        }
        make_apps(settings["WANGTIMER_DATABASE_URL"], APP, "bank")
        process = subprocess.Popen(
            [sys.executable, *GUNICORN],
            env=os.environ | settings,
            stdout=out,
            stderr=out,
            preexec_fn=dying_with(os.getpid()),
        )
        try:
            yield _listening(f"http://127.0.0.1:{port}", process)
        finally:
            process.terminate()
            process.wait(20)


def _listening(url: str, process: "subprocess.Popen[bytes]") -> str:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            requests.get(f"{url}/healthz", timeout=5)
            return url
        except requests.ConnectionError:
            time.sleep(0.05)
    raise SystemExit("the web process did not start")


def _sender(url: str) -> Any:
    session = requests.Session()

    def send(method: str, path: str, given: dict[str, Any]) -> Any:
        place = {"params": given} if method == "GET" else {"json": given}
        return session.request(
            method, f"{url}{path}", headers={"WangTimer-App": APP}, timeout=10, **place
        ).json()

    return send


if __name__ == "__main__":
    sys.exit(main())
