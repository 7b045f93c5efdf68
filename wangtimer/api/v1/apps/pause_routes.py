"""Pauses over v1: pause, list, let go on. For operators."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from wangtimer.api.http.api_models import Sent
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import Given, plain
from wangtimer.api.http.refusals import Refused, bad_value, shown
from wangtimer.api.v1.apps.app_routes import known_app
from wangtimer.api.v1.parameters import host_port
from wangtimer.api.v1.resource import Resource, Route, tell_soon
from wangtimer.api.v1.value_types import ListPage, PageQuery, Text
from wangtimer.core.errors import Subject
from wangtimer.core.flow.pauses import EVERYTHING, REASON_CHARACTERS, Pause
from wangtimer.core.flow.slicing import LANE_CHARACTERS
from wangtimer.core.timers.timer import TimerStatus
from wangtimer.wiring import Wiring

PauseName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LANE_CHARACTERS,
        description="`all`; or `app:`, `host:` or `timer:` with an app, a target's host and port, or a timer's id",
        examples=["app:shop"],
    ),
]


class PausePath(Given):
    """Which pause."""

    named_by: ClassVar[dict[Subject, str]] = {
        Subject.PAUSE: "what",
        Subject.TIMER: "what",
        Subject.APP: "what",
    }

    what: PauseName


class PauseBody(Given):
    """A pause to make."""

    reason: Annotated[str, Field(max_length=REASON_CHARACTERS), AfterValidator(plain)] = ""
    """why, for whoever lists the pauses"""


class ShownPause(Sent):
    """Something that an operator paused."""

    name: PauseName
    app: Annotated[str | None, Field(description="whose it is; null: no single app's")]
    since: Text
    reason: Annotated[str, Field(description="why, as it was given; empty: nothing was")]


class PausePage(ListPage):
    """A page of pauses."""

    items: list[ShownPause]


# Ids fit into 53 bits.
MOST_DIGITS = 16

# A URL in place of a host is told what to write.
ONE = "/pauses/<path:what>"


class PauseResource(Resource):
    """The operations on pauses."""

    @Route("get", "/pauses", "listPauses")
    def page(self, query: PageQuery) -> PausePage:
        """List what is paused, by name."""
        pauses = self.wiring().pauses.all()
        return PausePage.by_name(
            query,
            "pauses",
            lambda after, most: [pause for pause in pauses if pause.name > after][:most],
            ShownPause.of,
        )

    @Route("put", ONE, "pause", (404, 409))
    def pause(self, path: PausePath, body: PauseBody) -> ShownPause:
        """Pause everything, an app, a target's host and port, or a timer.

        From 5 s after this answer no call of it begins. Firings that come due wait without using an attempt, and their
        records name the pause (`waitedFor`). When it goes on, they follow the misfire policies of their timers. What is
        paused already stays so. At most 1,000 pauses (409).
        """
        wiring = self.wiring()
        name, app = _read(wiring, path.what)
        pause = wiring.pauses.add(Pause(name, self.now(), app, body.reason))
        tell_soon(wiring.pauses_replica)
        return ShownPause.of(pause)

    @Route("delete", ONE, "resume", (404,))
    def resume(self, path: PausePath) -> None:
        """Let what is paused go on: within 5 s firings that waited are called, or skipped by their misfire policies."""
        wiring = self.wiring()
        name = _written(path.what)
        removed = wiring.pauses.remove(name, self.now())
        # In any case: the one before may have died before it told.
        tell_soon(wiring.pauses_replica)
        if removed is None:
            raise Refused(
                ErrorCode.UNKNOWN_PAUSE,
                "what",
                f"{shown(name)} is not paused",
                "list the pauses",
                about=Subject.PAUSE,
            )


def _read(wiring: Wiring, given: str) -> tuple[str, str | None]:
    """Return the name of a pause and whose it is; raises `Refused` where there is no such thing to pause."""
    name = _written(given)
    kind, _, subject = name.partition(":")
    if kind == "app":
        return name, known_app(wiring, subject, "what").name
    if kind == "timer":
        definition = wiring.timers.definitions({int(subject)}).get(int(subject))
        if definition is None or definition.status is TimerStatus.DELETED:
            raise Refused(
                ErrorCode.UNKNOWN_TIMER,
                "what",
                f"there is no timer {shown(subject)}",
                "list the timers",
                about=Subject.TIMER,
            )
        return name, definition.app
    return name, None


def _written(given: str) -> str:
    """Return the name as it is stored; raises `Refused` where it is none."""
    kind, _, subject = given.partition(":")
    if given == EVERYTHING or (kind == "app" and subject):
        return given
    if kind == "timer" and subject.isdecimal() and subject.isascii() and len(subject) <= MOST_DIGITS:
        return f"timer:{int(subject)}"
    if kind == "host" and (host := host_port(subject)) is not None:
        return f"host:{host}"
    raise bad_value(
        "what",
        f"{shown(given)} names nothing that can be paused",
        "write all, app:NAME, host:NAME:PORT or timer:ID",
    )
