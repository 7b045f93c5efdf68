"""What is kept as a replica: SQL is the truth, Redis has a copy of it, and each process knows what the copy says."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class ReplicaKind(Generic[Value]):
    """All of one kind, in one text of JSON, so that none is read by half; `name` is the end of its key in Redis.

    What `from_json` raises makes a text one that cannot be read; of a later format it reads what is known here. `unset`
    stands for it while nothing is known. A process that reads it by itself believes it for `read_every_s`.
    """

    name: str
    to_json: Callable[[Value], Any]
    from_json: Callable[[Any], Value]
    unset: Value
    read_every_s: float = 2.0
