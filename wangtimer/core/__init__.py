"""Rules: time and data are arguments, and there is no I/O.

Exceptions:
* `fail_points` lets a test end the process.
* `work_budget` reads how much CPU time its thread has taken.
* `flow.pace` asks the clock that it was given.
* `timers.bad_timers` writes to the log.
* `timers.timer_ids` draws by chance.
* `time.zones` reads zones from the package tzdata.
"""
