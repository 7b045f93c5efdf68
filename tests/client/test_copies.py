"""What the client has a copy of, since it imports nothing of the service, is the service's own."""

from typing import Any, get_args

import pytest

from wangtimer.api.asked.many_timers import MOST_CHANGED
from wangtimer.api.asked.new_timers import MOST_TIMERS
from wangtimer.api.http import kept_answer, own_callbacks
from wangtimer.api.http.codes import ErrorCode
from wangtimer.api.http.field_types import MOST_A_PAGE, MOST_ID, MethodWord
from wangtimer.api.v1.durations import read_duration
from wangtimer.api.v1.parameters import APP_HEADER, BY_KEY, IF_MATCH
from wangtimer.api.v1.timers.timer_models import NewTimerBody, Target
from wangtimer.client import Client, calls, many_timer_calls, receiver
from wangtimer.client.described_field import described
from wangtimer.client.timer_fields import (
    Method,
    Misfire,
    MisfirePolicy,
    Rule,
    Schedule,
    TargetPatch,
    TimerFields,
)
from wangtimer.core.cron.cron_dialect import CronDialect
from wangtimer.core.timers.fields import FIELDS
from wangtimer.core.timers.misfire import USUAL
from wangtimer.core.timers.misfire import MisfirePolicy as OfService


class _Sent(Exception):
    """A request, as far as the client has come with it."""


def test_limits_are_the_service_s() -> None:
    assert calls.MOST_A_PAGE == MOST_A_PAGE
    assert receiver.MOST_TIMER_ID == MOST_ID
    assert many_timer_calls.MOST_A_ROUND == MOST_CHANGED == MOST_TIMERS


def test_codes_and_spellings_are_the_service_s() -> None:
    assert ErrorCode.UNKNOWN_TIMER.number == calls.UNKNOWN_TIMER
    assert calls._BY_KEY == BY_KEY
    assert (own_callbacks.ID, own_callbacks.OURS.lower()) == (receiver._ID, receiver._OURS)


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
    assert set(sent[0]) == {APP_HEADER, kept_answer.HEADER}
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
    assert of_timer == shown | {"enabled": NewTimerBody.model_fields["enabled"].default}
    misfire = {name: one.about.default for name, one in described(Misfire).items()}
    assert misfire["policy"] == USUAL.policy
    assert (read_duration(misfire["grace"]), read_duration(misfire["catchupWindow"])) == (
        USUAL.grace_ms,
        USUAL.window_ms,
    )
    assert described(TargetPatch)["method"].about.default == Target.model_fields["method"].default
    assert described(Schedule)["dialect"].about.default == CronDialect.UNIX
