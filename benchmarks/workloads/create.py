"""Create and enable over HTTP: latency of the pair at a steady rate, and what a pair costs the API."""

import http.client
import json
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import urlsplit
from uuid import uuid4

from benchmarks.lateness import percentile
from benchmarks.stand import Stand
from benchmarks.workload import Bench, Figure, Measurement, on_one_stand

PAIRS_A_SECOND = 200
CLIENTS = 32
# Due long after the run: only the API works meanwhile.
DELAY_MS = 3_600_000
APP = "bench"


class Client:
    """One kept-open connection a thread."""

    def __init__(self, api_url: str) -> None:
        self._host = urlsplit(api_url).netloc
        self._of_thread = threading.local()

    def create_and_enable(self, name: str, url: str) -> None:
        """Make one timer; raises `RuntimeError` unless both requests succeed."""
        notify = {"url": url, "method": "POST", "body": '{"order":7}'}
        new = {"app": APP, "name": name, "delayMs": DELAY_MS, "notifyHTTPParam": notify}
        timer_id = self._post("/api/timer/v1/def", new)["id"]
        self._post("/api/timer/v1/enable", {"app": APP, "id": timer_id})

    def _post(self, path: str, fields: dict[str, object]) -> dict[str, int]:
        connection = self._connection()
        connection.request("POST", path, json.dumps(fields), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        body = answer.read()
        if answer.status >= http.client.BAD_REQUEST:
            raise RuntimeError(f"{path}: {answer.status} {body[:200]!r}")
        read: dict[str, int] = json.loads(body)
        return read

    def _connection(self) -> http.client.HTTPConnection:
        held: http.client.HTTPConnection | None = getattr(self._of_thread, "connection", None)
        if held is None:
            held = self._of_thread.connection = http.client.HTTPConnection(self._host, timeout=20)
        return held


@dataclass(frozen=True, slots=True)
class Create:
    """Each pair begins at its own moment, however long those before it take; latency counts from that moment."""

    seconds: int = 20
    name: str = "create"
    measures: str = "create + enable over HTTP, 200 pairs/s for 20 s on two API processes"

    @property
    def figures(self) -> Sequence[Figure]:
        """Latency of a pair, and pairs per CPU second of the API's processes."""
        return (
            Figure("pairs_per_api_cpu_s", "/s", at_least=250),
            Figure("pair_p50_ms", "ms"),
            Figure("pair_p99_ms", "ms", at_most=50),
            Figure("pair_max_ms", "ms"),
            Figure("failed", "pairs", at_most=0, is_strict=True),
        )

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Run on one deployment."""
        pairs = bench.scaled(self.seconds, 3) * PAIRS_A_SECOND
        return on_one_stand(bench.stand(http_workers=2), runs, lambda stand: self._run(stand, pairs))

    def _run(self, stand: Stand, pairs: int) -> Measurement:
        client = Client(stand.deployment.api_url)
        prefix = uuid4().hex
        cpu = stand.read_cpu()
        begins_at = time.monotonic() + 0.5

        def make(number: int) -> float:
            due_at = begins_at + number / PAIRS_A_SECOND
            time.sleep(max(0.0, due_at - time.monotonic()))
            try:
                client.create_and_enable(f"{prefix}-{number}", stand.target.url)
            except (RuntimeError, OSError, http.client.HTTPException) as error:
                print(f"pair {number}: {error!r}")
                return float("nan")
            return (time.monotonic() - due_at) * 1_000

        with ThreadPoolExecutor(CLIENTS) as pool:
            took = list(pool.map(make, range(pairs)))
        used = cpu.until(stand.read_cpu())
        ms = sorted(one for one in took if one == one)
        return {
            "pairs_per_api_cpu_s": len(ms) / used["web"],
            "pair_p50_ms": percentile(ms, 0.5),
            "pair_p99_ms": percentile(ms, 0.99),
            "pair_max_ms": percentile(ms, 1.0),
            "failed": pairs - len(ms),
        }


CREATE = Create()
