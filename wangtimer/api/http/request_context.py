"""What goes with the request under way: the settings, its caller, the app it may name, and how large it is."""

from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from functools import cache
from typing import Any

from flask import Flask, current_app, g, request
from pydantic import ValidationInfo
from pydantic_core import PydanticCustomError

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Refused, shown
from wangtimer.base.settings import Settings
from wangtimer.core.apps.caller import Caller, begin_call
from wangtimer.core.apps.scopes import CHANGING_SCOPES, Scope
from wangtimer.core.at_once import AtOnce
from wangtimer.store.app_directory import AppDirectory

_EXTENSION = "wangtimer.settings"


def keep_settings(app: Flask, read: Callable[[], Settings]) -> None:
    """Keep `read` with the app, so that its requests find the settings."""
    app.extensions[_EXTENSION] = cache(read)


def settings_in_use() -> Settings:
    """Return the settings of the app that answers the current request."""
    settings: Settings = current_app.extensions[_EXTENSION]()
    return settings


def work_s() -> float:
    """Return how many seconds of CPU a request may take before more work is refused."""
    return settings_in_use().http_cpu_ms / 1_000


# The name in `app.extensions` of what returns the directory of apps.
DIRECTORY = "wangtimer.app_directory"
# Stands for an app that the request does not name.
UNNAMED = object()


def unnamed() -> Any:
    """Return what stands for an app that a request does not name."""
    return UNNAMED


def admit(caller: Caller, scope: Scope | None) -> None:
    """Note who calls, also for what is changed, and the scope of the operation; None: it needs none."""
    g.caller, g.scope = caller, scope
    begin_call(caller)


def present_caller() -> Caller:
    """Return who sends the request under way."""
    caller: Caller = g.caller
    return caller


def app_or_own(given: Any) -> Any:
    """Return the app that is named, or else the caller's; an operator must name one."""
    if given is not UNNAMED:
        return given
    own = present_caller().app
    if own is None:
        raise PydanticCustomError("missing", "an operator names the app")
    return own


def app_or_all(given: Any) -> Any:
    """Return the app that is named, or else the caller's; None, all apps, where an operator names none."""
    return present_caller().app if given is UNNAMED else given


def permitted_app_or_all(name: str | None, info: ValidationInfo) -> str | None:
    """Return the app, or None for all apps, if the caller may act for it; raises `Refused`."""
    own = present_caller().app
    asked = own if name is None else name
    return None if asked is None else permitted_app(asked, info)


def permitted_app(name: str, info: ValidationInfo) -> str:
    """Return the name of an app for which the caller may act; raises `Refused`."""
    own = present_caller().app
    if own == name:
        return name
    if own is not None:
        raise Refused(
            ErrorCode.OTHER_APP,
            str(info.field_name),
            f"the key is of app {own!r}, not of {shown(name)}",
            "leave the app out, or name the key's",
        )
    _refuse_unknown(name, str(info.field_name))
    return name


def _refuse_unknown(name: str, field: str) -> None:
    directory: AppDirectory = current_app.extensions[DIRECTORY]()
    found = directory.find(name)
    if found is None:
        raise unknown_app(name, directory.meant_by(name), field)
    if found.disabled_at is not None and g.scope in CHANGING_SCOPES:
        raise Refused(
            ErrorCode.APP_DISABLED,
            field,
            f"app {name!r} is disabled",
            f"enable it first: wangtimer apps enable {name}",
        )


def unknown_app(name: str, meant: str | None, field: str) -> Refused:
    """Return the refusal of an app that does not exist."""
    mend = "an operator makes it: wangtimer apps create" if meant is None else f"did you mean {meant!r}?"
    return Refused(ErrorCode.UNKNOWN_APP, field, f"there is no app {shown(name)}", mend, meant)


# Timers or firings that a small request has at most: 100 timers take some 0.05 s of CPU, 1,000 half a second.
MOST_OF_SMALL = 100
# Of a process' 8 threads, 4 may be at one, 2 of them for one app. They are not those of `LONG_LOOKS`: a batch by filter
# has a look of its own.
LARGE_REQUESTS = AtOnce(4)
# The app in a request's environment, as it is written there: what is permitted is judged elsewhere.
_APP = "HTTP_WANGTIMER_APP"


def begin_if_many(subjects: Sized | None) -> None:
    """Begin a large request if it is about many timers or firings; None: about all that it will find."""
    if subjects is None or len(subjects) > MOST_OF_SMALL:
        begin_large()


def begin_large() -> None:
    """Let the request be a large one, until it is answered; a further call does nothing. Raises `TooManyAtOnce`.

    Call it before the work, once the app's header is read.
    """
    if "end_large" not in g:
        g.end_large = LARGE_REQUESTS.begin(present_caller().app or request.environ.get(_APP))


@contextmanager
def ending_large() -> Iterator[None]:
    """End a large request that the block began."""
    try:
        yield
    finally:
        if end := g.pop("end_large", None):
            end()
