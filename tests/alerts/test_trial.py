"""A trial of a rule waits for its answer, one of an app at a time."""

from threading import Event, Thread
from typing import Any, cast

import pytest

from wangtimer.core.errors import UnknownAlertRule
from wangtimer.features.alerts.alert_trial import AlertTrial, TrialAnswer
from wangtimer.store.sql.alert_messages import AlertMessages
from wangtimer.testing.doubles import HandClock


class Messages:
    """Tests that are answered once they may be."""

    def __init__(self) -> None:
        self.is_asked, self.may_answer = Event(), Event()

    def ask_test(self, _app: str, rule: str, _now: int) -> int | None:
        if rule == "none":
            raise UnknownAlertRule("shop", rule)
        self.is_asked.set()
        return None if rule == "just tried" else 1

    def answer_of(self, _message_id: int) -> str:
        assert self.may_answer.wait(10)
        return '{"is_taken": true}'


def trial_of(messages: Messages) -> AlertTrial:
    return AlertTrial(cast("Any | AlertMessages", messages), HandClock(1_000))


def test_an_app_has_one_trial_under_way_and_another_app_one_too() -> None:
    messages, found = Messages(), list[TrialAnswer]()
    trial = trial_of(messages)
    first = Thread(target=lambda: found.append(trial.run("shop", "ops")))
    first.start()
    assert messages.is_asked.wait(10)
    assert "another test of this app is under way" in trial.run("shop", "other").error
    messages.may_answer.set()
    assert trial.run("bank", "ops").is_taken
    first.join()
    assert found == [TrialAnswer(True)]
    assert trial.run("shop", "ops").is_taken


def test_a_rule_that_was_just_tried_says_when_to_ask_again_and_holds_no_place() -> None:
    trial = trial_of(messages := Messages())
    messages.may_answer.set()
    for _ in range(3):
        assert trial.run("shop", "just tried").error == "it was tried less than 10 s ago; ask again in 10 s"
        with pytest.raises(UnknownAlertRule):
            trial.run("shop", "none")
    assert trial.run("shop", "ops").is_taken
