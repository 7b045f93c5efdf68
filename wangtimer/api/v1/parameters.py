"""The parameters of v1's requests beside the body: app, timer, version, and what people call a target's host."""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, WrapValidator

from wangtimer.api.http.field_types import MOST_ID, App, AppOrAll, Given
from wangtimer.api.http.kept_answers import IdempotencyKey
from wangtimer.api.http.refusals import Refused, bad_value, shown
from wangtimer.core.errors import Subject, UnknownTimer
from wangtimer.core.flow.origin import read_url
from wangtimer.core.messages.message_place import broker_host
from wangtimer.store.sql.timers import TimerStore

APP_HEADER = "WangTimer-App"
IF_MATCH = "If-Match"
ETAG = "ETag"
BY_KEY = "key:"
# In a path. A verb such as `:enable` may follow, and flask-openapi reads `<which>:enable` as a converter.
WHICH = "<string:which>"

_ETAG = re.compile(r'(?:W/)?"([0-9]{1,18})"')


def _in_utf8(given: Any, read: Callable[[Any], Any]) -> Any:
    """Return a header's bytes from WSGI, read as UTF-8; raises `Refused`, naming the header."""
    try:
        return read(given.encode("latin-1").decode() if isinstance(given, str) else given)
    except Refused as refused:
        raise Refused(refused.code, APP_HEADER, refused.reason, refused.mend, refused.meant) from None
    except UnicodeError:
        raise bad_value(APP_HEADER, "it is not in UTF-8", "send the name of the app in UTF-8") from None


OfApp = Annotated[
    App,
    WrapValidator(_in_utf8),
    Field(
        alias=APP_HEADER,
        description="the app: the business service whose timers the request is about; in UTF-8. Without it the key's "
        "app. An operator's key must name one",
    ),
]


class AppHeader(Given):
    """Whose timers."""

    needed: ClassVar[Mapping[str, str]] = {
        APP_HEADER: f"send the header {APP_HEADER} with your app's name, as in {APP_HEADER}: shop"
    }

    app: OfApp


class AnyAppHeader(Given):
    """Whose timers; None: all apps', for an operator."""

    app: Annotated[
        AppOrAll,
        WrapValidator(_in_utf8),
        Field(
            alias=APP_HEADER,
            description="the app: the business service whose timers the request is about; in UTF-8. Without it the "
            "key's app, for an operator's key all apps",
        ),
    ]


def _version(tag: str) -> str:
    """Return the version of an entity tag; raises `Refused`."""
    if tag == "*" or _ETAG.fullmatch(tag):
        return tag
    raise bad_value(
        IF_MATCH,
        f"{shown(tag)} is not the ETag of a timer",
        'write the ETag of an answer, as in "3", with its quotes',
    )


class ChangeHeader(AppHeader):
    """The app of the timer or target, and the version that must be at."""

    named_by: ClassVar[Mapping[Subject, str]] = {Subject.VERSION: IF_MATCH}

    if_match: Annotated[
        str | None,
        Field(alias=IF_MATCH, examples=['"3"']),
        AfterValidator(lambda tag: tag if tag is None else _version(tag)),
    ] = None
    """the ETag of the timer, or target, as you know it: refused (412) where it has changed since. `*`: any version, but
    it must exist"""

    @property
    def version(self) -> int | None:
        """The version that it must be at; None: any."""
        found = None if self.if_match is None else _ETAG.fullmatch(self.if_match)
        return None if found is None else int(found[1])


class ActingHeader(AppHeader):
    """The app of the request, and the key under which its answer is kept."""

    idempotency_key: IdempotencyKey = None


class ActingChangeHeader(ChangeHeader):
    """The app of the timer, the version it must be at, and the key under which the answer is kept."""

    idempotency_key: IdempotencyKey = None


class TimerPath(Given):
    """Which timer: its id, or `key:` and the app's own key for it."""

    named_by: ClassVar[Mapping[Subject, str]] = {Subject.TIMER: "which"}

    which: Annotated[
        str,
        Field(
            description=f"the timer's id, or `{BY_KEY}` and its key",
            examples=["890342217101453", "key:order-42"],
        ),
    ]

    @property
    def key(self) -> str | None:
        """The key; None where the request gives the id."""
        return self.which.removeprefix(BY_KEY) if self.which.startswith(BY_KEY) else None

    def id_in(self, app: str, timers: TimerStore) -> int:
        """Return the timer's id; raises `UnknownTimer` for an unknown key, `Refused` for neither id nor key."""
        if self.key is None:
            return self._id
        found = timers.id_of(app, self.key)
        if found is None:
            raise UnknownTimer(app, shown(self.key))
        return found

    def id_in_any(self, app: str | None, timers: TimerStore) -> int:
        """Return the same where `app` None means all apps; raises `Refused` for a key then: each app has its own."""
        if app is None and self.key is not None:
            mend = "name an app, or write the timer's id"
            raise bad_value("which", "not for all apps at once", mend, about=Subject.TIMER)
        return self.id_in(app or "", timers)

    @property
    def _id(self) -> int:
        if (
            self.which.isascii()
            and self.which.isdigit()
            and len(self.which) < 20
            and 0 < int(self.which) <= MOST_ID
        ):
            return int(self.which)
        raise bad_value(
            "which",
            f"{shown(self.which)} is not the id of a timer",
            f"write its id, or its key as in {BY_KEY}order-42",
            about=Subject.TIMER,
        )


def etag(version: int) -> str:
    """Return the entity tag of a version."""
    return f'"{version}"'


def host_port(text: str) -> str | None:
    """Return a host and port as calls have it; None where it is none."""
    if not text.rpartition(":")[2].isdecimal() or any(sign in text for sign in "/@?#"):
        return None
    origin = read_url(f"http://{text}")[0]
    return None if origin.fault else origin.host_port


def host_at_any_port(text: str, field: str) -> str:
    """Return a host and port as answers show them, `*` for no port; a broker's name as it is. Raises `Refused`."""
    if text.startswith(broker_host("")):
        return text
    name, _, port = text.rpartition(":")
    # Answers show an IPv6 address without brackets.
    found = host_port(text) or host_port(f"[{name}]:{port}")
    if found is not None:
        return found
    found = host_port(f"{text}:80")
    if found is None:
        mend = "write shop.example or shop.example:8443"
        raise bad_value(field, f"{shown(text)} is no host", mend)
    return found.removesuffix("80") + "*"
