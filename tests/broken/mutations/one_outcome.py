"""One outcome: what is recorded of a firing."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "One outcome"
PROMISES = (
    Promise(
        "a-chunk-that-waits-for-room-is-renewed",
        "the firings of a chunk that waits long for room are not taken for its executor's death.",
        breaks="A claim is renewed for as long as one part may take, however many there are.",
        by=Mutation(
            "Executor.fire_claimed",
            "self._claimer.keep(claim, last)",
            "",
        ),
        red="tests/stages/test_parts.py::test_a_chunk_is_renewed_however_long_its_parts_wait_for_room",
    ),
    Promise(
        "a-neighbour-is-not-to-blame",
        "only what killed its executor while it ran alone has failed for that.",
        breaks="The next quarantined firing is sent while the one before is still under way.",
        by=Mutation(
            "Quarantine.try_next",
            "while self._clock.monotonic() < began_at + self._longest_s and _is_held(held):",
            "while self._clock.monotonic() < began_at + self._longest_s and not _is_held(held):",
        ),
        red="tests/stages/test_quarantine.py::test_one_is_recorded_before_the_next_is_sent",
    ),
    Promise(
        "a-process-without-a-key-fails-nothing",
        "a process that lacks the key of a timer's secrets fails none of its firings.",
        breaks="A call whose secrets cannot be opened counts as one that nobody can judge.",
        by=Mutation(
            "Sender.send",
            """
            except UnopenedSecrets as error:
                unopened[firing.held.member] = str(error)
                continue
            """,
            "",
        ),
        red="tests/stages/test_bad_timers.py::test_what_a_process_without_its_key_has_put_back_is_sent_by_one_with_the_key_however_late",
    ),
    Promise(
        "a-replayed-firing-is-no-dead-letter",
        "a firing that is replayed is no dead letter any more.",
        breaks="A replay leaves it.",
        by=Mutation(
            "DemandStore.replay.work",
            "forget_dead_letters(sql, [firing.member.key for firing in to_write])",
            "",
        ),
        red=(
            "tests/store/test_dead_letters.py::test_it_is_gone_once_its_firing_is_replayed_and_comes_back_if_that_fails[mariadb]",
            "tests/store/test_dead_letters.py::test_it_is_gone_once_its_firing_is_replayed_and_comes_back_if_that_fails[sqlite]",
        ),
    ),
    Promise(
        "a-settled-firing-is-not-planned-again",
        "a moment that has its outcome is not put back by planning it again.",
        breaks="Planning tells Redis of all it planned, not of what the table holds as pending.",
        by=Mutation(
            "insert_missing",
            """
            if planning(sql.dialect).run(sql, planned, planned_row) == len(planned):
                return list(planned)
            return pending_among(sql, planned)
            """,
            """
            planning(sql.dialect).run(sql, planned, planned_row)
            return list(planned)
            """,
        ),
        red="tests/store/test_firings.py::test_a_row_with_an_outcome_does_not_wait_again[mariadb]",
    ),
    Promise(
        "a-skip-says-why",
        "a firing that is not made is on record as skipped, with the reason.",
        breaks="A skip is recorded without its reason.",
        by=Mutation(
            "Sender.skip",
            "outcome = Outcome(held.member, bucket, FiringStatus.SKIPPED, held.member.fire_at, error=reason)",
            "outcome = Outcome(held.member, bucket, FiringStatus.SKIPPED, held.member.fire_at)",
        ),
        red="tests/stages/test_executor.py::test_a_skip_is_recorded_with_its_reason_and_nothing_was_sent",
    ),
    Promise(
        "a-try-unheard-of-is-not-blamed",
        "a firing has not failed because Redis did not answer when it was to be tried alone.",
        breaks="Such a firing is left to its lease, with the note that it killed its executor.",
        by=Mutation("Quarantine._is_noted", "self._waiting.append(firing)", "let_go([held])"),
        red="tests/stages/test_quarantine.py::test_where_redis_does_not_answer_it_has_its_turn_again",
    ),
    Promise(
        "an-edit-leaves-the-one-that-waits",
        "a firing that waits for another one of its timer is made, though the timer is edited meanwhile.",
        breaks="Its moment must be one of the schedule as it is now.",
        by=Mutation(
            "Wanted._why_not",
            "has_begun = row.attempt > 1 or row.has_queued",
            "has_begun = row.attempt > 1",
        ),
        red="tests/testing/test_overlap.py::test_edits_of_the_schedule_leave_the_one_that_waits",
    ),
    Promise(
        "an-outcome-stays",
        "once written, it stays.",
        breaks="An outcome is written over another one of the same attempt.",
        by=Mutation(
            "_takes_effect",
            "counts = and_(firings.c.status == pending, or_(firings.c.attempt == made, overtaken))",
            "counts = or_(firings.c.attempt == made, overtaken)",
        ),
        red=(
            "tests/store/test_firings.py::test_the_first_outcome_stays[mariadb-late0]",
            "tests/store/test_firings.py::test_nothing_overwrites_a_success[mariadb-late0]",
        ),
    ),
    Promise(
        "an-overtaken-attempt-changes-nothing",
        "an attempt that was overtaken, and failed, changes nothing any more.",
        breaks="A settle asks only whether the firing is pending, not at which attempt it stands.",
        by=Mutation(
            "_takes_effect",
            "counts = and_(firings.c.status == pending, or_(firings.c.attempt == made, overtaken))",
            "counts = and_(firings.c.status == pending, or_(firings.c.attempt >= made, overtaken))",
        ),
        red="tests/store/test_firings.py::test_an_overtaken_attempt_that_did_not_succeed_changes_nothing[mariadb-late0]",
    ),
    Promise(
        "an-overtaken-outcome-leaves-no-dead-letter",
        "an outcome that changed nothing leaves no dead letter.",
        breaks='Whatever outcome says "failed" leaves one.',
        by=Mutation(
            "_FAILED",
            """.where(firings.c.status == literal_column(f"'{FiringStatus.FAILED.value}'")),""",
            """.where(firings.c.status != literal_column(f"'{FiringStatus.FAILED.value}'")),""",
        ),
        red=(
            "tests/store/test_dead_letters.py::test_an_outcome_that_was_overtaken_keeps_none[mariadb]",
            "tests/store/test_dead_letters.py::test_an_outcome_that_was_overtaken_keeps_none[sqlite]",
        ),
    ),
    Promise(
        "missed-firings-follow-the-timers-policy",
        "what is found long after its moment is made or skipped as its timer's misfire policy says, with the reason.",
        breaks="The executor asks no misfire policy.",
        by=Mutation("MisfireStep.rule", "if not row.may_misfire:", "if True:"),
        red="tests/stages/test_misfires.py::test_what_is_missed_is_made_or_skipped_as_its_policy_says",
    ),
    Promise(
        "one-that-waits-goes-as-soon-as-it-can",
        "a firing that waits for another one of its timer goes as soon as that is done.",
        breaks="It is left to look again by itself, each 30 s.",
        by=Mutation(
            "Overlaps._end",
            """
            for chunk in self.hot.arm_now(woken):
                if has_broker:
                    self.send_chunk(chunk)
            """,
            "self.hot.in_window(woken)",
        ),
        red=(
            "tests/testing/test_overlap.py::test_queue_one_lets_the_first_wait_and_skips_the_others",
            "tests/testing/test_overlap.py::test_long_work_is_not_done_before_its_word",
        ),
    ),
    Promise(
        "one-that-waits-has-missed-nothing",
        "a firing that waited for another one of its timer is made, whatever its timer does with missed ones.",
        breaks="The misfire policy takes it for missed.",
        by=Mutation(
            "MisfireStep.rule",
            "has_waited=has_waited or row.has_queued,",
            "has_waited=has_waited,",
        ),
        red="tests/testing/test_overlap.py::test_one_that_waits_is_not_missed_and_is_skipped_once_its_timer_is_disabled",
    ),
    Promise(
        "outcomes-outlive-an-absent-sql",
        "while SQL is away it waits in the outbox.",
        breaks="An outcome that SQL does not take is dropped, and its firing released.",
        by=Mutation(
            "Settler._settle",
            """
            if left:
                self._outbox.park(left)
            """,
            "",
        ),
        red="tests/stages/test_settler.py::test_sql_away_parks_the_outcome_before_the_firing_is_released",
    ),
    Promise(
        "parked-outcomes-are-forgotten-after-sql-has-them",
        "the outbox forgets one only once it is written to SQL.",
        breaks="Flushing forgets a page of the outbox first, and writes it then.",
        by=Mutation(
            "Sweeper._write_together",
            """
            locked = {outcome.member for outcome in self.firings.settle(outcomes)}
            """,
            """
            self.outbox.forget(texts)
            locked = {outcome.member for outcome in self.firings.settle(outcomes)}
            """,
        ),
        red="tests/stages/test_sweeper.py::test_an_outcome_is_forgotten_only_after_sql_has_it",
    ),
    Promise(
        "the-outbox-is-bounded",
        "no more is fired, while SQL is away, than Redis can hold outcomes of.",
        breaks="Arming goes on however full the outbox is.",
        by=Mutation("Trigger._turn", "credit = int(credit * self.takers.outbox_share())", ""),
        red="tests/stages/test_recoveries.py::test_while_sql_is_away_no_more_is_fired_than_redis_can_hold_outcomes_of",
    ),
    Promise(
        "two-executors-never-judge-a-timer-at-once",
        "of two firings of a timer with `overlap` that come at once, one goes, whichever executors have them.",
        breaks="The timer's row is not locked while its firings are judged.",
        by=Mutation(
            "_lock_timers",
            'locking = by_index(locking, "PRIMARY", timers).with_for_update(skip_locked=True)',
            'locking = by_index(locking, "PRIMARY", timers)',
        ),
        red="tests/store/test_begun_firings.py::test_two_executors_that_judge_at_once_let_one_go",
    ),
    Promise(
        "what-is-to-be-cancelled-takes-no-word",
        "the token of a firing that a newer one cancels is dead, though its row does not say so yet.",
        breaks="Only the firing's row is looked at.",
        by=Mutation(
            "_state_of",
            'if status not in (ACCEPTED, PENDING) or attempt < member.attempt or row["is_to_be_cancelled"]:',
            "if status not in (ACCEPTED, PENDING) or attempt < member.attempt:",
        ),
        red="tests/store/test_begun_firings.py::test_the_token_of_one_that_is_still_to_be_cancelled_is_dead",
    ),
    Promise(
        "what-killed-its-executor-alone-has-failed",
        "a firing that kills its executor is tried three times at most, the last time alone, and then has failed.",
        breaks="What killed its executor alone too is sent once more, with all others.",
        by=(
            Mutation("Sender.send", "if died >= DIED_ALONE:", "if died > DIED_ALONE:"),
            Mutation("Sender.send", "if died >= ALONE_AFTER:", "if ALONE_AFTER <= died < DIED_ALONE:"),
        ),
        red="tests/stages/test_poison.py::test_what_killed_its_executor_alone_too_has_failed_and_is_sent_no_more",
    ),
    Promise(
        "what-nobody-can-judge-has-failed",
        "a firing that no node can judge is on record as failed, with the reason.",
        breaks="It is put back for ever.",
        by=Mutation(
            "Unread.verdict",
            """
            if now >= given_up_at:
                with self._lock:
                    self._met_at.pop(member, None)
                return Fail(reason)
            """,
            "",
        ),
        red="tests/stages/test_bad_timers.py::test_what_nobody_could_judge_for_ten_minutes_has_failed_and_says_why",
    ),
    Promise(
        "what-was-put-back-killed-nobody",
        "a firing tried apart that its executor put back is not blamed for a death to come.",
        breaks="What was noted when it was tried stays noted.",
        by=Mutation("put_back.lua", "redis.call('HDEL', KEYS[5], member .. ':apart')", ""),
        red="tests/store/test_slices.py::test_one_tried_apart_that_was_put_back_or_is_over_was_not_died_on",
    ),
    Promise(
        "what-was-said-meanwhile-stands",
        "an accepted firing whose target spoke just when its time was over is not tried again.",
        breaks="What was read before counts.",
        by=Mutation(
            "AcceptedFirings.end.work",
            """
            firings.c.status == ACCEPTED,
            firings.c.attempt == was.member.attempt,
            firings.c.due_at == was.due_at,
            """,
            "",
        ),
        red="tests/store/test_accepted_firings.py::test_the_end_leaves_alone_what_was_said_of_meanwhile",
    ),
    Promise(
        "what-was-sent-is-on-record",
        "a firing that was sent before its cancellation was heard of has the outcome of that.",
        breaks="A settle leaves a cancelled firing as it is.",
        by=Mutation("_takes_effect", "return or_(counts, was_sent)", "return counts"),
        red="tests/store/test_demands.py::test_one_that_was_sent_all_the_same_has_the_outcome_of_that[mariadb-succeeded]",
    ),
)
