"""What the client has a copy of, since it imports nothing of the service, is the service's own."""

from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wangtimer.api.http import kept_answers, serving
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import MOST_A_PAGE, MOST_ID, MethodWord
from wangtimer.api.v1.parameters import APP_HEADER, BY_KEY, IF_MATCH
from wangtimer.api.v1.timers.batch_change import MOST_CHANGED
from wangtimer.api.v1.timers.batch_create import MOST_TIMERS
from wangtimer.api.v1.timers.timer_models import NewTimerBody, Target
from wangtimer.client import Client, calls, receiver, timer_calls
from wangtimer.client.timer_fields import (
    Method,
    Misfire,
    MisfirePolicy,
    Rule,
    Schedule,
    TargetPatch,
    TimerFields,
    described,
)
from wangtimer.client.values import read_span
from wangtimer.core.cron.cron_dialect import CronDialect
from wangtimer.core.time.durations import read_duration
from wangtimer.core.timers.call_options import KeepOutput as KeepOutputOfService
from wangtimer.core.timers.fields import FIELDS
from wangtimer.core.timers.misfire import USUAL
from wangtimer.core.timers.misfire import MisfirePolicy as OfService
from wangtimer.core.timers.overlap import Overlap as OverlapOfService


class _Sent(Exception):
    """A request, as far as the client has come with it."""


def test_limits_are_the_service_s() -> None:
    assert calls.MOST_A_PAGE == MOST_A_PAGE
    assert receiver.MOST_TIMER_ID == MOST_ID
    assert timer_calls.MOST_A_ROUND == MOST_CHANGED == MOST_TIMERS


def test_codes_and_spellings_are_the_service_s() -> None:
    assert ErrorCode.UNKNOWN_TIMER.number == calls.UNKNOWN_TIMER
    assert calls._BY_KEY == BY_KEY
    assert (serving.ID, serving.OURS.lower()) == (receiver._ID, receiver._OURS)


@pytest.mark.parametrize(
    ("text", "span_ms"),
    [
        ("0s", 0),
        ("250ms", 250),
        ("90s", 90_000),
        ("1.5s", 1_500),
        ("1.0005s", 1_001),
        ("2w", 1_209_600_000),
        ("1h30m", 5_400_000),
        ("30m1h", 5_400_000),
        ("0.5d12h", 86_400_000),
        ("999999999999999.999999999w", 604_800_000_000_000_000_000_000),
        ("PT90S", 90_000),
        ("PT0.0001S", 1),
        ("P1W", 604_800_000),
        ("P1DT1.5H", 91_800_000),
        *dict.fromkeys(
            (
                "",
                "10",
                "s",
                "1",
                "-1s",
                "1,5s",
                "1.s",
                ".5s",
                "1 s",
                "1S",
                "1y",
                "1s\n",
                "\u0661s",
                "1234567890123456s",
                "1.1234567890s",
                "1s" * 11,
                "P",
                "PT",
                "P1DT",
                "P1",
                "P1M",
                "P1Y",
                "PT1D",
                "PT1S1M",
                "P1D1W",
            )
        ).items(),
    ],
)
def test_spans_are_read_as_the_service_reads_them(text: str, span_ms: int | None) -> None:
    assert (_read(read_span, text), _read(read_duration, text)) == (span_ms, span_ms)


@given(
    st.one_of(st.from_regex(r"(\d{1,16}(\.\d{0,10})?(ms|[wdhms])){1,12}"), st.text("P1.0TWDHMS", max_size=12))
)
def test_any_text_is_read_alike(text: str) -> None:
    assert _read(read_span, text) == _read(read_duration, text)


def _read(read: Callable[[str], int], text: str) -> int | None:
    try:
        return read(text)
    except ValueError:
        return None


def test_headers_are_the_service_s(monkeypatch: pytest.MonkeyPatch) -> None:
    client, sent = Client("http://localhost:1", "shop"), []

    def ask(call: Any) -> None:
        sent.append(call.header)
        raise _Sent

    monkeypatch.setattr(client._transport, "ask", ask)
    with pytest.raises(_Sent):
        client.create_timer(schedule={"cron": "0 9 * * *"}, target={"url": "http://localhost:1/"})
    with pytest.raises(_Sent):
        client.enable_timer(1, version=2)
    assert set(sent[0]) == {APP_HEADER, kept_answers.HEADER}
    assert set(sent[1]) == {APP_HEADER, IF_MATCH}


def test_words_are_the_service_s() -> None:
    assert get_args(Method) == get_args(MethodWord)
    assert set(get_args(MisfirePolicy)) == {one.value for one in OfService}
    assert set(described(Rule)["dialect"].choices) == {one.value for one in CronDialect}


def test_defaults_are_the_service_s() -> None:
    of_timer = {name: one.about.default for name, one in described(TimerFields).items()}
    shown = {
        one.json_name: value
        for field in FIELDS
        for one, value in zip(field.asked, field.shown(field.default).values(), strict=True)
        if not one.v1
    }
    # What is the usual in v1 is not there in the row.
    usual = {
        "enabled": NewTimerBody.model_fields["enabled"].default,
        "keepOutput": KeepOutputOfService.ALWAYS.value,
        "overlap": OverlapOfService.ALLOW.value,
    }
    assert of_timer == shown | usual
    misfire = {name: one.about.default for name, one in described(Misfire).items()}
    assert misfire["policy"] == USUAL.policy
    assert (read_duration(misfire["grace"]), read_duration(misfire["catchupWindow"])) == (
        USUAL.grace_ms,
        USUAL.window_ms,
    )
    assert described(TargetPatch)["method"].about.default == Target.model_fields["method"].default
    assert described(Schedule)["dialect"].about.default == CronDialect.UNIX
