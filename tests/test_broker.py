"""A send finds ready whatever Celery looks up for it."""

from concurrent.futures import ThreadPoolExecutor

import celery.app.backends
import pytest
from celery import Celery

from wangtimer.base.broker import Broker
from wangtimer.core.flow.firing import Chunk, DueMember, Member
from wangtimer.core.flow.slicing import Slice, TriggerOrder

ORDER = TriggerOrder(Slice(60_000, 0), "token", 1)


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The extensions that Celery looked for among all installed packages."""
    found: list[str] = []

    def look(namespace: str) -> tuple[tuple[str, str], ...]:
        found.append(namespace)
        return ()

    monkeypatch.setattr(celery.app.backends, "load_extension_class_names", look)
    return found


def broker() -> Broker:
    app = Celery("test", set_as_current=False)
    app.config_from_object("celeryconfig")
    app.conf.broker_url = "memory://"
    return Broker(app)


def test_nothing_is_looked_up_for_a_send_in_whatever_thread(lookups: list[str]) -> None:
    warm = broker()
    warm.warm_up()
    assert lookups == ["celery.result_backends"]
    with ThreadPoolExecutor(1) as pool:
        pool.submit(warm.send_trigger, ORDER).result()
    warm.send_trigger(ORDER)
    assert lookups == ["celery.result_backends"]


def test_a_chunk_is_one_message_in_the_queue_of_its_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    some = broker()
    monkeypatch.setattr(some.app, "send_task", lambda _name, _args, queue, **_: sent.append(queue))
    some.queue_of = lambda number: f"callback.{number}" if number else "callback"
    member = DueMember(Member(1, 2, 1), 2)
    for bucket in (0, 255, 256, 600):
        some.send_chunk(Chunk(Slice(60_000, bucket), (member,)))
    assert sent == ["callback", "callback", "callback.1", "callback.2"]


def test_what_waits_is_counted_queue_by_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    some = broker()
    monkeypatch.setattr(Broker, "_queue_length", lambda _self, queue: len(queue))
    some.queue_of = lambda number: f"callback.{number}" if number else "callback"
    assert [some.waiting_chunks(), some.waiting_chunks(1)] == [len("callback"), len("callback.1")]
