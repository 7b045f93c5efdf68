"""Rules: time and data are arguments, and there is no I/O.

Exceptions:
* `fail_points` lets a test end the process.
* `work_budget` reads the CPU time of its thread.
* `flow.pace` asks the clock that it was given.
* `timers.bad_timers` writes to the log.
* `timers.timer_ids` draws random numbers.
* `time.zones` reads zones from the package tzdata.
"""
