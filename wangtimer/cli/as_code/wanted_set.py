"""The timers that files ask for, all checked: nothing is sent where one of them is at fault."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wangtimer.api.timer_terms.schedule_reading import FindCalendar
from wangtimer.cli.as_code.timer_files import BadFiles, Fault, TimerInFile
from wangtimer.cli.as_code.wanted_timer import WantedTimer, read_wanted
from wangtimer.core.errors import InvalidInput
from wangtimer.core.schedules.calendars import built_in

# What marks a timer that `apply` made, with the name of its set behind it.
SET = "set="


@dataclass(frozen=True, slots=True)
class Wanted:
    """A timer of a file, and where it stands."""

    timer: WantedTimer
    written: TimerInFile

    @property
    def place(self) -> str:
        """The file and line."""
        return f"{self.written.file}:{self.written.line}"


def read_wanted_set(
    written: Sequence[TimerInFile], app: str, set_name: str | None, now: int, find_calendar: FindCalendar
) -> list[Wanted]:
    """Return what the timers of files ask for at `now` (ms UTC), each marked with its set; raises `BadFiles`."""
    faults: list[Fault] = []
    found: dict[str, Wanted] = {}
    for one in written:
        try:
            _refuse_set_tag(one.document)
            timer = read_wanted(_marked(one.document, set_name), app, now, find_calendar)
        except InvalidInput as error:
            meant = "" if error.meant is None or error.meant in str(error) else f"; meant: {error.meant}"
            faults.append(Fault(one.file, one.line_of(error.field), one.key, f"{error}{meant}"))
            continue
        if earlier := found.get(timer.key):
            faults.append(
                Fault(one.file, one.line, timer.key, f"the key is given twice, first at {earlier.place}")
            )
        found.setdefault(timer.key, Wanted(timer, one))
    if faults:
        raise BadFiles(faults)
    return list(found.values())


def own_calendars(written: Sequence[TimerInFile]) -> set[str]:
    """Return the names of calendars that timers of files name, and that are not always there."""
    schedules = [one.document.get("schedule") for one in written if isinstance(one.document, dict)]
    names = {one.get("excludeCalendar") for one in schedules if isinstance(one, dict)}
    return {name for name in names if isinstance(name, str)} - built_in().keys()


def set_of(tags: Sequence[str]) -> str | None:
    """Return the set that marked a timer; None where none did."""
    return next((tag.removeprefix(SET) for tag in tags if tag.startswith(SET)), None)


def _marked(document: Any, set_name: str | None) -> Any:
    if set_name is None or not isinstance(document, dict):
        return document
    tags = document.get("tags") or []
    return document | {"tags": [*tags, SET + set_name]} if isinstance(tags, list) else document


def _refuse_set_tag(document: Any) -> None:
    tags = document.get("tags") if isinstance(document, dict) else None
    if isinstance(tags, list) and any(isinstance(tag, str) and tag.startswith(SET) for tag in tags):
        raise InvalidInput(
            "tags", f"a tag begins with {SET}", "leave it out: --set NAME gives it to each timer"
        )
