"""Options made from the client's description of a timer's fields. A new field becomes an option automatically."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import click

from wangtimer.cli.terminal.parameter_types import MOMENT, SPAN
from wangtimer.client.described_field import DescribedField, described
from wangtimer.client.timer_fields import Misfire, Retry, Rule, Schedule, TargetPatch, TimerFields

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
    return "".join(f"-{one.lower()}" if one.isupper() else one for one in name)


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
SCHEDULE = tuple(one.click_option() for one in FIELD_OPTIONS if one.group == "schedule")
RETRY = tuple(one for one in FIELD_OPTIONS if one.group == "retry")
TERMS = tuple(one.click_option() for one in FIELD_OPTIONS if one.group != "schedule")
# The fields that `--clear` can remove, by its word.
CLEARED: Mapping[str, FieldOption] = {
    one.spellings[0].removeprefix("--") + ("s" if one.field.kind == "texts" else ""): one
    for one in FIELD_OPTIONS
    if one.field.about.can_be_cleared
}
_RULES = tuple(one for one in FIELD_OPTIONS if one.field.about.is_rule)


def timer_fields(options: Mapping[str, Any], cleared: tuple[FieldOption, ...] = ()) -> dict[str, Any]:
    """Return the given fields of a timer in v1's form; cleared fields are null."""
    found: dict[str, Any] = {}
    for one in FIELD_OPTIONS:
        value = options.get(one.parameter)
        is_given = value is not None and value != ()
        if is_given or one in cleared:
            inner = found.setdefault(one.group, {}) if one.group else found
            inner[one.field.name] = (list(value) if isinstance(value, tuple) else value) if is_given else None
    return found


def is_given(option: FieldOption, options: Mapping[str, Any]) -> bool:
    """Tell whether an option was given."""
    return options.get(option.parameter) not in (None, ())


def refuse_unclear(options: Mapping[str, Any], needs_one: bool = True) -> None:
    """Raise a usage error for a schedule of two rules or, where it needs one, of none."""
    found = [one.spellings[0] for one in _RULES if is_given(one, options)]
    if len(found) > 1:
        raise click.UsageError(f"say when in one way, not {' and '.join(found)}")
    if needs_one and not found:
        raise click.UsageError(f"say when: exactly one of {', '.join(one.spellings[0] for one in _RULES)}")
