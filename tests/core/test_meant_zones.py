"""Which zone was meant by what is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wangtimer.core.time.meant_zones import _ELSEWHERE, meant_zone, unknown_zone
from wangtimer.core.time.zones import zone_names


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Beijing", "Asia/Shanghai"),
        ("Asia/Beijing", "Asia/Shanghai"),
        ("asia/shanghai", "Asia/Shanghai"),
        ("Asia/Shangai", "Asia/Shanghai"),
        ("shanghai", "Asia/Shanghai"),
        ("北京", "Asia/Shanghai"),
        ("America/New York", "America/New_York"),
        ("america/los-angeles", "America/Los_Angeles"),
        ("San Francisco", "America/Los_Angeles"),
        ("Europe/Tokyo", "Asia/Tokyo"),
        ("Londn", "Europe/London"),
        ("utc", "UTC"),
        ("UTC+8", "Etc/GMT-8"),
        ("+08:00", "Etc/GMT-8"),
        ("GMT-03", "Etc/GMT+3"),
        ("China Standard Time", "Asia/Shanghai"),
        ("w. europe standard time", "Europe/Berlin"),
        ("UTC+15", None),
        ("+05:30", None),
        ("CST", None),
        ("PST", None),
        ("Mars/Base", None),
        ("", None),
    ],
)
def test_the_zone_that_was_meant(written: str, meant: str | None) -> None:
    assert meant_zone(written) == meant


def test_what_is_asked_about_are_zones() -> None:
    assert _ELSEWHERE.keys() <= zone_names()


def test_a_zone_in_another_case_is_itself() -> None:
    # A hyphen does not count: GMT-0 and GMT0 are the same zone.
    names = {name for name in zone_names() if not name.endswith("GMT0")}
    assert {name: meant_zone(name.lower()) for name in names} == {name: name for name in names}


@given(st.text(max_size=200))
def test_any_text_is_refused_shortly(written: str) -> None:
    assert len(str(unknown_zone(written))) < 1_000
    assert meant_zone(written) in {None, *zone_names()}
