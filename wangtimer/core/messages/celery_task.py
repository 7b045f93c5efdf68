"""A task for users' own Celery workers, as the body of a timer says it."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from wangtimer.core.numbers_as_written import json_text, read_json

TASK_CHARACTERS = 255
# Of the name of a queue: AMQP's bound.
QUEUE_BYTES = 255
# Longer bodies are read each time: parsed they take twenty times their length.
_SMALL = 1_024
_KNOWN = frozenset({"task", "args", "kwargs", "queue"})
_SHAPE = 'write {"task": "shop.tasks.expire", "args": [7], "kwargs": {}}'


@dataclass(frozen=True, slots=True)
class CeleryTask:
    """`queue` "": that of the target."""

    task: str
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    queue: str = ""

    def text(self) -> str:
        """Return it as the body of a timer."""
        said: dict[str, Any] = {"task": self.task, "args": self.args, "kwargs": self.kwargs}
        return json_text(said | ({"queue": self.queue} if self.queue else {}))


def task_from(text: str) -> CeleryTask:
    """Read a task; raises ValueError that says what is wrong."""
    return (_small_task_from if len(text) <= _SMALL else _task_from)(text)


def _task_from(text: str) -> CeleryTask:
    try:
        said = read_json(text)
    except (ValueError, RecursionError):
        raise ValueError(f"the body is no JSON, and the target is Celery; {_SHAPE}") from None
    if not isinstance(said, dict) or said.keys() - _KNOWN or not isinstance(said.get("task"), str):
        raise ValueError(f"the body is no Celery task; {_SHAPE}")
    args, kwargs, queue = said.get("args") or [], said.get("kwargs") or {}, said.get("queue") or ""
    is_read = isinstance(args, list) and isinstance(kwargs, dict) and isinstance(queue, str)
    if not is_read or not 0 < len(said["task"]) <= TASK_CHARACTERS:
        raise ValueError(f"args, kwargs, queue or the length of the task's name is wrong; {_SHAPE}")
    if len(queue.encode()) > QUEUE_BYTES or not queue.isprintable() or not said["task"].isprintable():
        raise ValueError(
            f"the name of the queue is longer than {QUEUE_BYTES} bytes, or a name is not printable"
        )
    try:
        json_text([args, kwargs, {}])
    except TypeError:
        raise ValueError("args or kwargs are nested too deep") from None
    return CeleryTask(said["task"], args, kwargs, queue)


_small_task_from = lru_cache(maxsize=1_024)(_task_from)
