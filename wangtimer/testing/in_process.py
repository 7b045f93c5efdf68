"""WangTimer in the process of a test: the interface for tests."""

import sys
from contextlib import ExitStack
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

import requests
from pydantic import ValidationError
from requests.structures import CaseInsensitiveDict

from wangtimer.callback import Call
from wangtimer.client import Client
from wangtimer.core.retry import RetryPolicy
from wangtimer.testing.api_adapter import ApiOf, WsgiAdapter
from wangtimer.testing.deployment import HOST, Deployment, settings_of
from wangtimer.testing.doubles import ScriptedAnswer
from wangtimer.testing.driver import Driver
from wangtimer.testing.targets import Behaviour, MadeCall, Targets
from wangtimer.testing.written_times import moment_ms, shown, span_ms, zone_of

URL = f"http://{HOST}"
# A Monday.
FIRST_MOMENT = "2027-01-04T00:00:00Z"
APP = "test"
# The client's, here and in its own distribution: both may be loaded.
VERIFICATIONS = ("wangtimer.client.verification", "wangtimer_client.verification")


class WangTimer:
    """The service with all its stages, on a clock that stands still until the test moves it. No server, no thread.

    `start` is the first moment. Without an offset it is a time in `timezone`; moments are shown in this zone too. A
    timer's own zone is UTC by default, as everywhere. `client` makes timers of `app`.
    `most_attempts` (1 to 100) and `callback_timeout` (0.1 to 300 s) are the service's settings. Not for several threads
    at once.

    Raises TypeError or ValueError for a zone, a moment, an app or a setting that cannot work.
    """

    def __init__(
        self,
        start: datetime | str = FIRST_MOMENT,
        timezone: str = "UTC",
        app: str = APP,
        *,
        most_attempts: int = RetryPolicy().attempts,
        callback_timeout: timedelta = timedelta(seconds=10),
    ) -> None:
        self._zone = zone_of(timezone)
        self._app = app
        self._calls: list[MadeCall] = []
        self._targets = Targets()
        self._keys: dict[int, str] = {}
        try:
            settings = settings_of(
                most_attempts=most_attempts, callback_timeout_ms=span_ms(callback_timeout, {})
            )
        except ValidationError as error:
            problem = error.errors()[0]
            raise ValueError(f"{problem['loc'][0]}={problem['input']!r}: {problem['msg']}") from None
        self._parts = Deployment(moment_ms(start, self._zone), settings, self._take)
        self._driver = Driver(self._parts)
        self._session = requests.Session()
        # Ignores proxies and passwords of this machine.
        self._session.trust_env = False
        self._session.mount(URL, WsgiAdapter(ApiOf(self._parts, self._note_request)))
        self._clients: dict[str, Client] = {}
        self._is_closed = False
        self.client_of(app)

    @property
    def url(self) -> str:
        """The address of the service. Only `session` and the clients made here can reach it."""
        return URL

    @property
    def session(self) -> requests.Session:
        """A session for requests to the API's paths below `url`, in this process."""
        return self._session

    @property
    def client(self) -> Client:
        """The SDK's client of `app`."""
        return self.client_of(self._app)

    def client_of(self, app: str) -> Client:
        """Return the SDK's client of another app."""
        if app not in self._clients:
            # `follow` pauses between two reads; here a pause lets time pass.
            self._clients[app] = Client(URL, app, retries=0, key="", session=self._session, sleep=self._wait)
        return self._clients[app]

    # time

    @property
    def now(self) -> datetime:
        """The present moment."""
        return shown(self._parts.steered.now_ms(), self._zone)

    def advance(self, span: timedelta | None = None, /, **units: float) -> list[MadeCall]:
        """Let time pass, as in `advance(hours=3)`; return the calls that were made, in order.

        Everything that comes due meanwhile happens at its own moment, also at the last one. Without a span, all that is
        due now happens. Units are weeks, days, hours, minutes, seconds and milliseconds; a day has 24 hours. Raises
        TypeError or ValueError for a bad span, RuntimeError while time is already moving, and any error but `OSError`
        that a target's function raises.
        """
        return self._run_to(self._now_ms + span_ms(span, units))

    def advance_to(self, moment: datetime | str) -> list[MadeCall]:
        """Let time pass up to a moment, without an offset one of the zone. Raises ValueError for a past one."""
        until = moment_ms(moment, self._zone)
        if until < self._now_ms:
            raise ValueError(f"{moment} is past: now is {self.now.isoformat()}, and time does not go back")
        return self._run_to(until)

    def sleep(self, span: timedelta | None = None, /, **units: float) -> None:
        """Let time pass while no part of the service works, as in an outage.

        The next `advance` finds the firings that came due meanwhile. They are late and follow their timers' misfire
        policies. Arguments and errors are those of `advance`.
        """
        self._refuse_closed()
        self._driver.stand_still_to(self._now_ms + span_ms(span, units))

    # targets

    @property
    def calls(self) -> list[MadeCall]:
        """Every call that was made, in order."""
        return list(self._calls)

    def calls_of(self, key: str) -> list[MadeCall]:
        """Return the calls of the timers with this key."""
        return [call for call in self._calls if call.key == key]

    def answer(self, behaviour: Behaviour, url: str = "") -> None:
        """Set how targets answer from now on: all, or those whose URL begins with `url`. The last setting counts.

        `behaviour` is a status (503), an `Answer`, an `OSError` for a connection that fails (`ConnectionError`,
        `TimeoutError`: no answer in time), or a function of the call that returns or raises one of these; None from it
        is 200. Raises TypeError or ValueError for anything else.
        """
        self._targets.say(behaviour, url)

    # its end

    def close(self) -> None:
        """Close it, and forget all its timers."""
        if not self._is_closed:
            self._is_closed = True
            self._parts.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _now_ms(self) -> int:
        return int(self._parts.steered.now_ms())

    def _wait(self, pause_s: float) -> None:
        self.advance(seconds=pause_s)

    def _run_to(self, until: int) -> list[MadeCall]:
        self._refuse_closed()
        before = len(self._calls)
        self._driver.run_to(until)
        return self._calls[before:]

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise RuntimeError("this WangTimer is closed; make another")

    def _note_request(self, may_change: bool) -> None:
        self._refuse_closed()
        if may_change:
            self._keys.clear()
            self._driver.note_change()

    def _take(self, sent_at_ms: float, call: Call) -> ScriptedAnswer:
        """Note a call, and return its target's answer; signatures are checked at the moment of the call there."""
        made = self._made(sent_at_ms, call)
        self._calls.append(made)
        with ExitStack() as stack:
            for name in VERIFICATIONS:
                if (module := sys.modules.get(name)) is not None:
                    stack.callback(
                        module.usual_clock.reset, module.usual_clock.set(lambda: sent_at_ms / 1_000)
                    )
            return self._targets.answer(made)

    def _made(self, sent_at_ms: float, call: Call) -> MadeCall:
        request = call.request
        headers = CaseInsensitiveDict(request.headers)
        timer_id, attempt = int(headers["X-WangTimer-Timer"]), int(headers["X-WangTimer-Attempt"])
        fire_at = int(headers["X-WangTimer-Fire-At"])
        was_due_at = fire_at if attempt == 1 else call.due_at_ms
        return MadeCall(
            self._key_of(timer_id),
            request.app,
            timer_id,
            headers["webhook-id"],
            shown(fire_at, self._zone),
            shown(sent_at_ms, self._zone),
            timedelta(milliseconds=sent_at_ms - was_due_at),
            attempt,
            request.method,
            request.url,
            headers,
            request.body.decode(),
        )

    def _key_of(self, timer_id: int) -> str:
        if timer_id not in self._keys:
            self._keys[timer_id] = self._parts.key_of(timer_id)
        return self._keys[timer_id]
