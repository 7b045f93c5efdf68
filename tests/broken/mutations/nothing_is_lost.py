"""Nothing is lost: planning, outcomes, dead letters and alerts."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "Nothing is lost"
PROMISES = (
    Promise(
        "a-call-that-cannot-be-prepared-takes-none-along",
        "calls that came with one that cannot be prepared are made.",
        breaks="What one call raises ends the taking of its batch.",
        by=Mutation("TimedEngine._take_in", "except Exception:", "except StopIteration:"),
        red="tests/messaging/test_bad_messages.py::test_what_raises_as_it_is_prepared_loses_no_call_of_its_batch",
    ),
    Promise(
        "a-dead-letter-outlives-its-firing-s-row",
        "a dead letter is replayed though its firing's row is past its retention.",
        breaks="Only a firing that has a row is replayed.",
        by=Mutation(
            "DemandStore.replay.work",
            "replay: held.get(replay.was.member.key, replay.was if replay.is_purged else None)",
            "replay: held.get(replay.was.member.key)",
        ),
        red=(
            "tests/store/test_dead_letters.py::test_a_firing_whose_row_is_purged_is_replayed_all_the_same[mariadb]",
            "tests/store/test_dead_letters.py::test_a_firing_whose_row_is_purged_is_replayed_all_the_same[sqlite]",
        ),
    ),
    Promise(
        "a-failure-after-a-late-answer-is-told",
        "a failure for good is told, also of an attempt that was noted before as late",
        breaks="The first note of an attempt stays",
        by=Mutation(
            "_changes",
            'return {name: new[name] for name in _SAID} | {"lateness_ms": lateness_ms}',
            'return {name: alert_notes.c[name] for name in _SAID} | {"lateness_ms": lateness_ms}',
        ),
        red="tests/store/test_alerts.py::test_what_was_late_and_accepted_and_then_failed_is_told_of_both",
    ),
    Promise(
        "a-firing-that-has-begun-goes-again",
        "a firing of a timer with `overlap` whose executor died is made, and not skipped for itself.",
        breaks="A firing counts as another one of its timer.",
        by=Mutation(
            "_Begun.judged",
            "found = self._judge(row, own, [other for other in begun.values() if other is not own])",
            "found = self._judge(row, None, list(begun.values()))",
        ),
        red="tests/store/test_begun_firings.py::test_a_firing_whose_executor_died_goes_again",
    ),
    Promise(
        "a-late-control-leaves-its-timer-a-moment",
        "a timer whose answer put it off fires, however late that could be applied",
        breaks="A moment that is past by then is written as it is",
        by=Mutation(
            "ControlApplier._change",
            "still = paced._replace(until=max(paced.until, soonest))",
            "still = paced",
        ),
        red="tests/api/v1/test_reply_controls.py::test_a_control_that_waited_until_its_moment_was_past_has_its_timer_fire_all_the_same",
    ),
    Promise(
        "a-letter-says-when-it-failed",
        "a dead letter says when its last attempt ended, also if that was not sent and long after its moment.",
        breaks="It has the moment at which that was due.",
        by=Mutation(
            "DeadLetterReading.read",
            'Failure(NOT_MADE, "", now) if request.fault else Failure(failure_of(reply), request.host, now)',
            "Failure(failure_of(reply), request.host, attempt.due_at_ms)",
        ),
        red="tests/callback/test_failure_reasons.py::test_an_outcome_says_when_it_failed",
    ),
    Promise(
        "a-message-without-a-confirm-has-failed",
        "a message has succeeded only once its broker confirmed it.",
        breaks="What was under way when the connection ended counts as taken.",
        by=Mutation(
            "MessageEngine._break",
            'sent.call, sent.flow, self._reply(sent, f"{error}; it may have been taken", None), False',
            'sent.call, sent.flow, self._reply(sent, "", BrokerAnswer.TAKEN), True',
        ),
        red="tests/messaging/test_rabbitmq.py::test_a_broker_that_hangs_is_a_failure_in_time_and_is_used_again_when_it_answers",
    ),
    Promise(
        "a-slow-statement-stops-no-other-repair",
        "a statement that is too slow stops no other part of a sweep.",
        breaks="The first error ends the sweep.",
        by=Mutation("do_in_turn", "first = first or error", "raise"),
        red=(
            "tests/stages/test_sweeper.py::test_a_statement_that_is_too_slow_stops_no_other_part_of_the_sweep",
            "tests/stages/test_sweeper.py::test_what_changed_not_being_found_stops_no_repair",
        ),
    ),
    Promise(
        "accepted-work-is-tried-again-by-its-policy",
        "an accepted firing of which nothing is said in time is tried again, as often as its policy says.",
        breaks="Nobody looks for those whose time is over.",
        by=Mutation(
            "LongWork._sweep",
            "page, next_key = self.accepted_firings.overdue(self._now, PAGE, self._swept_to)",
            "page, next_key = self.accepted_firings.overdue(0, PAGE, self._swept_to)",
        ),
        red="tests/testing/test_long_work.py::test_without_a_word_in_time_it_is_tried_again_as_often_as_its_policy_says_and_is_a_dead_letter",
    ),
    Promise(
        "an-unknown-target-fails-nothing",
        "a firing whose target no process knows waits, and does not fail for that.",
        breaks="It fails once it has waited as long as one that cannot be read.",
        by=Mutation(
            "SharedStep.rule",
            "case.verdicts[due.member] = self.verifier.wait(due)",
            'case.verdicts[due.member] = self.verifier.unjudged(due, "its target is not known")',
        ),
        red="tests/stages/test_targets.py::test_a_target_that_is_not_known_keeps_its_firings_waiting_and_fails_none",
    ),
    Promise(
        "an-unroutable-message-has-failed",
        "a message that its broker routes to no queue has failed.",
        breaks="A message that comes back counts as taken.",
        by=Mutation(
            "_Publishing._note_ack",
            "why = self._why_returned(message_id) if self.returned else None",
            "why = None",
        ),
        red="tests/messaging/test_rabbitmq.py::test_an_unroutable_message_fails_and_those_beside_it_do_not",
    ),
    Promise(
        "mail-waits-for-a-process-with-a-mail-server",
        "mail that a process without a mail server takes is left to one that has one",
        breaks="It is given up",
        by=Mutation(
            "AlertTeller._mail",
            "self._end(MessageEnd(taken, reason, was_tried=False))",
            "self._end(MessageEnd(taken, reason, is_final=True))",
        ),
        red="tests/alerts/test_telling.py::test_a_process_without_a_mail_server_leaves_mail_to_one_that_has_one",
    ),
    Promise(
        "many-that-wait-hide-no-lost-one",
        "however many firings wait in lanes, the sweep finds the others; and the reverse.",
        breaks="The index has no lane, so that each row that is passed over is looked up.",
        by=Mutation(
            "schema.sql",
            "INDEX firing_due (status, due_at, fire_at, timer_id, lane),",
            "INDEX firing_due (status, due_at, fire_at, timer_id),",
        ),
        red=(
            "tests/store/test_keyset.py::test_overdue_firings_past_many_others[past those in lanes]",
            "tests/store/test_keyset.py::test_overdue_firings_past_many_others[past those in none]",
        ),
    ),
    Promise(
        "overdue-firings-are-taken-up",
        "what nobody recorded and Redis forgot is added again from SQL, seconds after its moment.",
        breaks="The sweep looks up overdue firings, and adds none.",
        by=Mutation("Sweeper._sweep_slices", "self.hot.add_all(page, is_repair=True)", ""),
        red=(
            "tests/stages/test_sweeper.py::test_what_is_over_five_seconds_late_is_added_again",
            "tests/stages/test_recoveries.py::test_flaw_10_an_api_that_dies_after_its_commit_costs_seconds",
        ),
    ),
    Promise(
        "planning-catches-up-after-an-outage",
        "however long planning was away, it goes on where it stopped.",
        breaks="The migrator plans from now on, and leaves out what came due while it was away.",
        by=Mutation(
            "Migrator._plans_of",
            "plans.append(expand(timer))",
            """
            since = max(int(self.clock.now_ms()), timer.planned_until)
            plans.append(expand(timer.planned_from(since)))
            """,
        ),
        red="tests/stages/test_migrator.py::test_planning_goes_on_where_it_stopped_after_any_outage",
    ),
    Promise(
        "purging-keeps-what-is-not-settled",
        "a purge never deletes a firing without an outcome, however old.",
        breaks="A purge deletes by moment alone.",
        by=Mutation(
            "FiringStore.purge",
            "settled = and_(firings.c.fire_at.between(since, before - 1), is_over)",
            "settled = firings.c.fire_at.between(since, before - 1)",
        ),
        red="tests/store/test_purge.py::test_one_that_is_not_settled_stays_however_old[mariadb]",
    ),
    Promise(
        "what-a-stop-cuts-off-is-made-anew",
        "a call that a stop of its process cuts off is made anew by another one, as the same attempt.",
        breaks="The attempt is recorded as failed.",
        by=Mutation(
            "Exchanges.close",
            "cut_off = [exchange.call for exchange in self._open.values() if exchange.call is not None]",
            """
            cut_off: list[Call] = []
            for exchange in list(self._open.values()):
                if exchange.call is not None:
                    self._end(exchange, "this process stopped", self._clock.monotonic())
            """,
        ),
        red=(
            "tests/callback/test_engine_life.py::test_stop_cuts_off_and_returns_what_does_not_finish[plain]",
            "tests/callback/test_engine_life.py::test_stop_cuts_off_and_returns_what_does_not_finish[tls]",
        ),
    ),
    Promise(
        "what-alerts-tell-is-noted-with-its-outcome",
        "what an alert rule tells of is noted in the transaction of its outcome.",
        breaks="What is tried again is not noted.",
        by=Mutation(
            "note_outcomes",
            "marked = [(outcome, at) for outcome in outcomes if (at := NotedAt.of(outcome)) is not None]",
            "marked = [(one, at) for one in outcomes if (at := NotedAt.of(one)) is not None and not one.is_retry]",
        ),
        red=(
            "tests/store/test_alerts.py::test_the_first_failure_is_told_once_until_it_is_back_to_normal",
            "tests/store/test_alerts.py::test_failures_in_a_row_are_told_once_there_are_as_many",
        ),
    ),
    Promise(
        "what-an-answer-controls-is-kept-with-its-outcome",
        "what an answer makes of its timer is done, though the message that asks for it is lost",
        breaks="a control is only told of, not kept with the outcome",
        by=Mutation("keep_controls", "if rows:", "if False:"),
        red="tests/api/v1/test_reply_controls.py::test_a_sweep_does_what_the_outcome_says_once",
    ),
    Promise(
        "what-failed-for-good-has-a-dead-letter",
        "what has failed for good is a dead letter, written with its outcome, until it is replayed or discarded.",
        breaks="Of a batch with retries in it none is kept.",
        by=Mutation("settle_rows", "for write in ON_SETTLED:", "for write in ON_SETTLED[has_retries:]:"),
        red=(
            "tests/store/test_dead_letters.py::test_of_a_batch_with_retries_those_that_failed_are_kept[mariadb]",
            "tests/store/test_dead_letters.py::test_of_a_batch_with_retries_those_that_failed_are_kept[sqlite]",
        ),
    ),
    Promise(
        "what-is-done-is-in-nobodys-way",
        "a firing that is done holds up no later one of its timer, though nobody noted its end.",
        breaks="What is on record as begun counts as not done.",
        by=Mutation("_head", "firings.c.status.in_([status.value for status in _OPEN]),", ""),
        red="tests/store/test_begun_firings.py::test_a_firing_that_is_over_is_in_nobody_s_way_though_its_row_was_left",
    ),
    Promise(
        "what-is-known-to-be-lost-is-told",
        "what was lost of the last ten firings is told, though nobody had time to look further back.",
        breaks="Such a call tells its number only.",
        by=Mutation(
            "ContinuityStore.before",
            "found |= {row.member.key: found[row.member.key].at_least() for row in part}",
            "found |= {row.member.key: Continuity(row.seq, None, None) for row in part}",
        ),
        red="tests/store/test_continuities.py::test_where_many_look_far_back_the_rest_tell_what_was_lost_of_the_last_few",
    ),
    Promise(
        "what-is-replayed-is-not-cancelled",
        "a firing that is replayed before it could be cancelled for a newer one is made.",
        breaks="A replay leaves it to be cancelled.",
        by=Mutation(
            "DemandStore.replay.work",
            "forget_to_cancel(sql, [firing.member.key for firing in to_write])",
            "",
        ),
        red="tests/store/test_begun_firings.py::test_one_that_is_replayed_before_it_could_be_cancelled_is_made",
    ),
    Promise(
        "what-waited-for-a-pause-follows-the-timers-policy",
        "what came due during a pause follows the timer's misfire policy when it goes on.",
        breaks="The policy does not apply to what waited for a pause.",
        by=Mutation(
            "MisfireStep.rule",
            "has_waited = isinstance(stands_in, SharedLane) and stands_in.paused is None",
            "has_waited = isinstance(stands_in, SharedLane)",
        ),
        red="tests/stages/test_pauses.py::test_what_came_due_meanwhile_follows_the_timers_misfire_policy",
    ),
    Promise(
        "who-held-a-message-too-long-ends-nothing",
        "who held an alert's message for too long ends it no more, another process has it",
        breaks="The end of a message asks not who holds it",
        by=Mutation(
            "_as_taken",
            """
            alert_messages.c.attempt == taken.attempt,
            alert_messages.c.taken_until == taken.taken_until,
            """,
            "",
        ),
        red="tests/alerts/test_telling.py::test_who_held_a_message_for_too_long_ends_nothing",
    ),
)
