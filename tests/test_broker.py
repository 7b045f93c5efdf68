"""A send finds ready whatever Celery looks up for it."""

from concurrent.futures import ThreadPoolExecutor

import celery.app.backends
import pytest
from celery import Celery

from wangtimer.broker import Broker
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
