"""When a timer fires: one shape for all kinds of schedules."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from wangtimer.api.asked.bound_types import JITTER, EndAt, ExcludeCalendar, MaxFirings, StartAt, Timezone
from wangtimer.api.asked.terms import ScheduleFields
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import Given, GivenMoment, moment
from wangtimer.api.http.refusals import Refused
from wangtimer.api.v1.durations import GivenDuration, duration, read_duration_field
from wangtimer.api.v1.pointers import OWN_NAMES

# Their names here, and those that the shared rules have for them.
RULES = {"cron": "cron", "at": "at", "delay": "delay_ms", "every": "every_ms"}
_DURATIONS = {"delay": "delay_ms", "every": "every_ms", "jitter": "jitter_ms"}
_AS_THEY_ARE = (
    "cron",
    "at",
    "timezone",
    "start_at",
    "end_at",
    "max_firings",
    "exclude_calendar",
    "anchor_at",
)


class Schedule(Given):
    """When: exactly one of `cron`, `at`, `delay`, `every`; `cron` and `every` within bounds."""

    cron: Annotated[
        str | None,
        Field(
            description="minute hour day month weekday; or 6 or 7 fields with SECONDS FIRST and the year last; or "
            "@hourly, @daily, ...",
            examples=["*/5 9-17 * * 1-5"],
        ),
    ] = None
    dialect: Annotated[
        Literal["unix", "quartz"] | None,
        Field(
            description="how cron is read, unix by default. quartz, as Quartz, XXL-JOB and PowerJob write it: weekdays "
            "1-7 from SUNDAY, ? for day or weekday, L, W and #",
        ),
    ] = None
    every: Annotated[
        GivenDuration, duration("an interval of a second or more, counted from anchorAt", "5m")
    ] = None
    anchor_at: Annotated[
        GivenMoment,
        moment("of every: a moment from which intervals are counted; startAt, or else now, by default"),
        Field(alias="anchorAt"),
    ] = None
    at: Annotated[GivenMoment, moment("one moment")] = None
    delay: Annotated[GivenDuration, duration("one moment: so long after this request", "90s")] = None
    timezone: Timezone = None
    start_at: StartAt = None
    end_at: EndAt = None
    max_firings: MaxFirings = None
    jitter: Annotated[GivenDuration, duration(JITTER, "30s")] = None
    exclude_calendar: ExcludeCalendar = None

    def of_rules(self, path: str = "schedule.") -> dict[str, Any]:
        """Return what is given, by the names that `ScheduleFields` has for it; raises `Refused`.

        `path` is what stands before the names of these fields.
        """
        given = {name: getattr(self, name) for name in self.model_fields_set}
        asked: dict[str, Any] = {name: given[name] for name in _AS_THEY_ARE if name in given}
        if "dialect" in given:
            asked["cron_dialect"] = given["dialect"]
        for name, of_rules in _DURATIONS.items():
            if name in given:
                text = given[name]
                asked[of_rules] = None if text is None else read_duration_field(text, f"{path}{name}")
        return asked

    def refuse_unless_one_rule(self, path: str = "schedule") -> None:
        """Return where exactly one of the rules is given; raises `Refused`."""
        given = [name for name in RULES if getattr(self, name) is not None]
        if len(given) != 1:
            raise Refused(
                ErrorCode.BAD_SCHEDULE,
                path,
                f"{len(given)} of cron, at, delay and every are given",
                "give exactly one of them",
            )


def schedule_fields(schedule: Schedule, path: str = "schedule.") -> ScheduleFields:
    """Return a whole schedule as the shared rules read it; raises `Refused`."""
    schedule.refuse_unless_one_rule(path.rstrip("."))
    return ScheduleFields.of_checked(**schedule.of_rules(path))


# Words of the compatible paths, of other schedulers, and of people, for fields of a timer here.
WORDS: Mapping[str, str] = {
    **OWN_NAMES,
    "cronExpression": "schedule.cron",
    "expression": "schedule.cron",
    "interval": "schedule.every",
    "delaySeconds": "schedule.delay",
    "startTime": "schedule.startAt",
    "endTime": "schedule.endAt",
    "expireAt": "schedule.endAt",
    "runAt": "schedule.at",
    "fireAt": "schedule.at",
    "tz": "schedule.timezone",
    "zone": "schedule.timezone",
    "maxRuns": "schedule.maxFirings",
    "repeatCount": "schedule.maxFirings",
    "calendar": "schedule.excludeCalendar",
    "callback": "target",
    "webhook": "target",
    "notify": "target",
    "callbackUrl": "target.url",
    "endpoint": "target.url",
    "payload": "target.body",
    **dict.fromkeys(("timeoutMs", "timeoutSeconds", "timeoutS"), "target.timeout"),
    "misfirePolicy": "misfire.policy",
    "active": "enabled",
    "enable": "enabled",
    "isEnabled": "enabled",
    "paused": "enabled",
    "labels": "tags",
}


class OfTimers(Given):
    """A request about timers."""

    our_words: ClassVar[Mapping[str, str] | None] = WORDS
