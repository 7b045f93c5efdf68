"""The call of a timer or a named target after a change."""

from collections.abc import Iterator, Mapping
from typing import Any

from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.notify_rules import HeaderChanges, check_headers
from wangtimer.api.http.refusals import Refused
from wangtimer.core.timers.secret_parts import masked
from wangtimer.core.timers.timer import Notify, SecretMarks

_Headers = tuple[tuple[str, str], ...]


def changed_call(given: Mapping[str, Any], was: Notify) -> Notify:
    """Return the call as it is shown, `***` in place of each secret, with the changes merged in (RFC 7396).

    `given` has values by the names in `Notify`, its marks as `secret_headers`, `secret_query` and `secret_body`, and as
    `path` what is to stand behind the URL of the target; None stands for null. Raises `Refused`.
    """
    call = masked(was)
    target, url = _changed_place(given, call)
    method = (given["method"] or "") if "method" in given else call.method
    return Notify(
        url,
        # Only a target has one of its own.
        method or ("" if target else "POST"),
        _merged(call.headers, given["headers"]) if "headers" in given else call.headers,
        (given["body"] or "") if "body" in given else call.body,
        _changed_marks(given, call.marks),
        target=target,
    )


def _changed_place(given: Mapping[str, Any], was: Notify) -> tuple[str, str]:
    """Return the target and the URL of the changed call; raises `Refused`."""
    if given.get("url") is not None:
        return "", given["url"]
    target = given.get("target") or was.target
    if "path" not in given:
        return target, was.url if target == was.target or was.target else ""
    if not target:
        raise Refused(
            ErrorCode.BAD_CALLBACK,
            "target.path",
            "the timer has a URL of its own",
            "change url, or name a target too",
        )
    return target, given["path"] or ""


def _changed_marks(given: Mapping[str, Any], was: SecretMarks) -> SecretMarks:
    return SecretMarks(
        tuple(given["secret_headers"] or ()) if "secret_headers" in given else was.headers,
        bool(given.get("secret_query", was.query)),
        bool(given.get("secret_body", was.body)),
    )


def _merged(held: _Headers, changes: HeaderChanges | None) -> _Headers:
    """Return the headers after the changes. A changed header keeps its place."""
    if changes is None:
        return ()
    headers = tuple(_replaced(held, _by_name(changes)))
    check_headers(headers)
    return headers


def _by_name(changes: HeaderChanges) -> dict[str, _Headers]:
    """Return the new values of each changed header, by its name in lower case; raises `Refused`."""
    wanted: dict[str, _Headers] = {}
    for name, values in changes:
        before = wanted.get(name.lower())
        if before is not None and not (before and values):
            raise Refused(
                ErrorCode.BAD_CALLBACK,
                f"target.headers.{name[:64]}",
                "one spelling of it is null, another has a value",
                "give it once: upper and lower case name the same header",
            )
        wanted[name.lower()] = (before or ()) + tuple((name, value) for value in values)
    return wanted


def _replaced(held: _Headers, wanted: dict[str, _Headers]) -> Iterator[tuple[str, str]]:
    left = dict(wanted)
    for name, value in held:
        if name.lower() in wanted:
            yield from left.pop(name.lower(), ())
        else:
            yield name, value
    for headers in left.values():
        yield from headers
