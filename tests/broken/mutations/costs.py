"""Costs: what idling, planning and statements take."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "Costs"
PROMISES = (
    Promise(
        "a-deleted-timer-frees-what-was-large",
        "the row of a deleted timer keeps no call and no excluded days.",
        breaks="A deleted timer keeps its days until it is purged.",
        by=Mutation("change", "columns |= EMPTIED", 'columns["notify"] = EMPTIED["notify"]'),
        red="tests/store/test_finished_timers.py::test_a_deleted_timer_s_row_keeps_no_days_and_no_call_however_it_was_deleted[sqlite]",
    ),
    Promise(
        "a-purge-leaves-half-of-the-time",
        "a purge rests as long as it works.",
        breaks="A purge rests for 10 ms after each page.",
        by=Mutation(
            "rest_after", "clock.sleep(max(PAUSE_S, clock.monotonic() - began_at))", "clock.sleep(PAUSE_S)"
        ),
        red="tests/store/test_purge.py::test_a_purge_works_half_of_the_time[memory]",
    ),
    Promise(
        "a-purge-that-is-not-done-says-so",
        "a purge goes on as long as rows are due.",
        breaks="A purge whose time is over ends for this minute.",
        by=Mutation("Purger._is_over", "self.has_more = self.has_more or is_over", ""),
        red="tests/store/test_purge.py::test_a_purge_whose_time_is_over_says_that_there_is_more[memory]",
    ),
    Promise(
        "a-definition-ends-with-its-timer-s-last-moment",
        "Redis keeps the definition of a one-shot for a quarter of an hour after its moment, and no longer.",
        breaks="Each definition lives as long as one that recurs.",
        by=Mutation("lives_s", "if last is None:", "if True:"),
        red="tests/store/test_definitions.py::test_a_one_shot_s_definition_ends_a_quarter_of_an_hour_after_its_moment[redis-0]",
    ),
    Promise(
        "a-change-keeps-no-far-definition",
        "a change of a timer whose next moment is far keeps its definition in Redis for a quarter of an hour, and no longer.",
        breaks="Each definition of a timer that recurs lives until it could be told again.",
        by=Mutation(
            "lives_s",
            "if not definition.is_enabled or (may_be_far and _is_far(definition.schedule, int(now), longest_s)):",
            "if not definition.is_enabled:",
        ),
        red="tests/store/test_definitions.py::test_so_does_that_of_a_changed_timer_that_recurs[redis-86400-True]",
    ),
    Promise(
        "a-dense-timer-is-planned-by-count",
        "a dense timer is planned by count, so that others are planned in time.",
        breaks="An every-second timer is planned two hours ahead.",
        by=Mutation(
            "plan_ahead",
            "if len(far.moments) < max(2, ahead.most_moments):",
            "if far.moments or len(far.moments) < max(2, ahead.most_moments):",
        ),
        red="tests/stages/test_migrator.py::test_a_dense_timer_is_planned_by_count_and_again_when_half_is_left",
    ),
    Promise(
        "a-minute-is-fed-however-slow-its-tallies-are",
        "one process loads Redis at a time, however slowly SQL tallies what a minute has.",
        breaks="The lease is not kept between the tallies of a minute's parts.",
        by=Mutation(
            "Feeder._tallies",
            """
            if not keep():
                return None
            """,
            "",
        ),
        red="tests/stages/test_feeder.py::test_a_minute_is_fed_however_long_its_tallies_take[4]",
    ),
    Promise(
        "a-paused-lane-costs-nothing",
        "firings that wait for a pause cost nothing, however many: their lane is looked at every 3 s.",
        breaks="A lane whose firings are paused is pulled as any other.",
        by=Mutation(
            "Throttle.holds",
            "return not self._replicas.are_known or self._pauses.known.hold(lane)",
            "return not self._replicas.are_known",
        ),
        red="tests/stages/test_pauses.py::test_a_lane_that_is_paused_is_looked_at_seldom_however_many_wait",
    ),
    Promise(
        "a-queue-costs-apps-without-one-nothing",
        "where no setting names an own queue, nothing is asked for any app.",
        breaks="Redis is asked which queue an app has whether there may be any or not.",
        by=Mutation(
            "AppQueues.number_of",
            "self.own_queues.number_of(self.queues_replica.lately().get(app)) if self.own_queues.names else 0",
            "self.own_queues.number_of(self.queues_replica.lately().get(app))",
        ),
        red="tests/store/test_app_queues.py::test_without_names_in_the_settings_nothing_is_asked_for_any_app",
    ),
    Promise(
        "a-signature-costs-no-question",
        "signing costs a firing no command of Redis and no statement of SQL.",
        breaks="Redis is asked for the secrets of each part.",
        by=Mutation(
            "SharedCopies.known",
            "if held is not None and mark is not None and held.mark == mark:",
            "if held is not None and mark is None:",
        ),
        red="tests/stages/test_signings.py::test_while_nothing_changes_nobody_is_asked",
    ),
    Promise(
        "a-statement-given-up-is-ended",
        "a statement that takes too long is ended by the server, and not tried again.",
        breaks="connections have no time limit for statements",
        by=Mutation("_BOUNDS", 'f" /*M! , max_statement_time = {STATEMENT_S} */"', ""),
        red="tests/store/test_database.py::test_a_statement_that_is_given_up_is_gone_from_the_server",
    ),
    Promise(
        "idle-costs-do-not-grow-with-timers",
        "idling costs the same however many timers there are; what is not due soon is not looked at.",
        breaks="Planning reads every enabled timer, each time.",
        by=Mutation(
            "TimerStore._enabled",
            "wanted = and_(timers.c.status == TimerStatus.ENABLED.value, lies_there)",
            "wanted = timers.c.status == TimerStatus.ENABLED.value",
        ),
        red="tests/store/test_timers.py::test_only_enabled_timers_that_come_due_are_to_plan_nearest_first[mariadb]",
    ),
    Promise(
        "idle-slices-are-not-watched",
        "idling costs the same however much is planned; a slice with nothing to do is closed, and holds no thread.",
        breaks="A slice that is empty stays open.",
        by=Mutation("Trigger._may_close", "return True", "return False"),
        red="tests/stages/test_trigger.py::test_an_idle_slice_holds_no_thread",
    ),
    Promise(
        "nothing-is-judged-for-timers-without-a-policy",
        "timers whose firings may overlap are judged by no statement.",
        breaks="Firings of every timer are judged.",
        by=Mutation(
            "OverlapStep.concerns", 'concerns = attrgetter("overlap.is_forbidden")', "concerns = bool"
        ),
        red="tests/testing/test_costs.py::test_one_whose_firings_are_not_to_overlap_costs_more_and_others_nothing",
    ),
    Promise(
        "one-feeds-at-a-time",
        "one process loads Redis at a time, whoever else asks.",
        breaks="A feeder begins though another is at it.",
        by=Mutation(
            "feed_next.lua",
            "if holder ~= '' and string.match(holder, '^[^:]*') ~= token then return {'other', -1, -1, 0, 0, 0} end",
            "",
        ),
        red="tests/store/test_window.py::test_there_is_one_feeder_until_its_lease_runs_out[redis]",
    ),
    Promise(
        "redis-holds-no-more-than-its-budget",
        "Redis holds what comes due within the window, and beyond that only what fits into its budget.",
        breaks="Adders put whatever is planned into Redis.",
        by=Mutation(
            "HotStore.in_window",
            "return [firing for firing in firings if firing.due_at <= until]",
            "return firings",
        ),
        red="tests/stages/test_migrator.py::test_what_is_planned_beyond_the_window_waits_in_sql",
    ),
    Promise(
        "statements-take-the-index-meant",
        "a statement is read by the index meant, whatever the server believes of its tables.",
        breaks="pages are read by the index the server chooses",
        by=Mutation(
            "by_index",
            'return query.with_hint(table, hint, "mysql").with_hint(table, hint, "mariadb")',
            "return query if hint else query.with_hint(table, hint)",
        ),
        red="tests/plans/test_plans.py::test_each_statement_is_read_by_the_index_meant",
    ),
    Promise(
        "timers-without-numbers-cost-nothing-more",
        "planning a timer that is not numbered is one insert, without a number.",
        breaks="Every plan is looked through for what is to be numbered.",
        by=Mutation(
            "insert_missing",
            "if any(firing.seq == TO_BE_NUMBERED for firing in planned):",
            "if planned:",
        ),
        red="tests/store/test_firing_numbers.py::test_timers_without_numbers_cost_one_insert_as_ever[mariadb]",
    ),
    Promise(
        "what-is-not-settled-is-passed-once-a-day",
        "a purge passes firings that wait, however many, once a day and not each minute.",
        breaks="Each purge begins at the oldest firing.",
        by=Mutation("Purger._firings_before", "since = max(oldest, self._done_before)", "since = oldest"),
        red="tests/store/test_purge.py::test_what_is_not_settled_is_passed_once_a_day_and_not_with_each_page[mariadb]",
    ),
    Promise(
        "without-a-target-nobody-asks-for-one",
        "a firing of a timer that names no target costs no question for targets.",
        breaks="Targets are asked for with each part of a chunk.",
        by=Mutation(
            "SharedSource.known",
            "self.signings.known(apps, mark), self.targets.known(keys, mark) if keys else {}",
            "self.signings.known(apps, mark), self.targets.known(keys, mark)",
        ),
        red="tests/stages/test_targets.py::test_a_firing_of_a_timer_without_a_target_asks_for_none",
    ),
    Promise(
        "without-alert-rules-nothing-is-noted",
        "an app without alert rules has no statement more for any of its firings.",
        breaks="Every outcome is noted.",
        by=Mutation(
            "note_outcomes",
            "marked = [(outcome, at) for outcome in outcomes if (at := NotedAt.of(outcome)) is not None]",
            "marked = [(outcome, NotedAt.of(outcome) or NotedAt('', '', '')) for outcome in outcomes]",
        ),
        red="tests/store/test_alerts.py::test_an_app_without_rules_costs_no_statement_and_one_with_a_rule_one_for_many",
    ),
)
