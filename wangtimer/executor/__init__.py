"""The executor stage: chunks in, callbacks out at their moments, outcomes recorded."""

from wangtimer.executor.executor import Executor
from wangtimer.executor.fire_rule import FireRule

__all__ = ["Executor", "FireRule"]
