"""What calls come upon is told soon: each once, together, and no more than a bound."""

from collections.abc import Mapping

from tests.store.worlds import until
from wangtimer.executor import note_teller
from wangtimer.executor.note_teller import MOST_NOTED, NoteTeller
from wangtimer.testing.doubles import HandClock


class Sent:
    """Messages; the first fails where it is told to."""

    def __init__(self, fails: bool = False) -> None:
        self.messages: list[dict[int, tuple[int, int]]] = []
        self.fails = fails

    def __call__(self, called: Mapping[int, tuple[int, int]]) -> None:
        if self.fails:
            self.fails = False
            raise RuntimeError("a fault")
        self.messages.append(dict(called))


def test_what_is_noted_goes_in_one_message_each_timer_once_as_it_was_called_last() -> None:
    sent = Sent()
    teller = NoteTeller("gone", sent, HandClock())
    for timer_id, version in ((1, 1), (2, 5), (1, 2)):
        teller.note(timer_id, (version, 7))
    teller.tell()
    teller.tell()
    assert sent.messages == [{1: (2, 7), 2: (5, 7)}]


def test_there_is_a_bound_and_what_is_left_out_may_be_noted_later() -> None:
    sent = Sent()
    teller = NoteTeller("gone", sent, HandClock())
    for timer_id in range(MOST_NOTED + 5):
        teller.note(timer_id, (1, 0))
    teller.note(0, (2, 0))
    teller.tell()
    teller.note(MOST_NOTED, (1, 0))
    teller.tell()
    assert [len(one) for one in sent.messages] == [MOST_NOTED, 1]
    assert sent.messages[0][0] == (2, 0)


def test_its_thread_tells_soon_and_goes_on_after_a_fault(monkeypatch) -> None:
    monkeypatch.setattr(note_teller, "GATHER_S", 0.0)
    sent = Sent(fails=True)
    teller = NoteTeller("gone", sent, HandClock())
    teller.loop.start()
    teller.note(1, (1, 0))
    until(lambda: not sent.fails)
    teller.note(2, (1, 0))
    until(lambda: sent.messages == [{2: (1, 0)}])
