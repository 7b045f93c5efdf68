"""Nothing is lost: slices, lanes and the agenda in Redis."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "Nothing is lost"
PROMISES = (
    Promise(
        "a-claim-is-not-renewed-for-ever",
        "a claim is renewed as long as its callbacks can take, and no longer, so that a hang costs no firing.",
        breaks="The keeper renews without an end.",
        by=(
            Mutation("Keeper.renew_due", "_let_go_of_what_is_over(claims, now)", ""),
            Mutation(
                "Keeper.renew_due",
                "if now < claim.until and (claim.id in asked_ids or now - claim.renewed_at >= self._renew_every_s)",
                "if (claim.id in asked_ids or now - claim.renewed_at >= self._renew_every_s)",
            ),
        ),
        red="tests/stages/test_keeper.py::test_flaw_19_a_claim_is_not_renewed_for_ever",
    ),
    Promise(
        "a-dead-pullers-firings-come-back",
        "what a dead process had pulled from a lane is taken back.",
        breaks="A pull takes no lease back.",
        by=Mutation("lane_pull.lua", "if ARGV[6] ~= '' then", "if ARGV[6] == '1' then"),
        red="tests/store/test_lanes.py::test_a_dead_pullers_members_come_back_with_its_death_counted[redis]",
    ),
    Promise(
        "a-firing-that-moves-stands-somewhere",
        "a firing is in its lane before it is released.",
        breaks="It is released first.",
        by=Mutation(
            "Mover._join",
            """
            self._hot.add_to_lanes(added)
            let_go(helds)
            self._slices.release(by_claim(helds))
            """,
            """
            self._slices.release(by_claim(helds))
            let_go(helds)
            self._hot.add_to_lanes(added)
            """,
        ),
        red="tests/stages/test_mover.py::test_the_row_is_noted_first_then_the_lane_has_it_then_it_is_released",
    ),
    Promise(
        "a-lane-that-was-added-to-stays-in-the-index",
        "a lane is struck out of the index only if nothing was added since it was found empty.",
        breaks="The token is not compared.",
        by=Mutation(
            "lane_forget.lua",
            "if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then return redis.call('HDEL', KEYS[1], ARGV[1]) end",
            "if ARGV[2] then return redis.call('HDEL', KEYS[1], ARGV[1]) end",
        ),
        red="tests/store/test_lanes.py::test_a_lane_that_was_added_to_since_is_not_struck_out[redis]",
    ),
    Promise(
        "a-late-end-ends-no-later-feeding",
        "a look or an end of feeding that Redis carries out late ends or marks no later feeding of its process.",
        breaks="A process' looks are not told apart.",
        by=Mutation("Window.next", "self._looks += 1", ""),
        red="tests/store/test_window.py::test_an_end_from_before_that_arrives_late_is_not_that_of_a_minute_that_is_fed_again[redis]",
    ),
    Promise(
        "a-lost-message-costs-a-lease",
        "what was armed and whose message the broker lost is armed again when its lease has run out.",
        breaks="A trigger's turn takes back what ran, and leaves what was armed and never claimed.",
        by=Mutation("turn.lua", "take_back(armed)", ""),
        red="tests/store/test_slices.py::test_an_armed_member_nobody_claims_goes_back_to_its_moment_and_is_suspect[redis]",
    ),
    Promise(
        "a-minute-whose-redis-was-lost-is-fed-again",
        "a minute does not count as fed when Redis was lost while it was.",
        breaks="A minute counts as fed whoever is feeding.",
        by=Mutation("feed_done.lua", "if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end", ""),
        red="tests/store/test_window.py::test_a_minute_whose_redis_was_lost_does_not_count_as_fed[redis]",
    ),
    Promise(
        "a-part-of-a-minute-is-not-the-whole",
        "a minute of which Redis holds a part is fed to its end before its time comes.",
        breaks="A minute counts as fed once a part of it is.",
        by=Mutation("feed_done.lua", "if tonumber(ARGV[4]) < (minute + 1) * 60000 then", "if false then"),
        red="tests/store/test_window.py::test_of_the_last_minute_that_is_always_held_a_part_is_fed_where_it_does_not_fit[redis]",
    ),
    Promise(
        "a-queue-taken-back-is-called-by-the-common-processes",
        "what was planned for a queue that no app has any more is called all the same.",
        breaks="What was planned goes by its queue for ever.",
        by=Mutation(
            "AppQueues.serving",
            "return number if name in self.queues_replica.lately().values() else 0",
            "return number",
        ),
        red="tests/stages/test_own_queues.py::test_an_app_that_gets_its_queue_back_by_nobody_loses_nothing",
    ),
    Promise(
        "a-retry-is-in-its-slice-before-its-attempt-is-released",
        "a retry stands in its slice before the attempt that failed is let go of.",
        breaks="The settler releases first, and adds the retry then.",
        by=Mutation(
            "Settler._settle",
            """
            self._hot.add(
                [outcome.retry_firing() for outcome in outcomes if outcome.status is FiringStatus.PENDING]
            )
            self._slices.release(by_claim(held))
            """,
            """
            self._slices.release(by_claim(held))
            self._hot.add(
                [outcome.retry_firing() for outcome in outcomes if outcome.status is FiringStatus.PENDING]
            )
            """,
        ),
        red="tests/stages/test_settler.py::test_flaw_4_a_retry_stands_in_its_slice_before_the_attempt_is_released",
    ),
    Promise(
        "a-row-names-its-lane",
        "the row says first in which lane a firing waits.",
        breaks="The lane has a firing of which SQL knows nothing.",
        by=Mutation(
            "Mover._noted", "locked = self._firings.note_lanes(noted)", "locked: set[Member] = set()"
        ),
        red=(
            "tests/stages/test_mover.py::test_the_row_is_noted_first_then_the_lane_has_it_then_it_is_released",
            "tests/stages/test_lanes.py::test_the_record_says_where_a_firing_waits_and_no_attempt_is_used_up_by_waiting",
        ),
    ),
    Promise(
        "an-adder-looks-at-the-mark",
        "what is committed while its minute is fed is added by one of the two.",
        breaks="What is not due soon is left to the feeder, though its minute is announced already.",
        by=Mutation(
            "HotStore.in_window",
            "ends_at = 0 if announced is None else (announced + 1) * MINUTE_MS",
            "ends_at = 0 if announced is None else 0",
        ),
        red=(
            "tests/store/test_hot.py::test_what_is_announced_is_added_and_the_rest_left_to_the_feeder[memory]",
            "tests/stages/test_feeder.py::test_what_is_added_while_its_minute_is_read_is_added_by_one_of_the_two",
        ),
    ),
    Promise(
        "an-empty-lane-with-a-rest-stays-known",
        "a lane that is empty in Redis stands in the index while SQL holds a rest of it.",
        breaks="It counts as empty.",
        by=Mutation(
            "Pulled.is_empty",
            "return not (self.waiting or self.running or self.dues or self.has_rest)",
            "return not (self.waiting or self.running or self.dues)",
        ),
        red="tests/store/test_full_lanes.py::test_an_empty_lane_with_a_rest_is_not_empty[redis]",
    ),
    Promise(
        "lanes-with-firings-stand-in-the-index",
        "a lane in which somebody waits is in the index, where processes look.",
        breaks="What is added to a lane is not entered into the index.",
        by=Mutation(
            "HotStore.add_to_lanes",
            "self._retry(lambda: self._lanes.enter(list(by_lane)))",
            "assert by_lane",
        ),
        red="tests/store/test_hot.py::test_a_firing_that_waits_in_a_lane_stands_there_and_in_the_index_and_in_no_slice[redis]",
    ),
    Promise(
        "only-who-surely-holds-a-firing-moves-it",
        "a firing whose lease may be over is moved by nobody; it would be renewed for ever and stand nowhere.",
        breaks="The mover does not look at the lease.",
        by=Mutation(
            "Mover._still_mine",
            "is_mine = move.held.claim.is_safe(move.held.member, now, self._lease_s)",
            "is_mine = move.held.claim.holds(move.held.member) or now < 0",
        ),
        red=(
            "tests/stages/test_mover.py::test_what_may_not_be_ours_any_more_is_let_go_of_and_moved_by_nobody",
            "tests/stages/test_mover.py::test_what_a_frozen_process_notes_of_a_member_that_others_have_by_now_it_takes_back",
        ),
    ),
    Promise(
        "slices-with-firings-stand-on-the-agenda",
        "whatever is added to a slice is noted on the agenda, where the scheduler looks.",
        breaks="Firings are added to their slices, and the agenda is not told.",
        by=Mutation(
            "HotStore.add_all",
            "self._retry(lambda: self._agenda.add(list(needs.items())))",
            "assert needs",
        ),
        red="tests/store/test_hot.py::test_an_added_firing_stands_in_its_slice_and_on_the_agenda[redis]",
    ),
    Promise(
        "what-a-full-lane-leaves-out-is-known",
        "what a full lane left out while its rest was read is read too.",
        breaks="The end of a feeding looks at nothing but what the feeder saw.",
        by=Mutation("lane_fed.lua", "if low and (not since or low < since) then since = low end", ""),
        red="tests/store/test_full_lanes.py::test_what_is_left_out_while_a_feeder_reads_is_not_forgotten[redis]",
    ),
    Promise(
        "what-is-added-to-a-closing-slice-is-found",
        "a firing that is added while its slice is being closed keeps the slice on the agenda.",
        breaks="The last step of closing strikes the slice out, whoever added to it meanwhile.",
        by=Mutation(
            "agenda_close.lua",
            "local mine = redis.call('HGET', KEYS[2], ARGV[1]) == ARGV[2]",
            "local mine = true",
        ),
        red="tests/store/test_agenda.py::test_an_add_while_a_slice_is_closing_keeps_its_entry[redis-9001]",
    ),
)
