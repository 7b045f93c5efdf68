"""Who takes the messages of own queues, from process to process through Redis."""

from tests.store.worlds import HotWorld


def test_who_is_there_is_known_by_when_it_last_said_so(hot: HotWorld) -> None:
    first = int(hot.clock.now_ms())
    hot.queue_workers.note(["reports", "mail"])
    hot.clock.sleep(5)
    hot.queue_workers.note(["mail"])
    assert hot.queue_workers.seen() == {"reports": first, "mail": first + 5_000}
    hot.lose_all()
    assert hot.queue_workers.seen() == {}
