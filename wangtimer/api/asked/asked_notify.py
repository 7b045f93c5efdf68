"""Reads the call that a timer is to make from a request."""

from collections.abc import Iterator

from wangtimer.api.asked.terms import NotifyChange, NotifyParam
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.notify_rules import HeaderChanges, check_headers
from wangtimer.api.http.refusals import Refused
from wangtimer.core.timers.secret_parts import masked
from wangtimer.core.timers.timer import Notify, SecretMarks

_Headers = tuple[tuple[str, str], ...]


class MarkedCall(NotifyParam):
    """A call of v1: its owner may mark parts of it as secret.

    With a `target` it goes through that; `url` is then what stands behind the target's, and a method of "" is its own.
    """

    target: str = ""

    secret_headers: tuple[str, ...] = ()
    secret_query: bool = False
    secret_body: bool = False


class MarkedChange(NotifyChange):
    """Changes of a call of v1; a mark that is absent stays, null takes it away.

    `path` is what stands behind the URL of the `target`.
    """

    target: str | None = None
    path: str | None = None

    secret_headers: tuple[str, ...] | None = None
    secret_query: bool | None = None
    secret_body: bool | None = None


def new_notify(asked: NotifyParam) -> Notify:
    """Return the call that a request gives in full."""
    call = Notify(asked.url, asked.method, asked.header, asked.body or "")
    if not isinstance(asked, MarkedCall):
        return call
    marks = SecretMarks(asked.secret_headers, asked.secret_query, asked.secret_body)
    return call._replace(marks=marks, target=asked.target)


def changed_notify(asked: NotifyChange, was: Notify) -> Notify:
    """Return the call as it is shown, `***` in place of each secret, with the changes merged in (RFC 7396).

    Raises `Refused`.
    """
    notify = masked(was)
    given = asked.model_fields_set
    target, url = _changed_place(asked, notify)
    method = (asked.method or "") if "method" in given else notify.method
    return Notify(
        url,
        # Only a target has one of its own.
        method or ("" if target else "POST"),
        _merged(notify.headers, asked.header) if "header" in given else notify.headers,
        (asked.body or "") if "body" in given else notify.body,
        _changed_marks(asked, notify.marks) if isinstance(asked, MarkedChange) else notify.marks,
        target=target,
    )


def _changed_place(asked: NotifyChange, was: Notify) -> tuple[str, str]:
    """Return the target and the URL of the changed call; raises `Refused`."""
    if asked.url is not None:
        return "", asked.url
    if not isinstance(asked, MarkedChange):
        return was.target, was.url
    target = asked.target or was.target
    if asked.path is None:
        return target, was.url if target == was.target or was.target else ""
    if not target:
        raise Refused(
            ErrorCode.BAD_CALLBACK,
            "target.path",
            "the timer has a URL of its own",
            "change url, or name a target too",
        )
    return target, asked.path


def _changed_marks(asked: MarkedChange, was: SecretMarks) -> SecretMarks:
    given = asked.model_fields_set
    return SecretMarks(
        (asked.secret_headers or ()) if "secret_headers" in given else was.headers,
        bool(asked.secret_query) if "secret_query" in given else was.query,
        bool(asked.secret_body) if "secret_body" in given else was.body,
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
