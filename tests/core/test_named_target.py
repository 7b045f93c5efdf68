"""What a timer's call becomes that goes through a named target; no timer leads out of the target."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as some

from wangtimer.core.timers.call_options import AS_DEPLOYED, KeepOutput, Timeouts
from wangtimer.core.timers.named_target import NamedTarget, url_behind, why_not_behind
from wangtimer.core.timers.timer import Notify, SecretMarks

URL = "https://shop.example:8443/hooks"
CALL = Notify(
    URL, "PUT", (("Authorization", "Bearer sesame"), ("X-Tag", "blue")), "{}", SecretMarks(("x-tag",))
)
TARGET = NamedTarget("shop", "orders", 1, CALL)


def own(url: str = "", **fields: object) -> Notify:
    return Notify(url, "")._replace(target="orders", **fields)


def test_a_timer_that_gives_nothing_makes_the_call_of_its_target() -> None:
    assert TARGET.called_by(own()) == CALL


def test_what_a_timer_gives_takes_the_place_of_what_the_target_has() -> None:
    called = TARGET.called_by(
        own("/expire?order=7", method="PATCH", headers=(("x-tag", "red"), ("X-Order", "7")), body="7")
    )
    assert called.url == f"{URL}/expire?order=7"
    assert (called.method, called.body) == ("PATCH", "7")
    assert called.headers == (("Authorization", "Bearer sesame"), ("x-tag", "red"), ("X-Order", "7"))


def test_marks_of_both_count() -> None:
    secret_body = TARGET.changed_to(CALL._replace(marks=SecretMarks(("x-tag",), True, True)))
    marks = SecretMarks(("x-order",))
    assert secret_body.called_by(own(marks=marks)).marks == SecretMarks(("x-tag", "x-order"), True, True)
    # The body is the timer's, and so is what it says of it.
    assert not secret_body.called_by(own(marks=marks, body="7")).marks.body


@pytest.mark.parametrize(
    ("url", "path", "called"),
    [
        (URL, "", URL),
        (URL, "/a", f"{URL}/a"),
        (f"{URL}/", "/a", f"{URL}/a"),
        (URL, "?b=1", f"{URL}?b=1"),
        (f"{URL}?key=k", "/a?b=1", f"{URL}/a?key=k&b=1"),
        (f"{URL}?key=k#part", "/a", f"{URL}/a?key=k"),
        ("https://shop.example", "/a", "https://shop.example/a"),
        ("https://shop.example", "//evil.example/a", "https://shop.example//evil.example/a"),
    ],
)
def test_a_path_and_a_query_stand_behind_the_url(url: str, path: str, called: str) -> None:
    assert why_not_behind(path) == ""
    assert url_behind(url, path) == called


@pytest.mark.parametrize(
    "path",
    [
        "a",
        "@evil.example/",
        ":9999/",
        ".evil.example",
        "/a#b",
        "/..",
        "/../admin",
        "/a/./b",
        "/%2e%2e/admin",
        "/a/.%2E/b",
        "/a%2f..%2fb",
        "/..%5cadmin",
        "/..;x=1/admin",
    ],
)
def test_what_leads_elsewhere_is_refused(path: str) -> None:
    assert why_not_behind(path)


@given(some.text(some.characters(min_codepoint=33, max_codepoint=126), max_size=20))
def test_no_path_changes_where_the_call_goes(path: str) -> None:
    if not why_not_behind(path):
        for url in (URL, "https://shop.example:8443", f"{URL}?key=k"):
            parts = urlsplit(url_behind(url, path))
            assert (parts.scheme, parts.netloc) == ("https", "shop.example:8443")


def test_of_both_words_on_the_output_the_one_counts_that_keeps_less() -> None:
    always, failures, never = KeepOutput.ALWAYS, KeepOutput.ON_FAILURE, KeepOutput.NEVER
    careful = NamedTarget("shop", "orders", 1, CALL, keep_output=failures)
    assert [careful.keep_output_of(one) for one in (always, failures, never)] == [failures, failures, never]
    assert TARGET.keep_output_of(never) is never


def test_a_timers_own_time_out_goes_before_that_of_the_target() -> None:
    patient = NamedTarget("shop", "orders", 1, CALL, timeouts=Timeouts(5_000, None, 900))
    assert patient.timeouts_of(AS_DEPLOYED) == Timeouts(5_000, None, 900)
    assert patient.timeouts_of(Timeouts(200, 300)) == Timeouts(200, 300, 900)
    assert TARGET.timeouts_of(AS_DEPLOYED) == AS_DEPLOYED
