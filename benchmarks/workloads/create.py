"""Create and enable over HTTP: latency of the pair at a steady rate, and what a pair costs the API."""

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from benchmarks.disk import DiskWatch
from benchmarks.lateness import percentile
from benchmarks.stand import Stand
from benchmarks.workload import Bench, Figure, Measurement, on_one_stand

if TYPE_CHECKING:
    import pycurl

PAIRS_A_SECOND = 200
CLIENTS = 32
# Due long after the run: only the API works meanwhile.
IN_AN_HOUR = {"delayMs": 3_600_000}
# So many of them fire each second instead, until the run is over: enabling plans what comes within the next minutes.
# The planner has 7,200 firings a second to do beside; of one in 20 it would be 36,000, which is `plan`.
ONE_IN, EACH_SECOND = 100, {"cron": "* * * * * *"}
APP = "bench"
# Requests of so many timers each, after the pairs, one at a time.
BATCHES, BATCH = 20, 1_000


class Client:
    """One kept-open connection a thread; by libcurl, which takes little of what the API is to be given."""

    def __init__(self, api_url: str) -> None:
        self._api_url = api_url
        self._of_thread = threading.local()

    def create_and_enable(self, name: str, url: str, schedule: Mapping[str, object]) -> int:
        """Make one timer and return its id; raises `RuntimeError` unless both requests succeed."""
        new = {"app": APP} | _terms(name, url, schedule)
        timer_id = self._ask("POST", "/api/timer/v1/def", new)["id"]
        self._ask("POST", "/api/timer/v1/enable", {"app": APP, "id": timer_id})
        return timer_id

    def create_batch(self, names: Sequence[str], url: str, schedule: Mapping[str, object]) -> int:
        """Make and enable so many timers in one request; return how many were refused, all if the request was."""
        timers = [_terms(name, url, schedule) for name in names]
        batch = {"app": APP, "timers": timers, "enable": True}
        try:
            return self._ask("POST", "/api/timer/v1/defs", batch)["failed"]
        except RuntimeError as error:
            print(f"batch of {len(names)}: {error!r}")
            return len(names)

    def delete(self, timer_id: int) -> None:
        """Delete a timer."""
        self._ask("DELETE", "/api/timer/v1/def", {"app": APP, "id": timer_id})

    def _ask(self, method: str, path: str, fields: dict[str, object]) -> dict[str, int]:
        import pycurl

        curl = self._connection()
        curl.setopt(pycurl.URL, self._api_url + path)
        curl.setopt(pycurl.CUSTOMREQUEST, method)
        curl.setopt(pycurl.COPYPOSTFIELDS, json.dumps(fields))
        try:
            body = curl.perform_rb()
        except pycurl.error as error:
            raise RuntimeError(f"{path}: {error}") from error
        status = curl.getinfo(pycurl.RESPONSE_CODE)
        if status >= HTTPStatus.BAD_REQUEST:
            raise RuntimeError(f"{path}: {status} {body[:200]!r}")
        read: dict[str, int] = json.loads(body)
        return read

    def _connection(self) -> "pycurl.Curl":
        import pycurl  # only where it measures: the page is written without the `bench` extra

        held: pycurl.Curl | None = getattr(self._of_thread, "connection", None)
        if held is None:
            held = self._of_thread.connection = pycurl.Curl()
            held.setopt(pycurl.HTTPHEADER, ["Content-Type: application/json"])
            held.setopt(pycurl.TIMEOUT, 20)
            held.setopt(pycurl.NOSIGNAL, 1)
        return held


def _terms(name: str, url: str, schedule: Mapping[str, object]) -> dict[str, object]:
    """Return a timer as the API takes it in a batch; with its app, alone."""
    return {
        "name": name,
        "notifyHTTPParam": {"url": url, "method": "POST", "body": '{"order":7}'},
        **schedule,
    }


class Pair(NamedTuple):
    """One create and enable: the timer (0 where it failed), when it is to fire, and ms since it should have begun."""

    timer_id: int
    schedule: Mapping[str, object]
    took_ms: float


@dataclass(frozen=True, slots=True)
class Create:
    """Each pair begins at its own moment, however long those before it take; latency counts from that moment."""

    seconds: int = 20
    name: str = "create"
    measures: str = (
        "create + enable over HTTP, 200 pairs/s for 20 s on two API processes; one timer in 100 fires "
        "every second; then 20 requests that create and enable 1,000 each"
    )

    @property
    def figures(self) -> Sequence[Figure]:
        """Latency of a pair, and pairs per CPU second of the API's processes."""
        return (
            Figure("pairs_per_api_cpu_s", "/s", at_least=250),
            Figure("pair_p50_ms", "ms"),
            Figure("pair_p99_ms", "ms", at_most=50),
            Figure("pair_max_ms", "ms"),
            Figure("each_second_p50_ms", "ms"),
            Figure("each_second_p99_ms", "ms", at_most=50),
            # Each pair waits for two durable commits.
            Figure("disk_sync_p99_ms", "ms"),
            Figure("disk_sync_max_ms", "ms"),
            Figure("failed", "pairs", at_most=0, is_strict=True),
            # Far above the pairs: four times their bound.
            Figure("batch_timers_per_api_cpu_s", "/s", at_least=1_000),
            Figure("batch_timers_per_s", "/s", more_is_better=True),
            Figure("batch_failed", "timers", at_most=0, is_strict=True),
        )

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Run on one deployment."""
        pairs = bench.scaled(self.seconds, 3) * PAIRS_A_SECOND
        timers = bench.scaled(BATCH, 100)
        return on_one_stand(
            bench.stand(http_workers=2),
            runs,
            lambda stand: self._pairs(stand, pairs) | self._batches(stand, timers),
        )

    def _pairs(self, stand: Stand, pairs: int) -> dict[str, float]:
        client = Client(stand.deployment.api_url)
        prefix = uuid4().hex
        cpu = stand.read_cpu()
        begins_at = time.monotonic() + 0.5

        def make(number: int) -> Pair:
            due_at = begins_at + number / PAIRS_A_SECOND
            time.sleep(max(0.0, due_at - time.monotonic()))
            schedule = IN_AN_HOUR if number % ONE_IN else EACH_SECOND
            try:
                timer_id = client.create_and_enable(f"{prefix}-{number}", stand.target.url, schedule)
            except RuntimeError as error:
                print(f"pair {number}: {error!r}")
                return Pair(0, schedule, 0.0)
            return Pair(timer_id, schedule, (time.monotonic() - due_at) * 1_000)

        with DiskWatch(stand.directory) as disk, ThreadPoolExecutor(CLIENTS) as pool:
            made = [pair for pair in pool.map(make, range(pairs)) if pair.timer_id]
        used = cpu.until(stand.read_cpu())
        of_busy = [pair for pair in made if pair.schedule is EACH_SECOND]
        for pair in of_busy:
            client.delete(pair.timer_id)
        ms, busy_ms = (sorted(pair.took_ms for pair in some) for some in (made, of_busy))
        return {
            "pairs_per_api_cpu_s": len(ms) / used["web"],
            "pair_p50_ms": percentile(ms, 0.5),
            "pair_p99_ms": percentile(ms, 0.99),
            "pair_max_ms": percentile(ms, 1.0),
            "each_second_p50_ms": percentile(busy_ms, 0.5),
            "each_second_p99_ms": percentile(busy_ms, 0.99),
            "failed": pairs - len(ms),
            **disk.figures(),
        }

    def _batches(self, stand: Stand, timers: int) -> dict[str, float]:
        client = Client(stand.deployment.api_url)
        cpu = stand.read_cpu()
        began_at = time.monotonic()
        failed = 0
        for _ in range(BATCHES):
            prefix = uuid4().hex
            names = [f"{prefix}-{number}" for number in range(timers)]
            failed += client.create_batch(names, stand.target.url, IN_AN_HOUR)
        took_s = time.monotonic() - began_at
        used = cpu.until(stand.read_cpu())
        made = BATCHES * timers - failed
        return {
            "batch_timers_per_api_cpu_s": made / used["web"],
            "batch_timers_per_s": made / took_s,
            "batch_failed": failed,
        }


CREATE = Create()
