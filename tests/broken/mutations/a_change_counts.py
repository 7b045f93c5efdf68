"""A change counts: edits, cancels, pauses and calendars."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "A change counts"
PROMISES = (
    Promise(
        "a-calendar-is-followed-by-all-who-name-it",
        "a calendar uploaded anew is followed by every timer that names it, also by one that is made at that moment.",
        breaks="A timer made with days read before the upload does not say so.",
        by=Mutation(
            "calendar_mark",
            "sql.execute(update(calendars).where(_is(app, excluded.name)).values(followed_at=0))",
            "",
        ),
        red="tests/api/v1/test_following.py::test_a_timer_made_or_edited_with_days_read_before_the_upload_has_the_new_ones[sqlite-create]",
    ),
    Promise(
        "a-cancelled-firing-is-not-made",
        "a firing cancelled earlier than the lead before its moment is not made.",
        breaks="The executor looks at the status and the schedule of a timer, not at what was cancelled.",
        by=Mutation(
            "Definition.still_wants",
            """
            if self.has_cancelled(fire_at):
                return False
            """,
            "",
        ),
        red="tests/stages/test_cancel.py::test_a_cancelled_firing_is_not_made_and_its_neighbours_are",
    ),
    Promise(
        "a-change-counts-after-sql-lost-a-commit",
        "it does so too where SQL lost the commit before it, whose version it then has again.",
        breaks="Of two definitions of one version the first stays in Redis.",
        by=Mutation(
            "define.lua",
            "if held and (held == ARGV[2] or tonumber(string.match(held, '^%d+')) > tonumber(ARGV[1])) then",
            "if held and (held == ARGV[2] or tonumber(string.match(held, '^%d+')) >= tonumber(ARGV[1])) then",
        ),
        red="tests/store/test_definitions.py::test_of_two_with_one_version_the_later_one_counts[redis]",
    ),
    Promise(
        "a-change-counts-however-long-redis-was-away",
        "although Redis was away when it was made, however long.",
        breaks="A sweep tells Redis only of what changed within the last minute.",
        by=Mutation(
            "Refresher._begin",
            "began_behind = min(now, now if told_until is None else told_until) - OVERLAP_MS",
            "began_behind = now - OVERLAP_MS",
        ),
        red="tests/stages/test_registrar.py::test_a_timer_disabled_early_in_a_long_absence_of_redis_does_not_fire_after_it",
    ),
    Promise(
        "a-change-counts-whoever-commits-it",
        "a change that another process commits is seen by all, also where SQLite is asked only after a commit.",
        breaks="A process goes on with what it once read.",
        by=Mutation(
            "Database.changes",
            "if self._changes is None or self._changes.mark != mark:",
            "if self._changes is None:",
        ),
        red="tests/store/test_while_unchanged.py::test_a_commit_is_seen_at_once_whoever_made_it[sqlite-another]",
    ),
    Promise(
        "a-change-counts-within-what-its-answer-says",
        "one that Redis could not be told of counts within what its answer says, though no sweep comes.",
        breaks="An executor believes what Redis has of a definition, however long ago it was told of changes.",
        by=Mutation(
            "is_believed",
            "return -CLOCKS_APART_MS <= age_ms <= COUNTS_WITHIN_MS - lead_ms - CLOCKS_APART_MS",
            "return True",
        ),
        red="tests/stages/test_told.py::test_in_a_hundred_cuts_at_random_moments_a_change_counts_within_what_its_answer_says[disable-False]",
    ),
    Promise(
        "a-changed-target-counts-for-all-its-timers",
        "a changed target is called by all timers that name it, as soon as Redis is told.",
        breaks="A process goes on with the target that it read first.",
        by=Mutation(
            "SharedCopies.known",
            "if held is not None and mark is not None and held.mark == mark:",
            "if held is not None and mark is not None:",
        ),
        red="tests/stages/test_targets.py::test_a_changed_url_counts_for_what_is_due_a_lead_later",
    ),
    Promise(
        "a-disabled-timer-does-not-fire",
        "a timer disabled earlier than the lead before a moment does not fire.",
        breaks="An executor fires what its definition contains, enabled or not.",
        by=Mutation(
            "Definition.still_wants",
            "return self.is_enabled and (not self.edited_at or self.schedule.matches(fire_at))",
            "return not self.edited_at or self.schedule.matches(fire_at)",
        ),
        red="tests/stages/test_registrar.py::test_a_timer_disabled_earlier_than_the_lead_before_its_moment_never_fires",
    ),
    Promise(
        "a-gone-target-disables-its-timer",
        "a timer whose target answers 410 is disabled.",
        breaks="Nobody is told of it.",
        by=Mutation(
            "RetryReading.read",
            "return outcome._replace(error=GONE_ERROR).with_note((CONTROL, gone.text))",
            "return outcome._replace(error=GONE_ERROR)",
        ),
        red="tests/testing/test_gone.py::test_the_timer_is_disabled_and_the_record_and_the_audit_say_so",
    ),
    Promise(
        "a-pause-is-not-undone-by-another-change",
        "a pause or limit is not undone by a change that was read before it and is told after it.",
        breaks="What was read once is told once.",
        by=Mutation(
            "Replica.tell",
            """
            if found == told:
                return
            """,
            "return",
        ),
        red="tests/store/test_replica.py::test_what_is_told_is_what_sql_has_also_where_it_changes_meanwhile",
    ),
    Promise(
        "a-pause-is-not-undone-by-a-demoted-server",
        "nor by a process that is still connected to an SQL server that was demoted; the same holds for limits.",
        breaks="What any server says is told to Redis.",
        by=Mutation("PauseStore.all", "return self._database.read_current(", "return self._database.read("),
        red=(
            "tests/store/test_moved_sql.py::test_what_redis_is_told_is_read_of_a_server_that_takes_writes",
            "tests/store/test_moved_sql.py::test_a_pause_on_the_new_server_is_not_taken_back_by_a_process_that_knows_the_old_one",
        ),
    ),
    Promise(
        "a-pause-is-made-where-writes-are-taken",
        "a pause or resume goes by what the server has that takes writes.",
        breaks="What is paused on the demoted server is said to be paused.",
        by=Mutation(
            "PauseStore.add",
            "if (found := _one(sql, pause.name, locks=True)) is not None:",
            "if (found := _one(sql, pause.name)) is not None:",
        ),
        red="tests/store/test_moved_sql.py::test_what_was_paused_or_limited_on_the_old_server_alone_decides_nothing",
    ),
    Promise(
        "a-pause-outlasts-a-lost-redis",
        "a pause outlasts a loss of Redis and the restart of every callback process.",
        breaks="A process that finds no rules in Redis pauses nothing.",
        by=Mutation("Replica.learn", "found = self.in_sql()", "found = self.known"),
        red="tests/stages/test_pauses.py::test_a_pause_outlasts_a_loss_of_redis_and_the_restart_of_every_process",
    ),
    Promise(
        "a-repair-delays-nothing-that-is-made-due-at-once",
        "what an enable makes due at once is armed at once, though a repair came between.",
        breaks="What a repair put into the slice is left to wait for a running lease.",
        by=Mutation(
            "arm_now.lua",
            "if redis.call('ZSCORE', KEYS[2], member) or redis.call('ZSCORE', KEYS[3], member) then",
            "if redis.call('ZSCORE', KEYS[1], member) or redis.call('ZSCORE', KEYS[2], member) or redis.call('ZSCORE', KEYS[3], member) then",
        ),
        red="tests/store/test_slices.py::test_a_member_that_a_repair_lets_wait_is_armed_at_once_and_verified[redis]",
    ),
    Promise(
        "a-replay-goes-by-the-app-s-present-queue",
        "a replay of an older firing goes by the queue that its app has now.",
        breaks="A replay keeps the bucket that the firing was planned into.",
        by=Mutation(
            "OnDemand._replay", "self.demands_in_redis.buckets.moved(app, row.bucket),", "row.bucket,"
        ),
        red="tests/stages/test_own_queues.py::test_fire_now_goes_by_the_queue_and_so_does_a_replay_of_an_older_firing",
    ),
    Promise(
        "a-timer-changed-since-a-410-is-left-alone",
        "a timer that was changed since its target answered 410, or whose named target was, stays enabled.",
        breaks="Versions are not looked at.",
        by=(
            Mutation("GoneStopper.stop", "and timer.is_at(called[timer.id].version)", ""),
            Mutation(
                "GoneStopper.stop",
                "and called[timer.id].until == self._target_version(timer, versions)",
                "",
            ),
        ),
        red=(
            "tests/api/v1/test_gone.py::test_one_that_was_changed_or_enabled_since_is_left_alone",
            "tests/api/v1/test_gone.py::test_one_whose_named_target_was_changed_since_is_left_alone",
        ),
    ),
    Promise(
        "a-timer-of-one-moment-ends-after-a-410",
        "a timer without a moment to come ends after a 410 as after any failure.",
        breaks="It is disabled, and so never deleted.",
        by=Mutation("GoneStopper.stop", "and timer.next_fire_at is not None", ""),
        red="tests/testing/test_gone.py::test_a_timer_of_one_moment_ends_as_after_any_failure[410]",
    ),
    Promise(
        "an-answer-controls-the-timer-that-was-called",
        "an answer leaves a timer alone that its owner changed since the call",
        breaks="the version that was called is not compared",
        by=Mutation(
            "ControlApplier._change",
            "self.registrar.disable(app, timer_id, control.version)",
            "self.registrar.disable(app, timer_id)",
        ),
        red="tests/testing/test_reply_controls.py::test_a_timer_that_was_changed_since_its_call_is_left_alone",
    ),
    Promise(
        "an-answer-says-how-soon-a-change-counts",
        "the answer to a disable or delete says within how many ms it counts, and that is never exceeded, however the"
        " API is cut off from Redis meanwhile.",
        breaks="The answer says that the change counts within the lead, told to Redis or not.",
        by=Mutation("counts_within_ms", "return lead_ms if is_told else COUNTS_WITHIN_MS", "return lead_ms"),
        red="tests/chaos/test_cut_changes.py::test_in_a_hundred_cuts_of_the_api_a_change_counts_within_what_its_answer_says[sweeps are frozen]",
    ),
    Promise(
        "an-edit-leaves-what-came-due-before-it",
        "a firing that came due before an edit of its timer's schedule is made, though it waits for an executor or its host.",
        breaks="Its moment must be one of the schedule as it is now.",
        by=Mutation(
            "Wanted._stands",
            "return definition.had_planned(row.fire_at)",
            "return False",
        ),
        red="tests/stages/test_edit.py::test_what_came_due_before_an_edit_is_made_though_nobody_could_make_it_then",
    ),
    Promise(
        "an-edit-leaves-what-waits",
        "a firing that came due before an edit of its timer's schedule and waits for its host is made.",
        breaks="Its moment must be one of the schedule as it is now.",
        by=Mutation("Wanted._stands", "if row.lane and row.fire_at <= definition.edited_at:", "if False:"),
        red="tests/stages/test_edit.py::test_what_waits_for_a_failing_host_is_made_after_two_edits",
    ),
    Promise(
        "new-zone-rules-leave-what-came-due-before-them",
        "a firing that came due before its process had new rules of its zone is made, though its timer was ever edited.",
        breaks="Its moment must be one by the new rules.",
        by=Mutation(
            "Definition.had_planned",
            "return not stood_from or stood_from + MOST_AHEAD_MS < fire_at",
            "return fire_at <= self.edited_at and (not stood_from or stood_from + MOST_AHEAD_MS < fire_at)",
        ),
        red="tests/testing/test_due_before_a_change.py::test_what_waits_is_made_before_new_zone_rules_are_followed[True-outage]",
    ),
    Promise(
        "new-zone-rules-count",
        "timers whose moments are others by new rules of their zone or built-in calendar are planned anew by the first process that has them.",
        breaks="What was planned stays.",
        by=Mutation(
            "RulesFollower.sweep",
            "elif is_newer(own, held) or self._has_gone_silent(held.seen_at, now, silence):",
            "elif self._has_gone_silent(held.seen_at, now, silence):",
        ),
        red="tests/api/test_rules_follower.py::test_timers_whose_moments_are_others_by_new_rules_are_planned_anew_and_no_others[sqlite]",
    ),
    Promise(
        "older-zone-rules-plan-nothing",
        "a process with older rules plans nothing while one with newer ones is there.",
        breaks="It plans as before: the moments it works out stand in place of the right ones.",
        by=Mutation("Migrator.plan_due", "if not self.may_plan():", "if False:"),
        red="tests/api/test_rules_follower.py::test_a_process_with_older_rules_plans_nothing_while_one_with_newer_ones_is_there[sqlite]",
    ),
    Promise(
        "older-zone-rules-plan-where-nobody-else-does",
        "a process with older rules plans again once none with newer ones is there.",
        breaks="It waits for one with newer rules for ever.",
        by=Mutation(
            "RulesFollower.sweep",
            "elif is_newer(own, held) or self._has_gone_silent(held.seen_at, now, silence):",
            "elif is_newer(own, held):",
        ),
        red="tests/api/test_rules_follower.py::test_the_older_rules_count_again_once_nobody_has_the_newer_ones[sqlite]",
    ),
    Promise(
        "older-zone-rules-plan-nothing-after-an-outage",
        "nor does it after an outage of SQL, in which nobody could say that they are there.",
        breaks="Who comes first after an outage takes it for silence.",
        by=Mutation(
            "RulesFollower._has_gone_silent",
            "return self.clock.monotonic() >= silence[1] + SILENT_MS / 1_000",
            "return True",
        ),
        red="tests/api/test_rules_follower.py::test_an_outage_of_sql_is_no_silence[sqlite]",
    ),
    Promise(
        "moments-of-older-rules-are-found-later-too",
        "what a process with older rules plans after the change of rules is planned anew, for a day.",
        breaks="Timers are looked at once.",
        by=Mutation("RulesFollower._follow", "if passed_s >= FOLLOWED_FOR_S:", "if True:"),
        red="tests/api/test_rules_follower.py::test_what_an_older_process_planned_all_the_same_is_planned_anew_within_minutes[sqlite]",
    ),
    Promise(
        "new-zone-rules-leave-the-number-of-firings",
        "of a timer with `maxFirings` as many are made after its zone got new rules.",
        breaks="Its last moment stays that of the rules before.",
        by=Mutation(
            "Registrar.planned_anew",
            "schedule = timer.ending.applied_to(cancelled_by_present_rules(definition.schedule))",
            "schedule = cancelled_by_present_rules(definition.schedule)",
        ),
        red="tests/api/test_rules_follower.py::test_as_many_firings_are_made_as_were_asked_for[sqlite-1]",
    ),
    Promise(
        "what-a-target-answers-counts-beside-a-calendar",
        "what a target answers counts though a calendar or new zone rules changed its timer since the call.",
        breaks="The timer must be at the version that was called.",
        by=Mutation(
            "Timer.is_at",
            "return version == at or (last == at and first <= version < at)",
            "return version == at",
        ),
        red="tests/api/v1/test_following.py::test_what_a_target_answered_counts_though_its_timer_followed_an_upload[sqlite]",
    ),
    Promise(
        "new-zone-rules-leave-a-firing-cancelled",
        "a cancelled firing is not made after its zone got new rules, where its new moment can be told.",
        breaks="The moment of the rules before stays cancelled alone.",
        by=Mutation("cancelled_by_present_rules", "if len(near) == 1:", "if False:"),
        red="tests/api/test_rules_follower.py::test_a_cancelled_firing_stays_cancelled[sqlite-Etc/GMT]",
    ),
    Promise(
        "a-paused-firing-has-not-begun",
        "a firing that is paused stands in the way of no other one of its timer.",
        breaks="It begins when its moment comes, and waits.",
        by=Mutation("PauseStep.rule", "if not self.waits.are_any_paused:", "if True:"),
        red="tests/testing/test_absences.py::test_what_came_due_in_an_absence_is_made_as_the_table_says[skip-fire_latest-pause]",
    ),
    Promise(
        "what-is-not-judged-for-a-pause-is-not-sent",
        "a firing that was paused when overlaps were judged is not sent unjudged where the pause ends meanwhile.",
        breaks="What is paused by then alone counts.",
        by=Mutation(
            "Sender.send", "lane = paused.get(firing.held.member) if may_wait else None", "lane = None"
        ),
        red="tests/stages/test_pauses.py::test_what_is_not_judged_for_a_pause_is_not_sent_where_the_pause_ends_meanwhile",
    ),
    Promise(
        "a-disable-stops-what-waits",
        "a disable stops the firings that came due before it and wait, though the timer is enabled again.",
        breaks="Only whether the timer is enabled when they may go counts.",
        by=Mutation(
            "Definition.has_stopped",
            "return fire_at <= self.disabled_at and self.schedule.only_moment is None",
            "return False",
        ),
        red="tests/stages/test_pauses.py::test_a_disable_stops_what_waits_though_the_timer_is_enabled_again",
    ),
    Promise(
        "an-edited-schedule-counts",
        "a moment edited away earlier than the lead before it does not fire.",
        breaks="The executor does not ask the present schedule.",
        by=Mutation(
            "Definition.still_wants",
            "return self.is_enabled and (not self.edited_at or self.schedule.matches(fire_at))",
            "return self.is_enabled",
        ),
        red="tests/stages/test_executor.py::test_moments_of_a_schedule_that_was_edited_away_are_skipped_as_superseded",
    ),
    Promise(
        "an-old-definition-replaces-no-newer-one",
        "a late writer's old definition does not replace the newer one in Redis.",
        breaks="The last definition written stands, whichever version it is.",
        by=Mutation(
            "define.lua",
            "if held and (held == ARGV[2] or tonumber(string.match(held, '^%d+')) > tonumber(ARGV[1])) then",
            "if held and held == ARGV[2] then",
        ),
        red="tests/store/test_definitions.py::test_an_older_version_never_replaces_a_newer_one[redis]",
    ),
    Promise(
        "disabling-stops-what-was-asked-for",
        "disabling stops what was asked for before it and is not sent yet.",
        breaks="What was asked for is fired whenever the timer was disabled.",
        by=Mutation(
            "Definition.has_stopped",
            "return not self.is_enabled and asked_at < self.disabled_at",
            "return False",
        ),
        red="tests/stages/test_fire_now.py::test_disabling_stops_what_was_asked_for_before_and_is_not_sent",
    ),
    Promise(
        "following-goes-on-after-a-death",
        "what an upload of a calendar left undone is gone on with, whoever died.",
        breaks="Only the upload itself asks for it to be followed.",
        by=Mutation(
            "CalendarFollower.ask",
            """
            if self.calendar_followers.uploads_to_follow(1):
                self.send_follow()
            """,
            "return",
        ),
        red="tests/api/v1/test_following.py::test_what_died_half_way_is_gone_on_with[sqlite-before]",
    ),
    Promise(
        "what-a-cancelled-firing-brings-changes-no-timer",
        "what the answer to a firing that was cancelled meanwhile asks of its timer is not done.",
        breaks="It is on record as soon as the answer is, whatever the firing's outcome is.",
        by=Mutation(
            "keep_controls",
            "if (outcome := controls[timer_id, fire_at]).has_taken_effect(status, attempt)",
            "if (outcome := controls[timer_id, fire_at])",
        ),
        red="tests/testing/test_overlap.py::test_what_the_answer_to_a_cancelled_one_asks_for_is_not_done",
    ),
    Promise(
        "what-a-delete-is-too-late-for-is-told",
        "a disable or delete tells of a call that may be on its way.",
        breaks="A delete does not note that the timer was enabled until then.",
        by=Mutation(
            "changed_definition",
            "is_switched_off = was.is_enabled and status is not TimerStatus.ENABLED",
            "is_switched_off = was.is_enabled and status is TimerStatus.DISABLED",
        ),
        red="tests/stages/test_stops.py::test_an_enabled_timer_that_is_deleted_is_told_in_flight",
    ),
    Promise(
        "what-one-stop-cancelled-is-cancelled-for-the-next",
        "a delete right after a disable knows what the disable has stopped.",
        breaks="Nobody notes since when Redis knew that the timer is off.",
        by=Mutation("Stops.of", "self._note_off(told, found, now)", ""),
        red="tests/stages/test_stops.py::test_what_one_stop_cancelled_is_cancelled_for_the_next[200-disable]",
    ),
    Promise(
        "what-is-called-cancelled-is-not-called",
        "what a disable or delete calls cancelled is not called.",
        breaks="A moment for which a call may be on its way is called cancelled.",
        by=Mutation(
            "Stops._judged",
            "reach = off_at + self.soon_ms + (COUNTS_WITHIN_MS if is_untold else 0)",
            "reach = off_at",
        ),
        red=(
            "tests/stages/test_stops.py::test_what_is_near_may_be_on_its_way",
            "tests/stages/test_stops.py::test_it_is_called_in_flight_for_a_reason",
        ),
    ),
    Promise(
        "what-is-paused-is-not-called",
        "from 5 s after an operator paused something, no call of it begins, and no attempt of it is used.",
        breaks="Nothing is paused.",
        by=Mutation(
            "Waits.pause_of",
            "lane = self._pauses.known.lane_of(app, host, held.member.timer_id)",
            "lane = None",
        ),
        red="tests/stages/test_pauses.py::test_what_is_paused_is_not_called_uses_no_attempt_and_all_is_called_when_it_goes_on",
    ),
    Promise(
        "what-never-left-is-not-called-fired",
        "a disable or delete answers already_fired only where a call was sent.",
        breaks="What has failed, or waits for another attempt, counts as fired.",
        by=Mutation(
            "_state_of_last",
            "if was_sent:",
            "if was_sent or latest.status is not FiringStatus.SKIPPED:",
        ),
        red=(
            "tests/stages/test_stops.py::test_a_retry_that_waits_is_cancelled_where_no_attempt_was_sent",
            "tests/stages/test_stops.py::test_what_failed_and_was_never_sent_has_no_moment_to_stop",
        ),
    ),
    Promise(
        "what-waits-in-a-process-is-paused-too",
        "a call that waits in its process when an operator pauses it is not sent.",
        breaks="Only what is claimed later is held.",
        by=Mutation(
            "Attempt.may_send",
            "if not sender.may_send(held) or sender.pause_of(held, request.app, request.host) is not None:",
            "if not sender.may_send(held):",
        ),
        red="tests/stages/test_pauses.py::test_a_call_that_waits_in_the_process_when_the_pause_comes_is_not_sent",
    ),
    Promise(
        "who-tries-410-again-is-not-disabled",
        "a timer whose policy names 410 is not disabled by it.",
        breaks="The policy is not asked.",
        by=Mutation(
            "RetryPolicy.is_gone",
            "return status == GONE and not _GONE_NAMES & {*self.final, *self.retried}",
            "return status == GONE",
        ),
        red=(
            "tests/testing/test_gone.py::test_who_tries_410_again_is_not_disabled[410]",
            "tests/testing/test_gone.py::test_who_names_410_final_loses_the_firing_only[410]",
        ),
    ),
)
