"""The demo: `python -m wangtimer.stack.demo` runs the whole service and shows its callbacks as they arrive.

It starts the embedded stack in a temporary directory and an HTTP receiver that knows nothing of WangTimer,
makes one cron timer (each second) and one one-shot over the HTTP API, and after ten callbacks says what
came. The exit code is 0 only if nothing was lost, doubled or early. No process stays behind.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import requests

from wangtimer.client.api_key import Bearer, key_in_file
from wangtimer.core.errors import WangTimerError
from wangtimer.stack.arrivals import Arrival, EverySecond, Journal, Once, summarise
from wangtimer.stack.child import ChildSpec, inherited_environment
from wangtimer.stack.embedded import EmbeddedStack, embedded_stack
from wangtimer.stack.ports import free_port
from wangtimer.stack.service import MAKERS_RANK
from wangtimer.stack.supervisor import StartError, StopRequest, wait_for

APP = "demo"
CALLBACKS = 10
DELAY_MS = 3_000
LISTEN_SECONDS = 30.0
# How long to wait for a second delivery of the last callbacks.
LINGER_SECONDS = 1.5


class DemoError(WangTimerError):
    """The demo could not be carried out."""


def main() -> int:
    """Run the demo; return the exit code."""
    try:
        with StopRequest() as stop, tempfile.TemporaryDirectory(prefix="wangtimer-demo-") as folder:
            return _run(Path(folder), stop)
    except (WangTimerError, requests.RequestException) as error:
        print(f"demo failed: {error}", file=sys.stderr)
        return 1


def _run(folder: Path, stop: StopRequest) -> int:
    with embedded_stack(folder / "data", free_port(), stop, _say, APP) as stack:
        if stop.has_come:
            return 130
        target = _start_receiver(stack, folder / "requests.jsonl", stop)
        cron, once = _make_timers(stack, target)
        arrivals = list(_listen(stack, Journal(folder / "requests.jsonl"), (cron, once), stop))
    if stop.has_come:
        return 130
    return _report(arrivals, cron, once)


def _start_receiver(stack: EmbeddedStack, out: Path, stop: StopRequest) -> str:
    spec = ChildSpec(
        name="receiver",
        argv=(sys.executable, "-m", "wangtimer.stack.receiver", "--port", "0", "--out", str(out)),
        log=stack.directory.logs / "receiver.log",
        working_directory=stack.directory.path,
        environment=inherited_environment(),
    )
    # If it ended before the workers, it would refuse the callbacks that they still finish. So it ends with the servers.
    stack.supervisor.start(spec, MAKERS_RANK + 2)
    if not wait_for(lambda: stop.has_come or spec.log.read_text().endswith("\n"), seconds=10):
        raise StartError(f"the receiver did not print its port, see {spec.log}")
    return f"http://127.0.0.1:{spec.log.read_text().strip()}/callback"


def _make_timers(stack: EmbeddedStack, target: str) -> tuple[EverySecond, Once]:
    began_at = time.time() * 1_000
    once_id = _make_timer(stack, "once", {"delay": f"{DELAY_MS}ms"}, target)
    once = Once(str(once_id), began_at, time.time() * 1_000, DELAY_MS)
    cron_id = _make_timer(stack, "every-second", {"cron": "* * * * * *"}, target)
    cron = EverySecond(str(cron_id), time.time() * 1_000)
    _say(f"timer {cron_id}: cron * * * * * *   timer {once_id}: once, {DELAY_MS} ms after its creation")
    return cron, once


def _make_timer(stack: EmbeddedStack, key: str, schedule: dict[str, str], url: str) -> int:
    target = {"url": url, "headers": {"Content-Type": "text/plain"}, "body": "hello"}
    answer = requests.post(
        f"{stack.api_url}/v1/timers",
        json={"key": key, "schedule": schedule, "target": target},
        auth=Bearer(key_in_file(stack.directory.key_file)),
        timeout=10,
    )
    if not answer.ok:
        raise DemoError(f"POST /v1/timers answered {answer.status_code}: {answer.text[:500]}")
    return int(answer.json()["id"])


def _listen(
    stack: EmbeddedStack, journal: Journal, timers: tuple[EverySecond, Once], stop: StopRequest
) -> Iterator[Arrival]:
    """Show and return what arrives until ten callbacks have come, and shortly after."""
    names = {timers[0].timer: "every-second", timers[1].timer: "once"}
    count, until = 0, time.monotonic() + LISTEN_SECONDS
    enough_at: float | None = None
    while not stop.has_come and time.monotonic() < (enough_at or until):
        stack.supervisor.restart_dead()
        for arrival in journal.new_arrivals():
            count += 1
            _show(count, arrival, names.get(arrival.timer, "?"))
            yield arrival
        if count >= CALLBACKS and enough_at is None:
            enough_at = time.monotonic() + LINGER_SECONDS
        time.sleep(0.02)


def _show(number: int, arrival: Arrival, name: str) -> None:
    second = time.strftime("%H:%M:%S", time.gmtime(arrival.fire_at // 1_000))
    due = f"{second}.{arrival.fire_at % 1_000:03d}Z"
    _say(f"{number:3d}  {name:<13} due {due}  {arrival.lateness_ms:6.1f} ms late, attempt {arrival.attempt}")


def _report(arrivals: list[Arrival], cron: EverySecond, once: Once) -> int:
    summary = summarise(arrivals, cron, once)
    _say(str(summary))
    if len(arrivals) < CALLBACKS:
        _say(f"only {len(arrivals)} of {CALLBACKS} callbacks came within {LISTEN_SECONDS:g} s")
        return 1
    return 0 if summary.is_clean else 1


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
