"""No undue second call: claims, leases and what was sent before."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "No undue second call"
PROMISES = (
    Promise(
        "a-claim-that-cannot-be-renewed-harms-no-other",
        "a claim whose renewal fails in an unforeseen way costs no other claim its lease.",
        breaks="One error ends the whole pass.",
        by=Mutation(
            "Keeper.renew_due",
            "self._renew_guarded(due[start : start + CLAIMS_A_TRIP])",
            "self._renew(due[start : start + CLAIMS_A_TRIP])",
        ),
        red="tests/stages/test_keeper.py::test_a_claim_that_cannot_be_renewed_harms_no_other",
    ),
    Promise(
        "a-frozen-move-sends-nobody-twice",
        "a process that was frozen before it noted a lane does not have a firing called from there that another one calls.",
        breaks="What it noted stays.",
        by=Mutation(
            "Mover._move", "self._take_back([move for move in noted if move.held.member not in kept])", "pass"
        ),
        red=(
            "tests/stages/test_mover.py::test_what_a_frozen_process_notes_of_a_member_that_others_have_by_now_it_takes_back",
            "tests/stages/test_mover.py::test_it_takes_it_back_to_the_lane_from_which_it_was_pulled",
        ),
    ),
    Promise(
        "a-clock-put-ahead-ends-no-claim",
        "a clock of Redis that is put ahead ends no lease of the living.",
        breaks="What ran out by the new clock is taken back at once.",
        by=Mutation(
            "SliceStore.turn",
            'ran_out_by = "" if keep_leases else int(self._clock.earliest_ms())',
            'ran_out_by = "" if keep_leases else now',
        ),
        red="tests/store/test_slices.py::test_a_clock_put_ahead_ends_no_lease_of_the_living[redis]",
    ),
    Promise(
        "a-demoted-redis-is-left",
        "once Redis' name leads to another server, nobody stays connected to the one that is a replica now.",
        breaks="A refused write ends as one of a server that is away, and its connections stay.",
        by=Mutation("RedisConnection._renew", "self.pool.disconnect(inuse_connections=False)", ""),
        red="tests/store/test_redis_connection.py::test_once_redis_has_moved_no_connection_stays_with_the_server_that_was_demoted[READONLY]",
    ),
    Promise(
        "a-demoted-redis-is-left-by-the-stream",
        "nor does the stream, which waits there for what consumers are to get.",
        breaks="Each of its scripts is refused until the process ends.",
        by=Mutation("StreamRedis._ask", "await self._renew()", "pass"),
        red="tests/stream/test_stream_redis.py::test_once_redis_has_moved_the_stream_asks_and_listens_there",
    ),
    Promise(
        "a-demoted-server-is-left",
        "once SQL's name leads to another server, nobody stays connected to the one that takes no writes any more.",
        breaks="A refused write ends as one that is refused for good, and its connections stay.",
        by=Mutation("Database._repeat", "self._renew()", ""),
        red="tests/store/test_database.py::test_once_a_database_has_moved_no_connection_stays_with_the_server_that_was_demoted",
    ),
    Promise(
        "a-demoted-server-is-not-asked-what-was-sent",
        "what may have been sent already is looked up where outcomes are written now.",
        breaks="Whatever server is connected tells it.",
        by=Mutation(
            "FiringStore.rows",
            "return self._database.read_current(lambda sql: _of_keys(sql, _ANY, keys)) if keys else Readable()",
            "return self._database.read(lambda sql: _of_keys(sql, _ANY, keys)) if keys else Readable()",
        ),
        red="tests/store/test_database.py::test_what_may_have_been_sent_is_asked_of_the_server_that_takes_writes_now",
    ),
    Promise(
        "a-demoted-server-is-not-believed",
        "what is to be current is told by a server that takes writes, if one can be reached.",
        breaks="What the demoted server said stands.",
        by=Mutation(
            "Database.read_current",
            "return self.read(work) if is_demoted and (self._renew() or self._renewed_at >= began) else result",
            "return result",
        ),
        red="tests/store/test_moved_sql.py::test_what_is_to_be_current_is_not_told_by_a_server_that_was_demoted",
    ),
    Promise(
        "a-demoted-server-is-asked-by-none-of-several",
        "of several that ask at the switch, none is told by the server that was demoted.",
        breaks="Who finds out second keeps what the old server said.",
        by=Mutation(
            "Database.read_current",
            "return self.read(work) if is_demoted and (self._renew() or self._renewed_at >= began) else result",
            "return self.read(work) if is_demoted and self._renew() else result",
        ),
        red="tests/store/test_database.py::test_what_two_ask_at_the_switch_neither_is_told_by_the_demoted_server",
    ),
    Promise(
        "a-firing-is-claimed-by-one",
        "what one executor has claimed, no other can.",
        breaks="Whoever asks for a member that runs gets it.",
        by=Mutation(
            "claim.lua",
            "answers[i] = (ends[i] or owners[i] == claim) and 1 or 0",
            "answers[i] = (ends[i] or owners[i]) and 1 or 0",
        ),
        red="tests/store/test_slices.py::test_a_second_delivery_claims_nothing[redis]",
    ),
    Promise(
        "a-frozen-executor-sends-nothing-once-its-lease-is-over",
        "who froze asks its own stop-watch whether its lease still lasts before it sends.",
        breaks="What is held may be sent, however long ago its lease was renewed.",
        by=Mutation(
            "Claim.is_safe",
            "return member in self._open and now - self.renewed_at <= lease_s - SAFETY_S",
            "return member in self._open",
        ),
        red="tests/stages/test_recoveries.py::test_flaw_11_a_frozen_executor_sends_nothing_once_its_lease_is_over",
    ),
    Promise(
        "a-long-call-keeps-its-lease",
        "a call that may take longer than the deployment's is not made anew while it lasts.",
        breaks="Its lease is renewed for as long as the deployment's calls may take.",
        by=Mutation(
            "Sender._attempt",
            """
            if order.timeouts != AS_DEPLOYED:
                self._keeper.keep_for(held, due_at, order.timeouts)
            """,
            "",
        ),
        red="tests/stages/test_long_calls.py::test_a_call_of_nine_minutes_is_made_once",
    ),
    Promise(
        "a-repaired-lane-waits-for-its-holders",
        "what a repair puts into a lane waits one running lease from now.",
        breaks="The repair lets it go at once.",
        by=Mutation("lane_add.lua", "if repair and moment <= now and held > now then moment = held end", ""),
        red="tests/store/test_lanes.py::test_a_repair_lets_what_is_late_wait_one_running_lease_from_now[redis]",
    ),
    Promise(
        "a-slice-has-one-trigger",
        "a trigger whose slice is another's arms nothing.",
        breaks="A turn takes the slice's lock from whoever holds it.",
        by=Mutation("turn.lua", "if holder and holder ~= ARGV[2] then return false end", ""),
        red="tests/store/test_slices.py::test_a_turn_on_anothers_slice_changes_nothing[redis]",
    ),
    Promise(
        "a-taken-mail-is-not-sent-again",
        "a mail that its server has taken is not sent again, whatever the server says after that",
        breaks="A farewell that fails counts as the mail's failure",
        by=Mutation(
            "Mailer._connected",
            """
            with suppress(OSError, smtplib.SMTPException):
                link.quit()
            """,
            "link.quit()",
        ),
        red="tests/alerts/test_telling.py::test_a_mail_that_was_taken_is_not_sent_again_whatever_the_server_says_then",
    ),
    Promise(
        "all-is-verified-after-redis-was-away",
        "after Redis came back, perhaps with old data, everything is looked up in SQL for a while.",
        breaks="A reconnect is no reason to look.",
        by=Mutation(
            "_may_have_been_sent",
            "return member in suspects or member.attempt > 1 or due_at != member.fire_at or due_at < fresh_until",
            "return member in suspects or member.attempt > 1 or due_at != member.fire_at",
        ),
        red="tests/stages/test_executor.py::test_flaw_13_everything_is_verified_for_ten_seconds_after_redis_was_away",
    ),
    Promise(
        "what-a-target-may-have-read-is-not-sent-again",
        "a request that its target may have read is not sent again in the same attempt, unless its method is idempotent.",
        breaks="Whatever was written into a kept connection that ended without an answer goes again.",
        by=Mutation(
            "Exchange._may_go_again",
            "return has_ended and _unacknowledged(self.fd) >= written",
            "return True",
        ),
        red=(
            "tests/callback/test_kept_connections.py::test_what_the_target_took_and_may_have_acted_on_is_not_sent_again",
            "tests/callback/test_kept_connections.py::test_after_a_reset_nobody_knows_what_the_target_took",
            "tests/callback/test_exchange.py::test_who_has_ended_tls_but_not_tcp_may_act_on_what_comes_then[False]",
        ),
    ),
    Promise(
        "an-overtaken-attempt-is-not-made-again",
        "an attempt whose firing has gone on to the next one is not made again.",
        breaks="The verifier does not look at which attempt the row stands.",
        by=Mutation(
            "Verifier._judge",
            "if row.attempt > due.member.attempt or row.stands_in != slice_:",
            "if row.stands_in != slice_:",
        ),
        red="tests/stages/test_recoveries.py::test_flaw_8_a_ghost_of_the_first_attempt_makes_no_second_attempt_early",
    ),
    Promise(
        "confirms-before-the-end-count",
        "what a broker confirmed before the connection ended is not sent again.",
        breaks="What was read before the end is forgotten.",
        by=Mutation(
            "MessageEngine._break",
            """
            for confirm in self._link.confirms():
                self._take(confirm)
            """,
            "",
        ),
        red="tests/messaging/test_bad_messages.py::test_confirms_that_came_before_the_end_of_the_connection_count",
    ),
    Promise(
        "every-attempt-carries-the-same-id",
        "every attempt of a firing carries the same webhook-id, by which a second call is known.",
        breaks="The attempt's number is part of the id.",
        by=Mutation(
            "Member.firing_id",
            'return f"{self.timer_id}-{self.fire_at}"',
            'return f"{self.timer_id}-{self.fire_at}-{self.attempt}"',
        ),
        red="tests/stages/test_executor.py::test_all_attempts_of_a_firing_carry_one_webhook_id",
    ),
    Promise(
        "nobody-releases-what-is-anothers",
        "who was held up past his lease cannot release what another runs now.",
        breaks="A release asks only whether anybody owns the member.",
        by=Mutation(
            "release.lua",
            "if owner == claim then mine[#mine + 1] = ARGV[i + 1] end",
            "if owner then mine[#mine + 1] = ARGV[i + 1] end",
        ),
        red="tests/store/test_slices.py::test_releasing_touches_only_what_is_mine[redis]",
    ),
    Promise(
        "only-what-is-armed-is-claimed",
        "an old or doubled message claims nothing that is no longer armed.",
        breaks="A claim takes a member whether it is armed or not, unless another claim has it.",
        by=Mutation(
            "claim.lua",
            "if ends[i] then",
            """
            ends[i] = ends[i] or not owners[i]
            if ends[i] then
            """,
        ),
        red=(
            "tests/store/test_slices.py::test_an_old_message_of_attempt_1_cannot_claim_attempt_2[redis]",
            "tests/store/test_slices.py::test_a_claim_drops_what_is_no_longer_armed[redis]",
        ),
    ),
    Promise(
        "two-beats-make-no-duplicates",
        "two beats, a late or a doubled tick send no slice to two triggers.",
        breaks="The scheduler sends a trigger for every slice, whether it won the lock or not.",
        by=Mutation(
            "Scheduler.tick",
            "locked = self.slices.lock({slice_: uuid4().hex for slice_ in slices})",
            """
            locked = {slice_: uuid4().hex for slice_ in slices}
            self.slices.lock(locked)
            """,
        ),
        red="tests/stages/test_scheduler.py::test_two_beats_send_one_trigger",
    ),
    Promise(
        "what-a-repair-left-out-waits-for-its-holders",
        "what a repair finds no room for comes into its lane no sooner than a running lease later.",
        breaks="A lane feeder brings it at once.",
        by=Mutation(
            "lane_add.lua",
            "local held = feeds and tonumber(redis.call('HGET', KEYS[4], 'held') or 0) or now + lease",
            "local held = feeds and 0 or now + lease",
        ),
        red=(
            "tests/store/test_full_lanes.py::test_what_a_repair_left_out_waits_until_its_holders_could_renew[redis]",
            "tests/store/test_full_lanes.py::test_so_does_what_a_repair_leaves_out_before_an_older_rest[redis]",
        ),
    ),
    Promise(
        "what-is-cancelled-together-is-not-called",
        "of firings of a `cancelOlder` timer that come together, only the newest is called.",
        breaks="Those that the newest cancels are called too.",
        by=Mutation(
            "_Begun.judged_all",
            "member: Judged(None) if member.key in self.cancelled else found",
            "member: found",
        ),
        red=(
            "tests/store/test_begun_firings.py::test_those_judged_together_are_judged_in_the_order_of_their_moments",
            "tests/testing/test_overlap.py::test_of_those_that_an_outage_held_up_cancel_older_calls_the_newest_alone",
        ),
    ),
    Promise(
        "what-is-in-flight-is-not-given-back",
        "where a later part of a chunk fails, or the process ends, what is in flight is not given back.",
        breaks="All that is held is given back.",
        by=Mutation(
            "Claim.not_handed_on",
            "return [member for member in self._open if member not in self._handed_on]",
            "return [member for member in self._open]",
        ),
        red=(
            "tests/stages/test_parts.py::test_what_is_in_flight_is_not_given_back_when_the_process_ends",
            "tests/stages/test_parts.py::test_what_is_in_flight_is_not_given_back_when_a_later_part_fails",
        ),
    ),
    Promise(
        "what-is-to-be-cancelled-is-not-called",
        "a firing that a newer one cancels is not called, though its row does not say so yet.",
        breaks="What is still to be cancelled is judged as ever.",
        by=Mutation(
            "_Begun.judged",
            """
            if member.key in self.to_cancel:
                self.cancelled[member.key] = self.to_cancel[member.key]
                return Judged(None)
            """,
            "",
        ),
        red="tests/store/test_begun_firings.py::test_one_that_is_still_to_be_cancelled_is_not_called_again",
    ),
    Promise(
        "what-may-have-been-sent-is-verified",
        "a firing that may have been sent already is looked up before it is sent.",
        breaks="A suspect is sent without a look at SQL.",
        by=Mutation(
            "_may_have_been_sent",
            "return member in suspects or member.attempt > 1 or due_at != member.fire_at or due_at < fresh_until",
            "return member.attempt > 1 or due_at != member.fire_at or due_at < fresh_until",
        ),
        red="tests/stages/test_recoveries.py::test_flaw_6_ghosts_added_by_who_read_the_row_before_it_was_settled_are_verified_and_not_sent",
    ),
    Promise(
        "what-runs-is-not-added-again",
        "a repair leaves a firing alone that somebody runs.",
        breaks="An add looks among the armed and not among the running.",
        by=Mutation(
            "add.lua",
            "and (redis.call('ZSCORE', KEYS[2], member) or redis.call('ZSCORE', KEYS[3], member))",
            "and redis.call('ZSCORE', KEYS[2], member)",
        ),
        red="tests/store/test_slices.py::test_a_member_that_runs_is_not_added_again[redis]",
    ),
    Promise(
        "what-is-said-after-an-outage-counts",
        "accepted work of which nothing could be said while SQL was away is not done again for another minute.",
        breaks="It ends with the first sweep, or the first flush, after the outage.",
        by=(
            Mutation("AckGrace.is_over", "return now >= ends_from", "return True"),
            Mutation(
                "Sweeper._with_time_left",
                """
                outcome._replace(due_at=max(outcome.due_at, until))
                if outcome.status is FiringStatus.ACCEPTED
                else outcome
                """,
                "outcome",
            ),
        ),
        red=(
            "tests/api/v1/test_long_work.py::test_what_is_said_within_a_minute_after_an_outage_of_sql_counts_though_its_time_is_over",
            "tests/stages/test_sweeper.py::test_a_target_whose_answer_202_was_parked_has_a_minute_to_say_that_it_is_done",
        ),
    ),
    Promise(
        "what-was-sent-before-a-clock-was-put-back-is-verified",
        "what may have been sent before Redis' clock was put back is looked up before it is sent.",
        breaks="What is added counts as not due yet by the clock after the step.",
        by=Mutation(
            "SliceStore.add",
            "now, leases = self._latest(), self._leases",
            "now, leases = self._now(), self._leases",
        ),
        red="tests/store/test_slices.py::test_what_was_due_before_a_clock_was_put_back_is_verified[redis]",
    ),
)
