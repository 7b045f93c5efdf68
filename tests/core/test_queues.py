"""Names of queues of their own, and their numbers."""

import pytest

from wangtimer.core.flow.queues import MOST_QUEUES, OwnQueues, is_for_callbacks, message_queue


def test_a_name_s_place_is_its_number_and_0_is_the_common_queue() -> None:
    own = OwnQueues.read(" reports, mail ")
    assert own.names == ("reports", "mail")
    assert [own.number_of(name) for name in ("reports", "mail", "other", None)] == [1, 2, 0, 0]
    assert [own.name_of(number) for number in range(4)] == [None, "reports", "mail", None]


def test_a_queue_that_is_not_known_here_goes_by_the_common_one() -> None:
    own = OwnQueues.read("reports")
    assert [own.message_queue_of(number) for number in range(3)] == [
        "callback",
        "callback.reports",
        "callback",
    ]


@pytest.mark.parametrize("text", ["a,a", "A", "a b", "-a", "a-", "none", "a" * 33, "a.b"])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        OwnQueues.read(text)


def test_there_are_so_many_at_most() -> None:
    names = [f"q{number}" for number in range(MOST_QUEUES + 1)]
    assert len(OwnQueues.read(",".join(names[:-1])).names) == MOST_QUEUES
    with pytest.raises(ValueError, match=f"more than the {MOST_QUEUES}"):
        OwnQueues.read(",".join(names))


def test_queues_of_callback_processes_are_told_from_others() -> None:
    assert [is_for_callbacks(one) for one in ("callback", message_queue("mail"), "migrate", "callbacks")] == [
        True,
        True,
        False,
        False,
    ]


def test_a_misspelt_queue_is_guessed() -> None:
    assert OwnQueues.read("reports,mail").meant_by("report") == "reports"
