"""Calls: what receivers and alerts are told of firings that failed or were lost."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "Calls"
PROMISES = (
    Promise(
        "a-number-is-known-before-the-call",
        "every call of a numbered timer tells its numbers, an on-time first attempt too.",
        breaks="SQL is asked only about firings that may have been sent already.",
        by=Mutation(
            "NumbersStep.concerns",
            'concerns = attrgetter("form.numbered")',
            'concerns = attrgetter("further")',
        ),
        red="tests/testing/test_numbered.py::test_numbers_grow_by_one_and_what_failed_is_counted_until_one_succeeds",
    ),
    Promise(
        "a-robots-refusal-is-read",
        "a robot that answers 200 to a message that it refuses has not taken it.",
        breaks="Any answer with 200 is good.",
        by=Mutation(
            "AlertCall.on_reply",
            "error = reply.shown_error or refusal(self._kind, reply.output)",
            "error = reply.shown_error",
        ),
        red="tests/alerts/test_telling.py::test_a_wrong_secret_of_a_robot_is_seen_although_it_answers_200",
    ),
    Promise(
        "a-row-that-is-there-keeps-its-number",
        "planning the same again passes over no number, so a jump says that something was lost or replaced.",
        breaks="Numbers are taken for rows that are there already.",
        by=Mutation(
            "number_missing",
            "if firing.seq != TO_BE_NUMBERED or (firing.fire_at, firing.timer_id) not in held",
            "if firing.seq != TO_BE_NUMBERED or held is not None",
        ),
        red="tests/store/test_firing_numbers.py::test_planning_the_same_again_gives_no_number[mariadb]",
    ),
    Promise(
        "an-alert-is-told-once",
        "of a rule, a timer and an event there is one alert until it is back to normal, or the rule says again.",
        breaks="What goes on is told each time.",
        by=Mutation(
            "told_if_due",
            """
            if not trouble.is_due_again(rule.repeat_ms, now):
                return trouble
            """,
            "",
        ),
        red=(
            "tests/store/test_alerts.py::test_the_first_failure_is_told_once_until_it_is_back_to_normal",
            "tests/store/test_alerts.py::test_trouble_that_goes_on_is_told_again_after_the_rules_time_and_not_before",
        ),
    ),
    Promise(
        "an-uncounted-call-forgets-no-loss",
        "what a call that was not counted leaves open is told once by GapWatch, not twice.",
        breaks="Such a call counts as one that told of no loss.",
        by=(
            Mutation(
                "_Timer.take",
                """
                if call.lost_since is None:
                    self.uncounted += sighting.unseen + 1
                    return
                self.told_most, self.uncounted = call.lost_since >= MOST_LOST, 0
                """,
                "self.told_most, self.uncounted = (call.lost_since or 0) >= MOST_LOST, 0",
            ),
            Mutation(
                "_Timer.take",
                "self.last_success_at, self.lost = call.last_success_at, call.lost_since",
                "self.last_success_at, self.lost = call.last_success_at, call.lost_since or 0",
            ),
        ),
        red="tests/client/test_gap_watch.py::test_a_call_that_was_not_counted_lets_nothing_be_told_twice",
    ),
    Promise(
        "no-number-is-given-twice",
        "no number is given to two firings of a timer, whatever was purged.",
        breaks="Planning goes on behind the highest number that a row has.",
        by=Mutation(
            "_count_on",
            'f"UPDATE timer {hint}SET planned_seq = planned_seq + CASE id {cases} END"',
            'f"UPDATE timer {hint}SET planned_seq = COALESCE((SELECT MAX(seq) FROM firing WHERE timer_id = timer.id), 0) + CASE id {cases} END"',
        ),
        red="tests/store/test_firing_numbers.py::test_a_number_is_not_given_again_after_its_row_was_purged[mariadb]",
    ),
    Promise(
        "successes-between-end-a-row",
        "failures in a row at a host are told only where no call there succeeded between them",
        breaks="What a failure says of a success before it is not read",
        by=Mutation(
            "_grown",
            "if note.well_at is not None and key.event is not AlertEvent.LATE:",
            "if False and note.well_at is not None and key.event is not AlertEvent.LATE:",
        ),
        red="tests/store/test_ends_of_host_trouble.py::test_failures_with_successes_between_are_no_row",
    ),
    Promise(
        "the-end-of-a-hosts-trouble-is-seen",
        "a success at a host after its last failure ends its trouble, whatever the moments of the firings are",
        breaks="A success counts by its firing's moment",
        by=Mutation(
            "Trouble.is_ended_by",
            "return known_at >= self.failed_at and not is_late",
            "return note.member.fire_at >= self.fire_at and not is_late",
        ),
        red="tests/store/test_ends_of_host_trouble.py::test_the_end_of_a_trouble_is_seen_whatever_the_moments_of_firings_are",
    ),
    Promise(
        "trouble-of-a-rare-timer-is-kept",
        "an open trouble is kept for as long as its timer may run again: a monthly one too has failures in a row",
        breaks="What is old is forgotten, whatever its timer does",
        by=Mutation(
            "_forgotten_among",
            "return [trouble for trouble in troubles if alive.isdisjoint(trouble.timer_ids)]",
            "return list(troubles)",
        ),
        red=(
            "tests/store/test_alerts.py::test_a_timer_that_runs_once_a_month_is_told_of_its_failures_in_a_row_and_of_their_end",
            "tests/store/test_alerts.py::test_trouble_of_a_timer_that_has_ended_is_forgotten_and_of_another_it_is_kept",
        ),
    ),
    Promise(
        "what-a-policy-skips-is-told-as-lost",
        "a numbered timer's calls tell how many moments were skipped by a policy since the last success.",
        breaks="Only failures are counted.",
        by=Mutation(
            "_statement",
            "f\" WHEN status = '{FiringStatus.FAILED.value}' OR ({skipped}) THEN {_LOST} ELSE {_OTHER} END\"",
            "f\" WHEN status = '{FiringStatus.FAILED.value}' THEN {_LOST} ELSE {_OTHER} END\"",
        ),
        red="tests/testing/test_numbered.py::test_what_a_policy_skips_is_lost",
    ),
    Promise(
        "what-an-edit-replaced-is-not-lost",
        "what its owner took back, by an edit, a cancel, a disable or a delete, is not told as lost.",
        breaks="Whatever was skipped is counted.",
        by=Mutation(
            "_statement",
            "skipped = f\"status = '{FiringStatus.SKIPPED.value}' AND error NOT IN ({withdrawn})\"",
            "skipped = f\"status = '{FiringStatus.SKIPPED.value}'\"",
        ),
        red="tests/testing/test_numbered.py::test_what_an_edit_replaced_is_not_lost_and_no_number_is_used_twice",
    ),
    Promise(
        "what-is-only-accepted-ends-no-trouble",
        "what a target has only accepted ends no trouble of its host",
        breaks="An answer 202 is a success",
        by=(
            Mutation(
                "AlertNote.is_success",
                "return self.status is FiringStatus.SUCCEEDED",
                "return self.status in (FiringStatus.SUCCEEDED, FiringStatus.ACCEPTED)",
            ),
            Mutation(
                "noted",
                "outcome.status is FiringStatus.SUCCEEDED",
                "outcome.status in (FiringStatus.SUCCEEDED, FiringStatus.ACCEPTED)",
            ),
        ),
        red="tests/store/test_ends_of_host_trouble.py::test_what_was_only_accepted_ends_no_trouble_and_no_row_of_failures",
    ),
    Promise(
        "what-is-under-way-is-not-lost",
        "a firing whose call is under way, or that waits for its next attempt, is not told as lost.",
        breaks="Whatever has not succeeded is counted.",
        by=Mutation(
            "_statement",
            "f\" WHEN status = '{FiringStatus.FAILED.value}' OR ({skipped}) THEN {_LOST} ELSE {_OTHER} END\"",
            "f\" WHEN status = '{FiringStatus.FAILED.value}' OR ({skipped}) THEN {_LOST} ELSE {_LOST} END\"",
        ),
        red="tests/testing/test_numbered.py::test_what_is_still_under_way_is_neither_lost_nor_done",
    ),
)
