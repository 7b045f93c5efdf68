"""The schedule in v1: one model for all kinds."""

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

# Names of fields here, and in the shared rules.
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
    """When it fires: exactly one of `cron`, `at`, `delay`, `every`. Bounds are for `cron` and `every`."""

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
        moment("with every: intervals are counted from this moment; startAt, or else now, by default"),
        Field(alias="anchorAt"),
    ] = None
    at: Annotated[GivenMoment, moment("one moment")] = None
    delay: Annotated[GivenDuration, duration("one moment: this long after the request", "90s")] = None
    timezone: Timezone = None
    start_at: StartAt = None
    end_at: EndAt = None
    max_firings: MaxFirings = None
    jitter: Annotated[GivenDuration, duration(JITTER, "30s")] = None
    exclude_calendar: ExcludeCalendar = None

    def of_rules(self, path: str = "schedule.") -> dict[str, Any]:
        """Return the given fields by their names in `ScheduleFields`; raises `Refused`.

        `path` is the prefix of these fields' names.
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
        """Raise `Refused` unless exactly one of the rules is given."""
        given = [name for name in RULES if getattr(self, name) is not None]
        if len(given) != 1:
            raise Refused(
                ErrorCode.BAD_SCHEDULE,
                path,
                f"{len(given)} of cron, at, delay and every are given",
                "give exactly one of them",
            )


def schedule_fields(schedule: Schedule, path: str = "schedule.") -> ScheduleFields:
    """Return a whole schedule in the terms of the shared rules; raises `Refused`."""
    schedule.refuse_unless_one_rule(path.rstrip("."))
    return ScheduleFields.of_checked(**schedule.of_rules(path))


# Words of the compatible paths, other schedulers and people for a timer's fields here.
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
