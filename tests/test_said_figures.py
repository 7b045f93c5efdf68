"""A figure that texts repeat is the code's own: README, pages and docstrings of operations are held against it."""

import re
from pathlib import Path
from typing import get_args

import pytest

from wangtimer.api.http.field_types import MOST_A_PAGE, PAGE, MethodWord
from wangtimer.api.http.reading import MOST_BODY_BYTES
from wangtimer.api.timer_terms.timer_field_types import MOST_FIRINGS
from wangtimer.api.v1.timers.batch_change import MOST_CHANGED
from wangtimer.api.v1.timers.batch_create import MOST_BATCH_BYTES, MOST_TIMERS
from wangtimer.base.settings import Settings
from wangtimer.callback.request import METHODS
from wangtimer.core.timers.change_delay import COUNTS_WITHIN_MS
from wangtimer.core.timers.fields import MOST_RETENTION_DAYS
from wangtimer.store.sql.calendars import MOST_CALENDARS

ROOT = Path(__file__).parents[1]
PAGES = [
    path
    for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "wangtimer").rglob("*.py"))
    if "decisions" not in path.parts
]


def default_of(name: str) -> int:
    return int(Settings.model_fields[name].default)


# What is armed already, or is within the longest pause between two turns of a trigger, can no longer be stopped.
NEAR_S = (default_of("lead_ms") + default_of("turn_ms")) / 1_000
# The words around a figure, in which `#` stands for it; where a text has several, each is held.
SAID: list[tuple[str, float]] = [
    (r"(?:up to|until) # s before its moment", NEAR_S),
    (r"# s \((?:the settings )?`lead_ms` and `turn_ms`\)", NEAR_S),
    (r"(?:or|;) #\s?s where Redis could not be told", COUNTS_WITHIN_MS / 1_000),
    (r"each at most # KiB", MOST_BODY_BYTES / 1_024),
    (r"(?:body|timer|one of these) is over # KiB", MOST_BODY_BYTES / 1_024),
    (r"# MiB where it holds many timers", MOST_BATCH_BYTES / 1_048_576),
    (r"(?:Creates|Makes|Make) up to # timers", MOST_TIMERS),
    (r"`limit` \(#\) (?:timers )?a request", MOST_CHANGED),
    (r"`limit` (?:is|\()#(?: by default, and|,) at most [\d,]+", PAGE),
    (r"`limit` (?:is |\()\d+(?: by default, and|,) at most #", MOST_A_PAGE),
    (r"`maxFirings` \(at most #\)", MOST_FIRINGS),
    (r"last moment \(1 to #;", MOST_RETENTION_DAYS),
    (r"[Aa]n app has (?:at most )?# (?:calendars )?at most", MOST_CALENDARS),
]


@pytest.mark.parametrize(("words", "figure"), SAID, ids=[words for words, _ in SAID])
def test_each_text_says_the_figure_of_the_code(words: str, figure: float) -> None:
    pattern = re.compile(words.replace(" ", r"\s+").replace("#", r"([\d.,]*\d)"))
    found = {
        (str(path.relative_to(ROOT)), said)
        for path in PAGES
        for said in pattern.findall(re.sub(r'"\s+f?"', "", path.read_text()))
    }
    assert found, "no text says it any more: take it out here"
    assert {said for _, said in found if float(said.replace(",", "")) != figure} == set(), found


def test_the_methods_a_request_may_name_are_those_that_can_be_called() -> None:
    assert set(get_args(MethodWord)) == METHODS
