"""The executor stage: chunks in, callbacks out at their moments, outcomes recorded."""

from wangtimer.executor.executor import Executor, FireRule

__all__ = ["Executor", "FireRule"]
