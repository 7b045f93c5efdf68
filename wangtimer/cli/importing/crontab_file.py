"""Reads a crontab: its lines, variables and commands (crontab(5))."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from zoneinfo import ZoneInfo

from wangtimer.cli.importing.cron_readings import CRONTAB, MACROS, CrontabZone, read_crontab
from wangtimer.cli.importing.entries import Entry, Found, NotTaken, Refusal, fit_for_key, numbering, zone_of

SYSTEM_FILES = ("/etc/crontab", "/etc/cron.d/", "/etc/anacrontab")
_VARIABLE = re.compile(
    r"""("(?P<quoted>[^"]*)"|'(?P<single>[^']*)'|(?P<plain>[^\s="']+))\s*=\s*(?P<value>.*)"""
)
# The head that Debian, Red Hat and BSD write above the lines of a system's crontab.
_HEAD_WITH_USER = re.compile(
    r"^#[ \t]*(?:\S+[ \t]+){5}(?:user|user-name|username|who)[ \t]+command", re.IGNORECASE | re.MULTILINE
)
# A bare name that no command often begins with, and a command: no option of the name, and no redirection.
_MAY_BE_USER = re.compile(
    r"(?!(?:bash|cd|curl|date|docker|echo|env|find|flock|java|nice|node|perl|php|python3?|ruby|sh|test|timeout|wget)\s)"
    r"[A-Za-z_][\w-]*[ \t]+[^-\s<>|&;]"
)
_SPACE = re.compile(r"[ \t]+")
_ASSIGNMENT = re.compile(r"\w+=\S*\s+")
_DIRECTORY = re.compile(r"cd\s[^;&|]*(?:&&|;)\s*")
# A % ends the command; the text after it is its input, where % is a new line. \% is a percent sign.
_PERCENT = re.compile(r"(?<!\\)%")


@dataclass(slots=True)
class _Reading:
    file: str
    is_system: bool
    daemon: ZoneInfo | None
    tz_is_of_job: bool
    variables: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Line:
    when: str
    user: str | None
    command: str
    given: str | None


def is_system_crontab(path: str) -> bool:
    """Tell whether the file at this path has a user in each line."""
    return path.startswith(SYSTEM_FILES)


def may_be_of_a_system(text: str) -> bool:
    """Tell whether a crontab seems to have a user in each line: its head says so, or each line has a bare name."""
    lines = (line for _, line in _lines(text) if not _VARIABLE.fullmatch(line))
    rests = [rest for line in lines if (rest := _after_moment(line))]
    is_each = all(_MAY_BE_USER.match(rest) for rest in rests)
    return bool(rests) and (is_each or _HEAD_WITH_USER.search(text) is not None)


def read_crontab_file(
    text: str, file: str, is_system: bool, daemon: ZoneInfo | None, tz_is_of_job: bool
) -> list[Found]:
    """Return the entries of a crontab.

    `is_system`: each line has a user before its command. `daemon` is the zone of cron's machine. `tz_is_of_job`: a
    variable `TZ` is only for the job, as in cronie. Without it, lines below a `TZ` are refused, as crons differ.
    """
    reading = _Reading(file, is_system, daemon, tz_is_of_job)
    key_of = numbering()
    found: list[Found] = []
    for number, line in _lines(text):
        if variable := _VARIABLE.fullmatch(line):
            name = variable["quoted"] or variable["single"] or variable["plain"] or ""
            reading.variables[name] = _unquoted(variable["value"].strip())
            continue
        place = f"{file}:{number}"
        try:
            split = _split(line.removeprefix("-"), is_system)
            key = key_of(fit_for_key(_program(split.command)))
            found.append(_entry(reading, place, split, key))
        except NotTaken as error:
            found.append(Refusal(place, line, str(error)))
    return found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    # Cron knows no other end of a line, and no other space.
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip(" \t\r")
        if line and not line.startswith("#"):
            yield number, line


def _after_moment(line: str) -> str:
    count = 1 if line.startswith("@") else len(CRONTAB.bounds)
    return "".join(_SPACE.split(line, count)[count:])


def _entry(reading: _Reading, place: str, line: _Line, key: str) -> Entry:
    where = _zone_of(reading)
    body = {"command": line.command, "user": line.user, "input": line.given}
    schedule = read_crontab(line.when, where)
    return Entry(
        place,
        line.when,
        key,
        fit_for_key(_program(line.command)),
        {"cron": line.when, "timezone": where.zone.key},
        {name: value for name, value in body.items() if value is not None},
        schedule.moments,
        notes=tuple(_notes(reading.variables)),
    )


def _split(line: str, is_system: bool) -> _Line:
    count = 1 if line.startswith("@") else len(CRONTAB.bounds)
    parts = _SPACE.split(line.lstrip(" \t"), count + is_system)
    if len(parts) <= count + is_system:
        raise NotTaken("it has no command")
    when = " ".join(parts[:count])
    if when == "@reboot":
        raise NotTaken("@reboot is not a moment: start it with the machine, for example by systemd")
    if count == 1 and when not in MACROS:
        raise NotTaken(f"{when} is none of {', '.join(MACROS)}")
    command, *given = _PERCENT.split(parts[-1].rstrip())
    lines = "".join(f"{piece}\n" for piece in given) if given else None
    return _Line(
        when,
        parts[count] if is_system else None,
        command.replace("\\%", "%").strip(),
        None if lines is None else lines.replace("\\%", "%"),
    )


def _zone_of(reading: _Reading) -> CrontabZone:
    variables = reading.variables
    own = variables.get("TZ", "")
    if own and not reading.tz_is_of_job and not variables.get("CRON_TZ") and own != _key(reading.daemon):
        raise NotTaken(
            f"TZ={own} is set above it: cronie and Debian's cron give it to the job only, others plan by it; "
            "give --tz-of-job for the first, or write CRON_TZ for the second"
        )
    named = variables.get("CRON_TZ", "")
    return CrontabZone(reading.daemon, zone_of(named) if named else None)


def _key(zone: ZoneInfo | None) -> str | None:
    return None if zone is None else zone.key


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if is_quoted else value


def _program(command: str) -> str:
    """Return the name of the program that a command starts: the last part of its path."""
    at = 0
    while found := (_ASSIGNMENT.match(command, at) or _DIRECTORY.match(command, at)):
        at = found.end()
    words = command[at:].split(None, 1)
    return PurePath(words[0]).name if words else command


def _notes(variables: Iterable[str]) -> Iterable[str]:
    if names := [name for name in variables if name != "CRON_TZ"]:
        yield f"the variables of its environment are not taken over: {', '.join(names)}"
