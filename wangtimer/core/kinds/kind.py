"""What a kind of rule defines beside its moments: how rules are asked for, stored, shown and described."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from wangtimer.core.api_field import ApiField
from wangtimer.core.schedules.rule import Rule
from wangtimer.core.schedules.schedule import Schedule
from wangtimer.core.time.zones import DAY_MS
from wangtimer.core.words.warning import Warning
from wangtimer.core.words.words import Language

# No rule fires more often than each second.
MOST_A_DAY = 86_400

OneRule = TypeVar("OneRule", bound=Rule)


@dataclass(frozen=True, slots=True)
class AskedRule:
    """What a request says of a rule: `given` are its fields that are not null, also those of the bounds.

    If no `timezone` is given, it is the former rule's. `now` is ms UTC. `read_moment` reads a field's value as ms UTC;
    its error names the field as callers spell it.
    """

    given: Mapping[str, Any]
    timezone: str
    now: int
    read_moment: Callable[[Any, str], int]


class StoredRule(NamedTuple):
    """What both stores write of a rule: a text in its zone, an interval from an anchor, or one moment (ms UTC).

    Any kind may have a text: that of a new kind begins with a word of its own. It is a tuple, because one is made for
    each definition that is written.
    """

    timezone: str = "UTC"
    text: str | None = None
    every_ms: int | None = None
    anchor_ms: int | None = None
    at_ms: int | None = None


class RuleKind(ABC, Generic[OneRule]):
    """One kind of rule. It has no state: any process and thread may ask."""

    # The class of its rules.
    of: ClassVar[type[Rule]]
    # Fields of a request: one of `asked_by` must be given for a rule of this kind; `details` may be given with it.
    asked_by: ClassVar[tuple[ApiField, ...]]
    details: ClassVar[tuple[ApiField, ...]] = ()
    # The fields of an answer, without the zone.
    shown_by: ClassVar[tuple[ApiField, ...]]
    # The words with which a stored text of its rules may begin: with a letter, unlike any cron expression.
    stored_words: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def read(self, asked: AskedRule, was: OneRule | None) -> OneRule:
        """Return the rule that is asked for; fields that are not given stay as in `was`. Raises `InvalidInput`."""

    def read_anew(self, asked: AskedRule, was: OneRule | None) -> OneRule:  # noqa: ARG002 - for those it matters to
        """Return the rule that is asked for instead of `was`, of which nothing is kept. Raises `InvalidInput`."""
        return self.read(asked, None)

    def refuse_never(self, rule: OneRule) -> None:
        """Raise `InvalidSchedule` if a rule has no moment at all, and this is known without a search."""

    def refuse_over(self, rule: OneRule, now: int) -> None:
        """Raise `InvalidSchedule` if a rule has no moment after `now` (ms UTC), and the kind knows what to mend."""

    @abstractmethod
    def stored(self, rule: OneRule) -> StoredRule:
        """Return what is stored of a rule."""

    def from_text(self, text: str, timezone: str) -> OneRule:
        """Return the rule whose stored text this is; asked only for texts that begin with one of `stored_words`."""
        raise NotImplementedError

    @abstractmethod
    def shown(self, rule: OneRule) -> dict[str, Any]:
        """Return the values of `shown_by` by name, moments as text."""

    @abstractmethod
    def words(self, rule: OneRule, language: Language) -> str:
        """Return when a rule fires, as a phrase without its zone; InvalidSchedule if it cannot be read."""

    def firings_a_day(self, rule: OneRule) -> int:
        """Estimate how many moments a day has on which the rule fires, by the rule alone; 0 if it does not recur."""
        first = rule.first_after(0)
        return 0 if first is None else len(rule.moments(first - 1, first - 1 + DAY_MS, MOST_A_DAY))

    def warnings(self, rule: OneRule) -> Iterable[Warning]:  # noqa: ARG002 - most have none
        """Return what may surprise about a rule as it is written; InvalidSchedule if it cannot be read."""
        return ()

    def quick_warnings(self, rule: OneRule) -> Iterable[Warning]:  # noqa: ARG002 - most have none
        """Return the warnings that take only microseconds: for each of many timers that are made at once."""
        return ()

    def warnings_between(
        self,
        schedule: Schedule,  # noqa: ARG002 - most have none
        rule: OneRule,  # noqa: ARG002
        after_ms: int,  # noqa: ARG002
        until_ms: int,  # noqa: ARG002
    ) -> Iterable[Warning]:
        """Return what may surprise about a schedule of this rule in (after_ms, until_ms], ms UTC."""
        return ()
