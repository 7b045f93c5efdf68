"""The caller of the request under way, and the app it may name."""

from typing import Any

from flask import current_app, g
from pydantic import ValidationInfo
from pydantic_core import PydanticCustomError

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.refusals import Refused, shown
from wangtimer.core.apps.caller import Caller, begin_call
from wangtimer.core.apps.scopes import CHANGING_SCOPES, Scope
from wangtimer.store.app_directory import AppDirectory

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
