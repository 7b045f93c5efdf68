"""The check-up of the broker: it is reachable, each queue has workers and is short, and a beat runs."""

from collections.abc import Iterator, Mapping

from celery import Celery
from kombu.exceptions import OperationalError

from wangtimer.broker import ANSWER_WITHIN_S, Broker, redis_url
from wangtimer.cli.doctor.findings import Finding, Part
from wangtimer.cli.doctor.redis_checkup import check_redis
from wangtimer.core.errors import StoreAway
from wangtimer.settings import Settings

PART = Part("broker")
SETTING = "WANGTIMER_BROKER_URL"
BEAT = "beat@"


def check_broker(settings: Settings, app: Celery) -> Iterator[Finding]:
    """Yield the findings. Workers are pinged; nothing is sent to their queues."""
    try:
        Broker(app).ping()
    except StoreAway as away:
        yield PART.error(str(away), f"look at {SETTING}, the server, and the network between")
        return
    url = redis_url(settings.broker_url)
    if url is not None:
        yield from check_redis(url, PART, SETTING)
    else:
        yield PART.ok("it answers")
    if url == settings.store_url:
        yield PART.warning(
            "broker and store are one Redis database",
            "give the broker its own database, so it can be flushed and moved alone",
        )
    try:
        yield from _workers(settings, app)
    except (OperationalError, OSError) as gone:
        yield PART.error(f"workers could not be asked: {gone}", f"look at {SETTING}")


def _workers(settings: Settings, app: Celery) -> Iterator[Finding]:
    asked = app.control.inspect(timeout=ANSWER_WITHIN_S)
    by_worker = asked.active_queues() or {}
    for queue in (one.name for one in app.conf.task_queues):
        workers = sorted(name for name, taken in by_worker.items() if queue in _names(taken))
        if workers:
            yield PART.ok(f"queue {queue}: {', '.join(workers)}")
        else:
            yield PART.error(
                f"queue {queue} has no worker",
                f"start one: celery -A wangtimer worker -Q {queue} (the Procfile has it in full)",
            )
    yield judge_beat(asked.ping() or {})
    own = settings.own_queues
    broker = Broker(app, own.message_queue_of)
    for number in range(len(own.names) + 1):
        waiting = broker.waiting_chunks(number)
        if waiting > settings.callback_queue_most:
            yield PART.warning(
                f"{waiting} chunks wait in queue {own.message_queue_of(number)}",
                "add callback processes, or look for a slow target",
            )


def _names(queues: list[dict[str, object]] | None) -> set[object]:
    return {queue.get("name") for queue in queues or ()}


def judge_beat(answered: Mapping[str, object]) -> Finding:
    """Return the finding about beat; `answered` has the processes that answered a ping, by node name."""
    beats = sorted(name for name in answered if name.startswith(BEAT))
    if beats:
        return PART.ok(f"beat: {', '.join(beats)}")
    return PART.error(
        "no beat answers: nothing is planned, scheduled or swept",
        "start it as the Procfile does, with --hostname beat@%h --enable-remote-control",
    )
