"""Timers over HTTP, each made and enabled by one request: latency at a steady rate, and what one costs the API."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from benchmarks.disk import DiskWatch
from benchmarks.lateness import percentile
from benchmarks.stand import Stand
from benchmarks.workload import Bench, Figure, Measurement, on_one_stand
from tests.made_apps import make_app_with_key

if TYPE_CHECKING:
    import pycurl

TIMERS_A_SECOND = 200
CLIENTS = 32
# Due long after the run: only the API works meanwhile.
IN_AN_HOUR = {"delay": "1h"}
# One in this many fires each second until the run is over, as enabling plans the next minutes. That gives the planner
# 7,200 firings a second. One in 20 would give it 36,000, which is the workload `plan`.
ONE_IN, EACH_SECOND = 100, {"cron": "* * * * * *"}
APP = "bench"
# The call of each timer.
CALL = {"method": "POST", "body": '{"order":7}'}
# Then, at the same rate, a create and an enable for each timer, as xTimer's clients do.
PAIR_SECONDS = 5
# After the pairs, requests of this many timers each, one at a time.
BATCHES, BATCH = 20, 1_000


class Client:
    """One kept-open connection per thread, by libcurl, which leaves most of the CPU to the API."""

    def __init__(self, api_url: str, key: str) -> None:
        self._api_url, self._key = api_url, key
        self._of_thread = threading.local()

    def create(self, key: str, url: str, schedule: Mapping[str, object]) -> int:
        """Make an enabled timer and return its id; raises `RuntimeError` unless that succeeds."""
        new = {"key": key, "schedule": schedule, "target": {"url": url, **CALL}}
        return self._ask("POST", "/v1/timers", new)["id"]

    def create_and_enable(self, name: str, url: str) -> int:
        """Make a timer by two requests of the compatible paths and return its id; raises `RuntimeError`."""
        new = {"app": APP, "name": name, "delayMs": 3_600_000, "notifyHTTPParam": {"url": url, **CALL}}
        timer_id = self._ask("POST", "/api/timer/v1/def", new)["id"]
        self._ask("POST", "/api/timer/v1/enable", {"app": APP, "id": timer_id})
        return timer_id

    def create_batch(self, names: Sequence[str], url: str) -> int:
        """Make these timers enabled in one request; return how many were refused, all if the request was."""
        target = {"url": url, **CALL}
        timers = [{"key": name, "schedule": IN_AN_HOUR, "target": target} for name in names]
        try:
            return self._ask("POST", "/v1/timers:batchCreate", {"timers": timers})["failed"]
        except RuntimeError as error:
            print(f"batch of {len(names)}: {error!r}")
            return len(names)

    def delete(self, timer_id: int) -> None:
        """Delete a timer."""
        self._ask("DELETE", "/api/timer/v1/def", {"app": APP, "id": timer_id})

    def _ask(self, method: str, path: str, fields: Mapping[str, object]) -> dict[str, int]:
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
            held.setopt(
                pycurl.HTTPHEADER, ["Content-Type: application/json", f"Authorization: Bearer {self._key}"]
            )
            held.setopt(pycurl.TIMEOUT, 20)
            held.setopt(pycurl.NOSIGNAL, 1)
        return held


def client_of(stand: Stand) -> Client:
    """Return a client with a key of the app."""
    return Client(stand.deployment.api_url, make_app_with_key(stand.deployment.database_url, APP))


class Made(NamedTuple):
    """One of many made timers: its number, its timer (0 where it failed), and ms since it should have begun."""

    number: int
    timer_id: int
    took_ms: float


# Makes the timer with this number, and returns its id.
Make = Callable[[int], int]


@dataclass(frozen=True, slots=True)
class Create:
    """Each request begins at its own moment, even while earlier ones run; latency counts from that moment."""

    seconds: int = 20
    name: str = "create"
    measures: str = (
        "timers made and enabled by one request each (POST /v1/timers) with an API key, 200/s for 20 s on two API "
        "processes; one in 100 fires every second; then 200 pairs/s of create and enable, as xTimer's clients send "
        "them, for 5 s; then 20 requests that create and enable 1,000 each"
    )

    @property
    def figures(self) -> Sequence[Figure]:
        """Latency of a request, and timers per CPU second of the API's processes."""
        return (
            Figure("timers_per_api_cpu_s", "/s", at_least=600),
            Figure("p50_ms", "ms"),
            Figure("p99_ms", "ms", at_most=15),
            Figure("max_ms", "ms"),
            Figure("each_second_p50_ms", "ms"),
            Figure("each_second_p99_ms", "ms", at_most=50),
            # Each timer waits for a durable commit.
            Figure("disk_sync_p99_ms", "ms"),
            Figure("disk_sync_max_ms", "ms"),
            Figure("failed", "timers", at_most=0, is_strict=True),
            Figure("pairs_per_api_cpu_s", "/s", more_is_better=True),
            Figure("pairs_failed", "pairs", at_most=0, is_strict=True),
            # Far above the single requests.
            Figure("batch_timers_per_api_cpu_s", "/s", at_least=1_000),
            Figure("batch_timers_per_s", "/s", more_is_better=True),
            Figure("batch_failed", "timers", at_most=0, is_strict=True),
        )

    def measure(self, bench: Bench, runs: int) -> Iterator[Measurement]:
        """Run on one deployment."""
        timers = bench.scaled(self.seconds, 3) * TIMERS_A_SECOND
        pairs = bench.scaled(PAIR_SECONDS, 1) * TIMERS_A_SECOND
        batch = bench.scaled(BATCH, 100)
        return on_one_stand(
            bench.stand(http_workers=2, auth="keys"),
            runs,
            lambda stand: (
                self._singles(stand, timers) | self._pairs(stand, pairs) | self._batches(stand, batch)
            ),
        )

    def _singles(self, stand: Stand, number: int) -> dict[str, float]:
        client, prefix, url = client_of(stand), uuid4().hex, stand.target.url
        cpu = stand.read_cpu()

        def make(one: int) -> int:
            return client.create(f"{prefix}-{one}", url, IN_AN_HOUR if one % ONE_IN else EACH_SECOND)

        with DiskWatch(stand.directory) as disk:
            made = _at_a_steady_rate(make, number)
        used = cpu.until(stand.read_cpu())
        of_busy = [one for one in made if one.number % ONE_IN == 0]
        for one in of_busy:
            client.delete(one.timer_id)
        ms, busy_ms = (sorted(one.took_ms for one in some) for some in (made, of_busy))
        return {
            "timers_per_api_cpu_s": len(ms) / used["web"],
            "p50_ms": percentile(ms, 0.5),
            "p99_ms": percentile(ms, 0.99),
            "max_ms": percentile(ms, 1.0),
            "each_second_p50_ms": percentile(busy_ms, 0.5),
            "each_second_p99_ms": percentile(busy_ms, 0.99),
            "failed": number - len(ms),
            **disk.figures(),
        }

    def _pairs(self, stand: Stand, number: int) -> dict[str, float]:
        client, prefix, url = client_of(stand), uuid4().hex, stand.target.url
        cpu = stand.read_cpu()
        made = _at_a_steady_rate(lambda one: client.create_and_enable(f"{prefix}-{one}", url), number)
        used = cpu.until(stand.read_cpu())
        return {"pairs_per_api_cpu_s": len(made) / used["web"], "pairs_failed": number - len(made)}

    def _batches(self, stand: Stand, timers: int) -> dict[str, float]:
        client = client_of(stand)
        cpu = stand.read_cpu()
        began_at = time.monotonic()
        failed = 0
        for _ in range(BATCHES):
            prefix = uuid4().hex
            names = [f"{prefix}-{number}" for number in range(timers)]
            failed += client.create_batch(names, stand.target.url)
        took_s = time.monotonic() - began_at
        used = cpu.until(stand.read_cpu())
        made = BATCHES * timers - failed
        return {
            "batch_timers_per_api_cpu_s": made / used["web"],
            "batch_timers_per_s": made / took_s,
            "batch_failed": failed,
        }


def _at_a_steady_rate(make: Make, number: int) -> list[Made]:
    """Make `number` timers at `TIMERS_A_SECOND`; return those that were made, and print why others were not."""
    begins_at = time.monotonic() + 0.5

    def make_in_turn(one: int) -> Made:
        due_at = begins_at + one / TIMERS_A_SECOND
        time.sleep(max(0.0, due_at - time.monotonic()))
        try:
            timer_id = make(one)
        except RuntimeError as error:
            print(f"{one}: {error!r}")
            return Made(one, 0, 0.0)
        return Made(one, timer_id, (time.monotonic() - due_at) * 1_000)

    with ThreadPoolExecutor(CLIENTS) as pool:
        return [made for made in pool.map(make_in_turn, range(number)) if made.timer_id]


CREATE = Create()
