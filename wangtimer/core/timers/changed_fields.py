"""Which fields of a timer an edit changed, by their places in `/v1`; never their values."""

from collections.abc import Iterator

from wangtimer.core.schedules.schedule import as_bounded
from wangtimer.core.timers.fields import FIELDS
from wangtimer.core.timers.timer import Timer

# Fields of a call that have another place in `/v1`.
_PLACES = {"target": "name"}


def changed_fields(was: Timer, now: Timer) -> tuple[str, ...]:
    """Return the places of the fields whose values differ; `schedule` stands for its rule."""
    return tuple(
        dict.fromkeys((*_own(was, now), *_of_schedule(was, now), *_of_call(was, now), *_further(was, now)))
    )


def _own(was: Timer, now: Timer) -> Iterator[str]:
    if was.name != now.name:
        yield "key"


def _of_schedule(was: Timer, now: Timer) -> Iterator[str]:
    before, after = as_bounded(was.definition.schedule), as_bounded(now.definition.schedule)
    if before.rule != after.rule:
        yield "schedule"
    for place, one, other in (
        ("startAt", before.start_ms, after.start_ms),
        ("endAt", was.ending.end_ms, now.ending.end_ms),
        ("maxFirings", was.ending.most, now.ending.most),
        ("excludeCalendar", before.excluded, after.excluded),
        ("jitter", before.jitter_ms, after.jitter_ms),
    ):
        if one != other:
            yield f"schedule.{place}"


def _of_call(was: Timer, now: Timer) -> Iterator[str]:
    before, after = was.definition.notify, now.definition.notify
    for place, one, other in zip(before._fields, before, after, strict=True):
        if one != other:
            yield f"target.{_PLACES.get(place, place)}"


def _further(was: Timer, now: Timer) -> Iterator[str]:
    for field in FIELDS:
        before, after = field.shown(was.value_of(field)), field.shown(now.value_of(field))
        for one in field.asked:
            if before.get(one.name) != after.get(one.name):
                yield one.place
