"""What somebody meant who wrote a name that is not known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wangtimer.core.near_misses import Names, near_miss

KNOWN = ["LEAD_MS", "LOCK_MS", "RETENTION_DAYS", "CALLBACK_MOST_HELD", "CALLBACK_IDLE_S", "APP", "ID"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("LEED_MS", "LEAD_MS"),
        ("LEADMS", "LEAD_MS"),
        ("lead-ms", "LEAD_MS"),
        ("LAED_MS", "LEAD_MS"),
        ("RETENTION_DAY", "RETENTION_DAYS"),
        ("RETENSION_DYAS", "RETENTION_DAYS"),
        ("CALLBACK_MOST_HELD_BYTES", None),
        ("CALLBACK_MOST_HELT", "CALLBACK_MOST_HELD"),
        ("APPS", "APP"),
        ("IT", None),
        ("A", None),
        ("", None),
        ("NEAR_WINDOW_S", None),
    ],
)
def test_a_slip_of_the_pen_is_a_near_miss_and_another_name_is_none(written: str, meant: str | None) -> None:
    assert near_miss(written, KNOWN) == meant


def test_the_nearest_is_taken() -> None:
    assert near_miss("abcdexh", ["abcdefg", "abcdefh"]) == "abcdefh"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("leadms", "LEAD_MS"),
        ("LEED_MS", "LEAD_MS"),
        ("LEAD", None),
        ("LAED_MS", "LEAD_MS"),
        ("RETENTION_DAY", "RETENTION_DAYS"),
        ("APPS", "APP"),
        ("APX", "APP"),
        ("I", None),
        ("", None),
    ],
)
def test_one_slip_is_worth_a_question(written: str, meant: str | None) -> None:
    assert Names(KNOWN).meant_by(written) == meant


def test_the_name_itself_comes_before_one_that_is_near() -> None:
    assert Names(["names", "name"]).meant_by("NAME") == "name"


@given(st.text(max_size=300), st.lists(st.text(min_size=1, max_size=20), max_size=5))
def test_any_text_finds_a_known_name_or_none(written: str, known: list[str]) -> None:
    assert near_miss(written, known) in {None, *known}
    assert Names(known).meant_by(written) in {None, *known}


@given(st.text(alphabet="abc", min_size=6, max_size=12), st.data())
def test_one_letter_more_or_less_is_always_near(name: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(name) - 1))
    assert near_miss(name[:place] + name[place + 1 :], [name]) == (name if len(name) > 3 else None)
    assert near_miss(name[:place] + "x" + name[place:], [name]) == name
    assert Names([name]).meant_by(name[:place] + "x" + name[place:]) == name
    assert Names([name]).meant_by(name[:place] + "x" + name[place + 1 :]) == name
