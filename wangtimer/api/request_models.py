"""What callers may send. Types are strict, unknown fields are refused; null is the same as absent."""

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
)

from wangtimer.api.codes import ErrorCode
from wangtimer.api.notify_rules import MOST_HEADERS, MOST_URL_CHARACTERS, check_url, read_headers, read_method
from wangtimer.api.refusals import Refused

MOST_ID = 2**63 - 1
# A hundred years.
MOST_MS = 100 * 366 * 86_400_000
PAGE = 50
MOST_A_PAGE = 500

_DECIMAL = re.compile(r"[0-9]{1,30}")


class Given(BaseModel):
    """Something a caller sent."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def _plain(text: str, info: ValidationInfo) -> str:
    # SQL servers ignore spaces at an end when they compare, so "shop " would be the app "shop".
    if text.isprintable() and text == text.strip():
        return text
    raise Refused(
        ErrorCode.BAD_VALUE,
        str(info.field_name),
        "it has a control or invisible character, or a space at an end",
        "use printable characters",
    )


def _number(given: Any) -> Any:
    """Read a query parameter's digits; leave what is no number for the type check to refuse."""
    return int(given) if isinstance(given, str) and _DECIMAL.fullmatch(given) else given


def _flag(given: Any) -> Any:
    return {"true": True, "1": True, "false": False, "0": False}.get(given, given)


_App = Annotated[
    str,
    Field(
        min_length=1,
        max_length=64,
        description="the business service; checked on every call",
        examples=["shop"],
    ),
    AfterValidator(_plain),
]
_Id = Annotated[int, Field(ge=1, le=MOST_ID, description="the timer's id", examples=[1])]
_Cursor = Annotated[str, Field(max_length=64, description="nextCursor of the page before")]
_Limit = Annotated[
    int, Field(ge=1, le=MOST_A_PAGE, description="entries of a page, at most"), BeforeValidator(_number)
]
_Headers = Annotated[
    tuple[tuple[str, str], ...],
    PlainValidator(read_headers),
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": {
                "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
            },
            "description": f"name to value or list of values; at most {MOST_HEADERS}, 8 KiB in all. Not allowed: "
            "names starting with webhook- or x-wangtimer-, and those of the connection (Host, Content-Length, "
            "Transfer-Encoding, Connection, Expect, ...)",
            "examples": [{"Content-Type": "application/json", "X-Tag": ["a", "b"]}],
        }
    ),
]
_Method = Annotated[
    Literal["GET", "POST", "PUT", "PATCH", "DELETE"],
    BeforeValidator(read_method),
    Field(description="lower case is accepted too"),
]
# Read where the clock is at hand; here it may be anything.
_At = Annotated[
    Any,
    WithJsonSchema(
        {
            "anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}],
            "description": "one moment: RFC 3339 with an offset (finer than 1 ms is rounded up), or ms since 1970",
            "examples": ["2026-11-20T18:16:51.123Z", 1795198611123],
        }
    ),
]


class NotifyParam(Given):
    """The HTTP call to make at each moment."""

    url: Annotated[
        str,
        # The length is in the schema for readers; `check_url` says it better.
        Field(
            description="http or https, ASCII, no user name in it",
            json_schema_extra={"minLength": 1, "maxLength": MOST_URL_CHARACTERS},
            examples=["https://shop.example/orders/expire"],
        ),
        AfterValidator(check_url),
    ]
    method: _Method = "POST"
    header: Annotated[_Headers, Field(default_factory=tuple)]
    body: Annotated[str | None, Field(description="sent as it is, in UTF-8", examples=['{"order":7}'])] = None


class CreateTimer(Given):
    """A new timer: exactly one of `cron`, `at`, `delayMs` says when."""

    app: _App
    name: Annotated[
        str,
        Field(min_length=1, max_length=128, description="unique in its app", examples=["expire-orders"]),
        AfterValidator(_plain),
    ]
    cron: Annotated[
        str | None,
        Field(
            description="minute hour day month weekday; or 6 or 7 fields with SECONDS FIRST and the year last; "
            "or @hourly, @daily, ...; the answer shows the next five moments",
            examples=["*/5 9-17 * * 1-5"],
        ),
    ] = None
    at: _At = None
    delay_ms: Annotated[
        int | None, Field(alias="delayMs", description="one moment: ms from the create", examples=[30000])
    ] = None
    timezone: Annotated[
        str | None,
        Field(description="IANA zone of the cron, UTC by default; a single moment has no use for it"),
    ] = None
    misfire: Annotated[
        Literal["fire_all", "fire_latest", "skip"] | None,
        Field(
            description="what to do with firings found more than misfireGraceMs late, say after an outage: make all, "
            "only the newest of those missed, or none; fire_all by default"
        ),
    ] = None
    misfire_grace_ms: Annotated[
        int | None,
        Field(alias="misfireGraceMs", ge=1_000, le=MOST_MS, description="60000 by default", examples=[60000]),
    ] = None
    catchup_window_ms: Annotated[
        int | None,
        Field(
            alias="catchupWindowMs",
            ge=0,
            le=MOST_MS,
            description="firings found later than this are never made; 0, the default, is no such bound",
        ),
    ] = None
    creator: Annotated[str | None, Field(description="accepted from xTimer's clients, and ignored")] = None
    notify: Annotated[NotifyParam, Field(alias="notifyHTTPParam")]


class TimerKey(Given):
    """Which timer."""

    app: _App
    id: _Id


class TimerQuery(Given):
    """Which timer."""

    app: _App
    id: Annotated[_Id, BeforeValidator(_number)]


class TimersQuery(Given):
    """Which page of an app's timers."""

    app: _App
    limit: _Limit = PAGE
    cursor: _Cursor | None = None


class RecordsQuery(Given):
    """Which page of a timer's firings; `id` or `timerID` says which timer."""

    app: _App
    id: Annotated[_Id | None, BeforeValidator(_number)] = None
    timer_id: Annotated[
        _Id | None, BeforeValidator(_number), Field(alias="timerID", description="xTimer's name of id")
    ] = None
    pending: Annotated[
        bool, BeforeValidator(_flag), Field(description="show the planned firings still to come, too")
    ] = False
    limit: _Limit = PAGE
    cursor: _Cursor | None = None

    @property
    def timer(self) -> int:
        """The timer's id, under whichever name it came; raises `Refused`."""
        given = [number for number in (self.id, self.timer_id) if number is not None]
        if len(given) != 1:
            code = ErrorCode.DUPLICATE_FIELD if given else ErrorCode.MISSING_FIELD
            raise Refused(
                code, "id", f"given {len(given)} times", "give the timer's number once, as id or timerID"
            )
        return given[0]
