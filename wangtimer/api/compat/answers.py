"""The data of each operation's answer.

`status` numbers, `header`, `runTimer` and `costTime` are xTimer's; whatever has `Name`, `At` or `Ms` is ours.
"""

from typing import Annotated

from pydantic import Field

from wangtimer.api.asked.calendars import HowFollowed
from wangtimer.api.asked.field_models import ShownMoment
from wangtimer.api.asked.firing_types import LastOutput, Lateness, ShownKind, WaitedFor
from wangtimer.api.asked.owned_fields import showing_fields
from wangtimer.api.asked.rule_fields import naming_rules, showing_rules
from wangtimer.api.http.envelope import Answer, Sent, is_none
from wangtimer.core.flow.stopped_moment import StopState
from wangtimer.core.timers.told import COUNTS_WITHIN_MS
from wangtimer.core.words.warning import WarningCode


class Moment(Sent):
    """A moment of a schedule: as text in the timer's zone and in UTC, and in ms since 1970."""

    at: ShownMoment
    at_ms: int
    utc: ShownMoment


class Words(Sent):
    """A schedule in words."""

    en: str
    zh: str


class WarningData(Sent):
    """What may surprise about a schedule within 13 months of its first moment, or as far as its moments are shown."""

    code: WarningCode
    text: str
    text_zh: str


class Preview(Sent):
    """What a schedule comes to."""

    next_moments: list[Moment]
    words: Words
    warnings: list[WarningData]


class NotifyData(Sent):
    """The HTTP call a timer makes."""

    url: str
    method: str
    header: dict[str, list[str]]
    body: str


@showing_rules
class TimerAndRule(Sent):
    """Which timer, how it stands, and its rule."""

    id: int
    app: str
    name: str
    status: Annotated[int, Field(description="1 disabled, 2 enabled, 3 finished: no moment left")]
    status_name: str


@showing_fields
class TimerAndTerms(TimerAndRule):
    """The same, and what else its owner says of it."""

    timezone: str
    start_at: Annotated[ShownMoment | None, Field(exclude_if=is_none)] = None
    end_at: Annotated[ShownMoment | None, Field(exclude_if=is_none)] = None
    max_firings: Annotated[int | None, Field(exclude_if=is_none)] = None
    jitter_ms: Annotated[int | None, Field(exclude_if=is_none)] = None
    exclude_calendar: Annotated[str | None, Field(exclude_if=is_none)] = None


@naming_rules
class TimerData(TimerAndTerms):
    """A timer; it has either {shown}."""

    notify: Annotated[NotifyData, Field(alias="notifyHTTPParam")]
    next_fire_at: Annotated[
        ShownMoment | None, Field(description="null while disabled, or when no moment is left")
    ]
    version: Annotated[int, Field(description="grows with every change")]
    created_at: ShownMoment
    updated_at: ShownMoment


class PlannedTimerData(TimerData, Preview):
    """A timer just created or edited, with the next five moments it will fire at once enabled."""


class ChangeAnswer(Answer):
    """What was changed, and how soon that counts."""

    counts_within_ms: Annotated[
        int,
        Field(
            description="it counts for every moment later than so many ms after this answer: as a rule lead_ms (1000); "
            f"{COUNTS_WITHIN_MS} where Redis could not be told at once"
        ),
    ]


class PreviewAnswer(Answer):
    """What the schedule comes to; nothing is stored."""

    data: Preview


class CreateAnswer(Answer):
    """The new timer; it is disabled until it is enabled."""

    id: int
    data: PlannedTimerData


class PutAnswer(CreateAnswer, ChangeAnswer):
    """The timer as it is now."""

    created: Annotated[bool, Field(description="false: it was there")]


class EditAnswer(ChangeAnswer):
    """The timer as it is now."""

    data: PlannedTimerData


class FollowingData(HowFollowed):
    """Of the app's timers that name a calendar, how many have its days as they were uploaded last."""


class CalendarData(Sent):
    """Days on which nothing fires: `weekdays` (1 Monday to 7 Sunday) and `days`, save those in `working`."""

    name: str
    weekdays: list[int]
    days: list[str]
    working: list[str]
    first_year: Annotated[int | None, Field(description="of the years whose days are known")] = None
    last_year: Annotated[int | None, Field(description="after it only the weekdays count")] = None
    is_built_in: bool
    following: Annotated[
        FollowingData | None,
        Field(
            description="how far timers follow it; null in a list, and for a calendar that is always there"
        ),
    ] = None


class CalendarAnswer(Answer):
    """A calendar. `edited`: how many timers are edited to follow it, within seconds of the answer."""

    data: CalendarData
    edited: Annotated[int, Field(description="of an upload: how many timers will follow it")] = 0


class CalendarsAnswer(Answer):
    """The calendars an app can name."""

    data: list[CalendarData]


class TimerAnswer(Answer):
    """A timer."""

    data: TimerData


class StoppedData(Sent):
    """The moment of a timer for which switching it off came just in time, or just did not."""

    at: ShownMoment
    at_ms: int
    state: Annotated[
        StopState,
        Field(
            description="cancelled: no call of this moment is made any more. in_flight: a call of it may be on its "
            "way, since it is near, or past without an outcome; its record will say. already_fired: a call of it was "
            "sent, and there is no later moment"
        ),
    ]


StoppedField = Annotated[
    StoppedData | None,
    Field(
        description="null: there is no moment to stop, the last has failed and was never sent, the next is near and "
        "the timer was off already, or it could not be told"
    ),
]


class StopAnswer(TimerAnswer, ChangeAnswer):
    """A timer that was switched off."""

    stopped: StoppedField


class DeleteAnswer(ChangeAnswer):
    """A timer is deleted."""

    stopped: StoppedField


class LastOutcome(Sent):
    """What became of a timer's latest firing that has an outcome."""

    run_timer: Annotated[ShownMoment, Field(description="its scheduled moment")]
    status_name: str
    lateness_ms: int | None
    http_status: int | None
    error: str


class ListedTimerData(TimerData):
    """A timer in a list."""

    last_outcome: Annotated[LastOutcome | None, Field(description="null: nothing has fired yet")]


class TimersAnswer(Answer):
    """A page of timers."""

    data: list[ListedTimerData]
    next_cursor: Annotated[str | None, Field(description="null: this was the last page")]
    total: Annotated[
        int | None, Field(exclude_if=is_none, description="with pageIndex: how many timers there are")
    ] = None


class RecordData(Sent):
    """A firing; moments in ms since 1970 UTC where the name ends in Ms."""

    timer_id: Annotated[int, Field(alias="timerID")]
    app: str
    run_timer: Annotated[ShownMoment, Field(description="its scheduled moment")]
    fire_at_ms: Annotated[int, Field(description="its scheduled moment")]
    first_sent_at_ms: int | None
    lateness_ms: Lateness
    cost_time: Annotated[
        int, Field(description="ms of the last attempt's call, connecting included; 0 until then")
    ]
    attempt: int
    status: Annotated[int, Field(description="0 pending, 2 succeeded, 3 failed, 4 skipped")]
    status_name: str
    http_status: int | None
    output: LastOutput
    error: str
    webhook_id: Annotated[
        str, Field(description="header webhook-id of its callback, the same on each attempt")
    ]
    kind: ShownKind
    waited_for: WaitedFor


class RecordsAnswer(Answer):
    """A page of a timer's firings, latest first."""

    data: list[RecordData]
    next_cursor: Annotated[str | None, Field(description="null: this was the last page")]
    total: Annotated[
        int | None, Field(exclude_if=is_none, description="with pageIndex: how many firings there are")
    ] = None


class FiringsAnswer(Answer):
    """A page of an app's firings, latest first."""

    data: list[RecordData]
    next_cursor: Annotated[str | None, Field(description="null: this was the last page")]
