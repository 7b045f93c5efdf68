"""A death costs seconds: processes and servers that end."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "A death costs seconds"
PROMISES = (
    Promise(
        "a-dead-executors-firings-are-taken-back",
        "what a dead executor ran is armed again when its lease has run out.",
        breaks="A trigger's turn takes back what was armed and never claimed, and leaves what runs.",
        by=Mutation("turn.lua", "take_back(running)", ""),
        red="tests/store/test_slices.py::test_a_running_member_nobody_renews_goes_back_suspect_and_ownerless[redis]",
    ),
    Promise(
        "a-dead-triggers-lock-runs-out",
        "the lock of a trigger that died runs out.",
        breaks="A slice's lock has no expiry.",
        by=Mutation(
            "SliceStore.lock.set_locks",
            "pipe.set(self._lock_key(slice_), token, px=self._leases.lock_ms, nx=True)",
            "pipe.set(self._lock_key(slice_), token, nx=True)",
        ),
        red="tests/store/test_slices.py::test_a_lock_runs_out[redis]",
    ),
    Promise(
        "a-dying-process-leaves-its-alerts",
        "who dies with a message of an alert rule in hand leaves it to another process.",
        breaks="Nobody takes a message that somebody has taken.",
        by=Mutation(
            "AlertMessages.take",
            "alert_messages.c.taken_until <= now,",
            "alert_messages.c.taken_until == 0,",
        ),
        red=(
            "tests/store/test_alerts.py::test_who_dies_with_a_message_leaves_it_to_another_once_and_it_says_the_same",
            "tests/alerts/test_telling.py::test_a_process_that_dies_between_judging_and_sending_costs_one_more_send_at_most",
        ),
    ),
    Promise(
        "a-feeders-lease-that-ran-out-is-taken-anew",
        "a minute is fed however long its feeder is held up, where no other has come.",
        breaks="A lease that ran out counts as another's.",
        by=Mutation(
            "feed_keep.lua",
            "if (redis.call('GET', KEYS[2]) or ARGV[1]) ~= ARGV[1] then return 0 end",
            "if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end",
        ),
        red="tests/store/test_window.py::test_a_lease_that_ran_out_is_taken_anew_where_no_other_feeder_has_come[redis]",
    ),
    Promise(
        "a-frozen-process-holds-no-row-for-longer",
        "SQL ends the transaction of a process that froze in it, or whose host is gone.",
        breaks="A session may be idle in a transaction for as long as any.",
        by=Mutation("_BOUNDS", 'f" /*M! , idle_transaction_timeout = {IDLE_S} */"', ""),
        red="tests/store/test_locked_rows.py::test_a_process_that_freezes_in_a_transaction_is_cut_off_before_others_give_up",
    ),
    Promise(
        "a-held-firing-holds-up-no-outcome",
        "a firing whose row somebody holds, say a process that froze, keeps no other from having its outcome.",
        breaks="What is settled together is not settled while one row of it is held.",
        by=Mutation("FiringStore.settle", "except RowsLocked:", "except ZeroDivisionError:"),
        red="tests/store/test_locked_rows.py::test_a_firing_that_somebody_holds_keeps_no_other_from_having_its_outcome",
    ),
    Promise(
        "a-held-timer-holds-up-no-planning",
        "a timer whose row somebody holds, say a process that froze, keeps no other from being planned.",
        breaks="Planning waits for it.",
        by=Mutation(
            "_locked_marks",
            "rows = sql.execute(query.order_by(timers.c.id).with_for_update(skip_locked=True))",
            "rows = sql.execute(query.order_by(timers.c.id).with_for_update())",
        ),
        red="tests/store/test_locked_rows.py::test_a_timer_that_somebody_holds_keeps_no_other_from_being_planned",
    ),
    Promise(
        "a-held-row-holds-up-no-background-work",
        "a purge, and what else can be done later, comes back to a row that somebody holds.",
        breaks="A purge of deleted timers waits as long as a change by the API.",
        by=Mutation(
            "TimerStore.purge",
            "return self._database.write(work, FailPoint.SQL_PURGE_TIMERS, waits_for_locks=False)",
            "return self._database.write(work, FailPoint.SQL_PURGE_TIMERS)",
        ),
        red="tests/store/test_locked_rows.py::test_what_runs_in_the_background_comes_back_later_where_somebody_holds_a_row",
    ),
    Promise(
        "a-hanging-worker-ends-itself",
        "a worker whose event loop hangs ends itself, and is started again.",
        breaks="The watchdog looks, and does nothing.",
        by=Mutation("Watchdog.look", "os._exit(EXIT_CODE)", ""),
        red="tests/test_worker.py::test_a_worker_whose_loop_hangs_while_the_broker_answers_ends_itself",
    ),
    Promise(
        "a-loop-outlives-what-its-work-raises",
        "work in the background that fails is done again: renewals, settling and pulling end with no error.",
        breaks="What the work raises ends its thread.",
        by=Mutation("Loop._work_once", 'log.exception("loop_stumbled", loop=self._name)', "raise"),
        red="tests/test_loop.py::test_work_that_fails_is_done_again_after_a_pause_that_no_wake_shortens[a fault]",
    ),
    Promise(
        "a-redis-that-lost-everything-is-loaded-again",
        "a Redis that lost all its data is fed again from SQL.",
        breaks="A Redis without marks counts as full: nobody feeds it.",
        by=Mutation(
            "Feeder.feed",
            "while (coming := self._next()).found is Found.FEED:",
            "while (coming := self._next()).found is Found.FEED and not coming.was_lost:",
        ),
        red="tests/stages/test_feeder.py::test_a_lost_redis_is_fed_again_from_the_present_minute_on_with_its_definitions",
    ),
    Promise(
        "a-running-lease-is-seconds",
        "a claim nobody renews ends after one running lease.",
        breaks="A claim lasts ten running leases.",
        by=Mutation(
            "claim.lua",
            "local claim, lease_end = ARGV[2], tonumber(ARGV[1]) + tonumber(ARGV[3])",
            "local claim, lease_end = ARGV[2], tonumber(ARGV[1]) + 10 * tonumber(ARGV[3])",
        ),
        red="tests/store/test_slices.py::test_a_claim_holds_for_a_running_lease[redis]",
    ),
    Promise(
        "a-stop-gives-permits-back",
        "after a stop, the permits of the calls that it cut off are there for the next process.",
        breaks="They last until the calls would have ended.",
        by=Mutation(
            "TimedEngine._close",
            """
            for call, is_unused in self._cut_off():
                self._admissions.give_back(call, is_unused=is_unused)
            """,
            "for call, _ in self._cut_off():",
        ),
        red="tests/callback/test_admissions.py::test_a_stop_gives_the_permits_of_what_it_cuts_off_back",
    ),
    Promise(
        "a-stopping-worker-hands-back",
        "a planned stop costs none; on SIGTERM a worker gives back what it has not sent.",
        breaks="A worker that ends does not drain.",
        by=Mutation("_drain", "wiring().executor.drain(wiring().settings.drain_s)", "pass"),
        red="tests/test_planned_stop.py::test_on_sigterm_a_worker_gives_back_what_it_has_not_sent",
    ),
    Promise(
        "what-a-consumer-leaves-comes-to-another",
        "what a consumer leaves comes to another one of its group at once.",
        breaks="What a consumer leaves waits until its time is over.",
        by=Mutation(
            "Stream.leave",
            "back = [*(entry.returned_once_more() for entry in returned), *unsent]",
            "back = [*unsent]",
        ),
        red="tests/stream/test_stream.py::test_what_a_consumer_leaves_comes_to_another_at_once_and_what_is_acknowledged_does_not",
    ),
)
