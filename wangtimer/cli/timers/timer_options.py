"""The options of timers: of their fields, which the client describes, of their call, and of which timers are meant."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import click

from wangtimer.cli.terminal.parameter_types import MOMENT, SPAN
from wangtimer.client.timer_fields import (
    DescribedField,
    Misfire,
    Retry,
    Rule,
    Schedule,
    TargetPatch,
    TimerFields,
    described,
)

Command = Callable[..., None]

CALL = (
    click.option("--header", "headers", multiple=True, metavar="NAME:VALUE", help="Again for more."),
    click.option("--body", help="Sent as it is; @FILE reads it from a file."),
)
TASK = (
    click.option("--task", help="The Celery task to run; --through names a target of Celery."),
    click.option("--args", metavar="JSON", help="""Its arguments, as in '[42]'."""),
    click.option("--kwargs", metavar="JSON", help="""Its arguments by name, as in '{"all": true}'."""),
    click.option("--queue", help="Another queue than the target's."),
)
FILTERS_BUT_KEY = (
    click.option("--key-prefix"),
    click.option("--key-contains", help="In either case."),
    click.option("--status", type=click.Choice(["disabled", "enabled", "finished"])),
    click.option("--tag"),
    click.option("--next-before", type=MOMENT, help="Timers whose next moment is at or before this."),
    click.option("--host", help="Timers that call this host, or HOST:PORT, themselves or through a target."),
)
FILTERS = (click.option("--key", help="This very key."), *FILTERS_BUT_KEY)
_FILTERS_SPELLED = {"key_prefix": "keyPrefix", "key_contains": "keyContains", "next_before": "nextBefore"}


def options(*wanted: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that gives a command these options, in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(wanted):
            command = option(command)
        return command

    return decorate


def given(options: dict[str, Any]) -> Any:
    """Return the options that were given."""
    return {name: value for name, value in options.items() if value is not None and value != ()}


def filter_of(options: dict[str, Any]) -> Any:
    """Return the given conditions in v1's form."""
    return {_FILTERS_SPELLED.get(name, name): value for name, value in given(options).items()}


def call_of(options: dict[str, Any]) -> dict[str, Any]:
    """Take a call's options out of all; return what they give, as v1 has it. Raises a usage error."""
    url, body, headers = (options.pop(name) for name in ("url_to_call", "body", "headers"))
    dropped = options.pop("dropped", ())
    changes: dict[str, Any] = {}
    if url is not None:
        changes["url"] = url
    if headers or dropped:
        changes["headers"] = dict.fromkeys(dropped) | _read_headers(headers)
    if body is not None:
        changes["body"] = _read_body(body)
    return changes


def task_of(options: dict[str, Any]) -> Any:
    """Take the options of a task out of all options, and return the task in v1's form; None where there is none."""
    task, args, kwargs, queue = (options.pop(name) for name in ("task", "args", "kwargs", "queue"))
    if task is None:
        for name, value in (("args", args), ("kwargs", kwargs), ("queue", queue)):
            if value is not None:
                raise click.UsageError(f"--{name} is of a Celery task: name the task with --task")
        return None
    return given(
        {
            "task": task,
            "args": _read_json("--args", args, list),
            "kwargs": _read_json("--kwargs", kwargs, dict),
            "queue": queue,
        }
    )


def _read_json(option: str, text: str | None, kind: type) -> Any:
    try:
        found = None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        found = text
    if text is not None and not isinstance(found, kind):
        example = "[42]" if kind is list else '{"all": true}'
        raise click.UsageError(f"{option}: {text!r} is not JSON as in '{example}'")
    return found


def _read_headers(headers: tuple[str, ...]) -> dict[str, str | list[str]]:
    found: dict[str, list[str]] = {}
    for header in headers:
        name, colon, value = header.partition(":")
        if not colon:
            raise click.UsageError(f"--header: {header!r} has no colon; write NAME:VALUE")
        found.setdefault(name.strip(), []).append(value.strip())
    return dict(found)


def _read_body(body: str) -> str:
    if not body.startswith("@"):
        return body
    try:
        with open(body[1:], encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--body: {error}") from None


# The groups of a timer's fields; a field of no group is in the timer itself.
GROUPS: Mapping[str, type] = {
    "schedule": Schedule,
    "": TimerFields,
    "misfire": Misfire,
    "retry": Retry,
    "target": TargetPatch,
}
# Options whose spelling differs from their field's.
_SPELLED: Mapping[str, tuple[str, ...]] = {
    "schedule.delay": ("--in", "--delay"),
    "schedule.anchorAt": ("--anchor",),
    "schedule.timezone": ("--tz", "--timezone"),
    "schedule.startAt": ("--start",),
    "schedule.endAt": ("--end",),
    "misfire.policy": ("--misfire",),
    "misfire.grace": ("--misfire-grace",),
    "retry.pause": ("--retry-pause",),
    "retry.longestPause": ("--longest-retry-pause",),
    "retry.pauses": ("--then-after",),
    "retry.within": ("--retry-within",),
    "retry.finalStatuses": ("--final-status",),
    "retry.retriedStatuses": ("--retried-status",),
    "tags": ("--tag",),
    "target.name": ("--through",),
    "target.secretHeaders": ("--secret-header",),
    "enabled": ("--enabled/--disabled",),
}


def _kebab(name: str) -> str:
    return "".join(f"-{sign.lower()}" if sign.isupper() else sign for sign in name)


@dataclass(frozen=True, slots=True)
class FieldOption:
    """The option of a field; `place` is the field's dotted name in a timer."""

    group: str
    field: DescribedField

    @property
    def place(self) -> str:
        """As in `schedule.startAt`."""
        return f"{self.group}.{self.field.name}" if self.group else self.field.name

    @property
    def spellings(self) -> tuple[str, ...]:
        """As in `--start`."""
        return _SPELLED.get(self.place, (f"--{_kebab(self.field.name)}",))

    @property
    def parameter(self) -> str:
        """The name of the command's argument, as in `schedule_startAt`."""
        return self.place.replace(".", "_").lower()

    @property
    def is_of_rule(self) -> bool:
        """Tell whether it is a rule, not a bound."""
        return self.group == "schedule" and self.field.name in Rule.__annotations__

    def click_option(self) -> Any:
        """Return a decorator that adds the option to a command."""
        kind, about = self.field.kind, self.field.about
        more: dict[str, Any] = {"help": about.help}
        if kind == "flag":
            more |= {"is_flag": True, "default": None}
        elif kind == "texts":
            more |= {"multiple": True}
        elif kind == "choice":
            more |= {"type": click.Choice(self.field.choices, case_sensitive=False)}
        elif kind != "text":
            more |= {"type": {"number": click.IntRange(1), "moment": MOMENT, "span": SPAN}[kind]}
        return click.option(*self.spellings, self.parameter, **more)


def _all() -> Iterator[FieldOption]:
    for group, fields in GROUPS.items():
        yield from (FieldOption(group, field) for field in described(fields).values())


FIELD_OPTIONS = tuple(_all())
SCHEDULE = tuple(option.click_option() for option in FIELD_OPTIONS if option.group == "schedule")
RETRY = tuple(option for option in FIELD_OPTIONS if option.group == "retry")
TERMS = tuple(option.click_option() for option in FIELD_OPTIONS if option.group != "schedule")
# The fields that `--clear` can remove, by its word.
CLEARED: Mapping[str, FieldOption] = {
    option.spellings[0].removeprefix("--") + ("s" if option.field.kind == "texts" else ""): option
    for option in FIELD_OPTIONS
    if option.field.about.can_be_cleared
}
_RULES = tuple(option for option in FIELD_OPTIONS if option.field.about.is_rule)


def timer_fields(options: Mapping[str, Any], cleared: tuple[FieldOption, ...] = ()) -> dict[str, Any]:
    """Return the given fields of a timer in v1's form; cleared fields are null."""
    found: dict[str, Any] = {}
    for option in FIELD_OPTIONS:
        value = options.get(option.parameter)
        is_given = value is not None and value != ()
        if is_given or option in cleared:
            inner = found.setdefault(option.group, {}) if option.group else found
            inner[option.field.name] = (
                (list(value) if isinstance(value, tuple) else value) if is_given else None
            )
    return found


def is_given(option: FieldOption, options: Mapping[str, Any]) -> bool:
    """Tell whether an option was given."""
    return options.get(option.parameter) not in (None, ())


def refuse_unclear(options: Mapping[str, Any], needs_one: bool = True) -> None:
    """Raise a usage error for a schedule of two rules or, where it needs one, of none."""
    found = [option.spellings[0] for option in _RULES if is_given(option, options)]
    if len(found) > 1:
        raise click.UsageError(f"say when in one way, not {' and '.join(found)}")
    if needs_one and not found:
        raise click.UsageError(f"say when: exactly one of {', '.join(rule.spellings[0] for rule in _RULES)}")
