"""Schedules: which moments a timer has."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "Schedules"
PROMISES = (
    Promise(
        "a-cron-is-stored-with-its-dialect",
        "a version that knows no dialects refuses a quartz expression; it never fires it on another day.",
        breaks="The expression is stored without its dialect.",
        by=Mutation(
            "cron_text",
            'return cron.expression if cron.dialect is CronDialect.UNIX else f"{cron.dialect} {cron.expression}"',
            "return cron.expression",
        ),
        red="tests/core/test_quartz.py::test_it_is_stored_so_that_a_version_that_does_not_know_it_refuses_it",
    ),
    Promise(
        "a-timer-goes-on-after-its-closed-days",
        "a timer fires again after the days of its calendar, however often it fires.",
        breaks="The look for a moment ends at the first day that the calendar excludes.",
        by=Mutation(
            "Bounded._own_moments",
            "reopened = page[-1] + 1 if is_open[-1] else next_open(self.rule, self.excluded, page[-1], until)",
            "reopened = page[-1] + 1 if is_open[-1] else None",
        ),
        red=(
            "tests/core/test_open_days.py::test_the_first_moment_is_that_of_the_brute_force",
            "tests/core/test_open_days.py::test_a_dense_timer_goes_on_after_its_closed_days",
        ),
    ),
    Promise(
        "a-local-moment-follows-the-clock-rule",
        "a moment without an offset is by the clocks of its zone: of a time that comes twice the first, for one that they skip the first after.",
        breaks="A time that the clocks skip is taken as if they had not.",
        by=Mutation(
            "second_of_wall",
            "return next(stretches_from(name, second)).start_s",
            "return second",
        ),
        red="tests/api/v1/test_local_times.py::test_a_moment_without_an_offset_is_read_in_the_zone_that_is_named",
    ),
    Promise(
        "days-keep-their-time-of-day",
        "an interval of days fires at the same time of day when the clocks change.",
        breaks="Its days have 24 hours.",
        by=Mutation(
            "EveryDays.moments",
            "at = second_of_wall(self.timezone, wall) * 1_000 + ms",
            "at = self.anchor_ms + self.interval_ms * nth",
        ),
        red="tests/core/test_every.py::test_days_of_the_wall_clock_fire_as_a_cron_of_each_day_does",
    ),
    Promise(
        "quartz-weekdays-count-from-sunday",
        "a quartz expression fires on the days that Quartz means: its weekdays count from Sunday.",
        breaks="They count from Monday, as if 2 were Tuesday.",
        by=Mutation(
            "_from_monday",
            "return (weekday - 2) % DAYS_OF_WEEK + 1",
            "return (weekday - 1) % DAYS_OF_WEEK + 1",
        ),
        red="tests/core/test_quartz.py::test_each_day_is_one_that_the_oracle_means",
    ),
    Promise(
        "what-failed-keeps-its-finished-timer",
        "a timer with `deleteAfterFinish` whose last firing failed or was left out by a policy, or that has a dead letter, is kept for the retention, and can be replayed.",
        breaks="A failure counts as a success.",
        by=Mutation(
            "FinishedTimers.delete_page.work",
            "_keep(sql, lost)",
            "lost = set()",
        ),
        red=(
            "tests/store/test_finished_timers.py::test_one_whose_last_firing_failed_is_kept_as_any_other_that_it_may_be_replayed",
            "tests/store/test_finished_timers.py::test_one_that_was_never_called_is_kept_that_it_may_be_replayed",
            "tests/store/test_finished_timers.py::test_one_with_a_dead_letter_is_kept_though_its_last_firing_succeeded",
        ),
    ),
    Promise(
        "what-is-asked-for-is-fired",
        "what somebody asks for is fired, whatever its timer's schedule says, enabled or not.",
        breaks="The executor judges a firing that was asked for as it judges a planned one.",
        by=Mutation(
            "Wanted._why_not",
            "if row.kind is not FiringKind.SCHEDULED:  # whatever the schedule says",
            "if row.kind is FiringKind.BACKFILL and definition.is_enabled:",
        ),
        red="tests/stages/test_fire_now.py::test_a_timer_that_was_never_enabled_fires_and_stays_disabled",
    ),
    Promise(
        "what-is-put-off-keeps-its-finished-timer",
        "a timer with `deleteAfterFinish` whose answer put it off is not deleted before that is done.",
        breaks="Only firings that wait keep their timer.",
        by=Mutation("FinishedTimers.delete_page.work", "waiting |= _to_be_controlled(sql, ids)", ""),
        red="tests/store/test_finished_timers.py::test_one_that_an_answer_is_still_to_put_off_stays",
    ),
    Promise(
        "what-waits-keeps-its-finished-timer",
        "a finished timer is deleted once all its firings have their outcome, not before.",
        breaks="A firing that waits does not keep its timer.",
        by=Mutation(
            "FinishedTimers.delete_page.work",
            "settled = [timer_id for timer_id in ids if timer_id not in waiting]",
            "settled = list(ids)",
        ),
        red=(
            "tests/store/test_finished_timers.py::test_a_retry_a_replay_and_one_that_was_asked_for_keep_their_timer",
            "tests/store/test_finished_timers.py::test_one_that_is_not_kept_goes_once_its_last_firing_has_its_outcome",
        ),
    ),
)
