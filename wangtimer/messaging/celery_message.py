"""Celery's message protocol 2: https://docs.celeryq.dev/en/stable/internals/protocol.html"""

from functools import cache
from typing import Any

from celery import Celery

from wangtimer.core.numbers_as_written import json_bytes
from wangtimer.messaging.message import Message

_ORIGIN = "wangtimer"
# What workers and kombu read among the headers, beside what each task has.
_CELERYS_OWN = frozenset(
    {"args", "callbacks", "chain", "chord", "compression", "correlation_id", "delivery_info", "errbacks"}
    | {"group_index", "hostname", "is_eager", "kwargs", "properties", "reply_to", "requeue", "taskset", "utc"}
)


def celery_parts(message: Message) -> tuple[str, dict[str, Any], bytes, dict[str, Any]]:
    """Return the queue, the headers, the body, and further properties of a message.

    The id of the task is the firing's: the same on every attempt. The headers of the firing are among the task's; what
    Celery itself reads among them is ours, for a worker believes it: which task, when, how often.
    """
    task = message.task
    if task is None:
        raise ValueError("the message is no Celery task")
    made = _amqp().as_task_v2(message.firing_id, task.task, task.args, task.kwargs, origin=_ORIGIN)
    owners = {name: value for name, value in message.fields.items() if name not in _CELERYS_OWN}
    headers = owners | made.headers
    properties = {"content_type": "application/json", "content_encoding": "utf-8", **made.properties}
    return message.place.name, headers, message.body, properties


def celery_body(args: list[Any], kwargs: dict[str, Any]) -> bytes:
    """Return the body of a task: its arguments, and that nothing follows it."""
    embed = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
    return json_bytes([args, kwargs, embed])


@cache
def _amqp() -> Any:
    """Return what makes messages of tasks; it connects to nothing."""
    return Celery(_ORIGIN, set_as_current=False, autofinalize=False).amqp
