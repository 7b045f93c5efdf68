"""A task for users' own Celery workers, as the body of a timer says it."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import orjson

TASK_CHARACTERS = 255
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
        return orjson.dumps(said | ({"queue": self.queue} if self.queue else {})).decode()


@lru_cache(maxsize=256)
def task_from(text: str) -> CeleryTask:
    """Read a task; raises ValueError that says what is wrong."""
    try:
        said = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise ValueError(f"the body is no JSON, and the target is Celery; {_SHAPE}") from None
    if not isinstance(said, dict) or said.keys() - _KNOWN or not isinstance(said.get("task"), str):
        raise ValueError(f"the body is no Celery task; {_SHAPE}")
    args, kwargs, queue = said.get("args") or [], said.get("kwargs") or {}, said.get("queue") or ""
    is_read = isinstance(args, list) and isinstance(kwargs, dict) and isinstance(queue, str)
    if not is_read or not 0 < len(said["task"]) <= TASK_CHARACTERS:
        raise ValueError(f"args, kwargs, queue or the length of the task's name is wrong; {_SHAPE}")
    return CeleryTask(said["task"], args, kwargs, queue)
