"""A deployment in this process that has the feature: a timer with its field is made, and fires.

Prints what was seen, as a JSON object.
"""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wangtimer.core import features

# What a process adds is found while its modules are imported.
features.FEATURES.append("tests.further_feature")

from werkzeug.serving import make_server  # noqa: E402

from tests.cli.runs import json_of, runner_of  # noqa: E402
from wangtimer.testing import Answer, WangTimer  # noqa: E402
from wangtimer.testing.api_adapter import ApiOf  # noqa: E402
from wangtimer.testing.deployment import HOST  # noqa: E402

URL = "http://target.example/"


@contextmanager
def served(service: WangTimer) -> Iterator[str]:
    """Let the command line reach the API of a deployment in this process."""
    api = ApiOf(service._parts, lambda _: None)
    server = make_server("127.0.0.1", 0, lambda environ, start: api({**environ, "HTTP_HOST": HOST}, start))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def main() -> None:
    """Make a timer that rests in the second minute of each hour, and a plain one; see what comes of both."""
    with WangTimer() as service:
        service.answer(Answer(200, "as you say"))
        body = {"schedule": {"cron": "0,1,2 * * * *"}, "target": {"url": URL}}
        timers = f"{service.url}/v1/timers"
        header = {"WangTimer-App": "test", "Accept-Encoding": "identity"}

        def ask(method: str, url: str, **given: Any) -> Any:
            return service.session.request(method, url, headers=header, **given)

        made = ask("POST", timers, json={"key": "resting", "restMinute": 1, **body}).json()
        ask("POST", timers, json={"key": "plain", **body})
        service.advance(minutes=10)
        firings = ask("GET", f"{service.url}/v1/firings", params={"timer": made.get("id")}).json()
        seen: dict[str, Any] = {
            "made": made,
            "edited": ask("PATCH", f"{timers}/key:plain", json={"restMinute": 5}).json(),
            "calls": [
                {"key": call.key, "minute": call.fire_at.minute, "header": call.headers.get("X-Rest-Minute")}
                for call in service.calls
            ],
            "firings": [
                {name: one.get(name) for name in ("timerKey", "fireAt", "status", "error")}
                for one in firings.get("items", [])
            ],
            "listed": ask("GET", f"{service.url}/v1/words").json(),
            "documented": "/v1/words" in ask("GET", f"{service.url}/openapi.json").json()["paths"],
            "metrics": ask("GET", f"{service.url}/metrics").text,
        }
        with served(service) as url:
            run = runner_of(url, "test")
            seen["command"] = json_of(run("words", "--json"))
            seen["help"] = run("--help").output
    print(json.dumps(seen))


if __name__ == "__main__":
    sys.exit(main())
