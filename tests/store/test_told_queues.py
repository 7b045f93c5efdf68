"""The queues of apps, and who takes their messages, from process to process through Redis."""

from tests.store.worlds import HotWorld


def test_the_queues_of_all_apps_are_told_at_once(hot: HotWorld) -> None:
    assert hot.app_queues.read() is None
    hot.app_queues.write({"shop": "reports", "ads": "mail"})
    assert hot.app_queues.read() == {"shop": "reports", "ads": "mail"}
    hot.app_queues.write({})
    assert hot.app_queues.read() == {}


def test_who_is_there_is_known_by_when_it_last_said_so(hot: HotWorld) -> None:
    first = int(hot.clock.now_ms())
    hot.queue_workers.note(["reports", "mail"])
    hot.clock.sleep(5)
    hot.queue_workers.note(["mail"])
    assert hot.queue_workers.seen() == {"reports": first, "mail": first + 5_000}
    hot.lose_all()
    assert hot.queue_workers.seen() == {}
