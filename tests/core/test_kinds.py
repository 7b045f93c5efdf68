"""Kinds of rules: each answers for itself, so that nobody else has to ask what kind a rule is of."""

import ast
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import pytest

import wangtimer
from tests.further_kind import Workday, registered
from wangtimer.core.cron.cron import END_MS, Cron
from wangtimer.core.cron.cron_dialect import CronDialect
from wangtimer.core.flow.planning import plan
from wangtimer.core.kinds.kinds import KINDS, asked_fields, kind_of, rule_from_text
from wangtimer.core.previews.previews import preview_of
from wangtimer.core.schedules.calendars import built_in
from wangtimer.core.schedules.every import Every, EveryDays
from wangtimer.core.schedules.rule import Rule
from wangtimer.core.schedules.schedule import Bounded, Once, Spread
from wangtimer.core.timers.timer import UNREAD, Definition, Timer, TimerStatus
from wangtimer.core.words.words import Language

PACKAGE = Path(wangtimer.__file__).parent
# Who judges each firing asks for the bounds in the quickest way.
CHECKS_LEFT = {"core/timers/timer.py": 1}
# The client and the command line spell their own types; `stack` has a `Once` of its own.
OTHER_WORLDS = {"client", "stack"}
NOW = int(datetime(2026, 11, 24, tzinfo=UTC).timestamp()) * 1_000
DAY_MS = 86_400_000
# In noons of Berlin the third Monday to Friday of the months to come.
THIRDS = ["2026-12-03T11:00", "2027-01-05T11:00", "2027-02-03T11:00", "2027-03-03T11:00", "2027-04-05T10:00"]


@pytest.fixture
def further_kind() -> Iterator[None]:
    with registered():
        yield


def ms(texts: list[str]) -> list[int]:
    return [int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000 for text in texts]


def classes_asked_for(path: Path) -> Iterator[str]:
    """Yield the class names that a file asks for by `isinstance` or in a `case`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            yield from (one.id for one in ast.walk(node.args[1]) if isinstance(one, ast.Name))
        if isinstance(node, ast.MatchClass):
            yield from (one.id for one in ast.walk(node.cls) if isinstance(one, ast.Name))


def checks_outside_schedules() -> Counter[str]:
    wanted = {"Bounded", *(kind.of.__name__ for kind in KINDS)}
    found: Counter[str] = Counter()
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE)
        if file.parts[0] not in OTHER_WORLDS and file.parts[:2] != ("core", "schedules"):
            found[str(file)] += sum(name in wanted for name in classes_asked_for(path))
    return +found


def test_nobody_outside_schedules_asks_what_kind_a_schedule_is_of() -> None:
    assert checks_outside_schedules() == CHECKS_LEFT


def test_no_two_kinds_have_a_field_or_a_stored_word_in_common() -> None:
    names = [field.name for field in asked_fields()]
    words = [*chain.from_iterable(kind.stored_words for kind in KINDS)]
    assert len(set(names)) == len(names)
    assert len(set(words)) == len(words)
    assert all(word[0].isalpha() for word in words)


def test_a_rule_shows_the_fields_that_its_kind_says() -> None:
    for rule in (Cron("0 9 * * *", "UTC"), Every(60_000, NOW), EveryDays(DAY_MS, NOW), Once(NOW)):
        kind = kind_of(rule)
        assert list(kind.shown(rule)) == [field.name for field in kind.shown_by]


@pytest.mark.parametrize(
    "rule",
    [
        Cron("0 9 * * *", "Asia/Shanghai"),
        Cron("0 0 9 ? * 2", "UTC", CronDialect.QUARTZ),
        EveryDays(14 * DAY_MS, NOW, "Europe/Berlin"),
    ],
)
def test_a_rule_stored_as_text_is_read_back(rule: Rule) -> None:
    stored = kind_of(rule).stored(rule)
    assert rule_from_text(stored.text or "", stored.timezone) == rule


def test_a_text_of_a_kind_of_another_version_is_read_and_not_planned() -> None:
    read = rule_from_text("solar-noon 52.5 13.4", "UTC")
    with pytest.raises(Exception, match="cron"):
        read.moments(NOW, END_MS, 1)


def test_a_rule_of_no_kind_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="Workday is of no kind"):
        kind_of(Workday(3, "UTC"))


@pytest.mark.usefixtures("further_kind")
def test_a_further_kind_is_stored_and_read_back() -> None:
    rule = Workday(3, "Europe/Berlin")
    stored = kind_of(rule).stored(rule)
    assert stored.text == "workday 3"
    assert rule_from_text("workday 3", stored.timezone) == rule
    assert rule_from_text("0 9 * * *", "UTC") == Cron("0 9 * * *", "UTC")


@pytest.mark.usefixtures("further_kind")
def test_a_further_kind_is_previewed_in_words_with_what_may_surprise() -> None:
    preview = preview_of(Workday(3, "Europe/Berlin"), NOW, 5)
    assert list(preview.moments) == ms(THIRDS)
    assert preview.words[Language.EN] == "at 12:00 on workday 3 of each month (Europe/Berlin)"
    assert preview.words[Language.ZH] == "每月第 3 个工作日 12:00（Europe/Berlin 时间）"
    assert [one.text for one in preview.warnings] == ["holidays count as workdays"]


@pytest.mark.usefixtures("further_kind")
def test_a_further_kind_takes_bounds_days_off_and_a_spread() -> None:
    rule = Workday(3, "Europe/Berlin")
    bounded = Bounded(rule, ms(THIRDS)[1], ms(THIRDS)[3], built_in()["cn-off-days"], Spread(60_000, 7))
    first, *others = bounded.moments(NOW, END_MS, 10)
    assert 0 <= first - ms(THIRDS)[1] < 60_000
    assert len(others) == 2
    words = preview_of(bounded, NOW, 5).words[Language.EN]
    assert words.startswith("at 12:00 on workday 3 of each month, not before 2027-01-05 12:00, not after")


@pytest.mark.usefixtures("further_kind")
@pytest.mark.parametrize("rule", [Workday(3, "Europe/Berlin"), Every(90_000_000, NOW, "Asia/Shanghai")])
def test_a_closed_calendar_is_searched_day_by_day_of_any_kind(rule: Rule) -> None:
    closed = Bounded(rule, excluded=built_in()["weekends"])
    wanted = [at for at in rule.moments(NOW, NOW + 200 * DAY_MS, 200) if closed.matches(at)]
    assert closed.moments(NOW, NOW + 200 * DAY_MS, 200) == wanted


@pytest.mark.usefixtures("further_kind")
def test_a_further_kind_is_planned() -> None:
    definition = Definition(1, "shop", 1, TimerStatus.ENABLED, Workday(3, "Europe/Berlin"), UNREAD)
    timer = Timer(definition, "payday", NOW, None, NOW, NOW)
    planned = plan(timer, ms(THIRDS)[2], 100)
    assert list(planned.moments) == ms(THIRDS)[:3]
    assert planned.next_fire_at == ms(THIRDS)[3]
