"""Calls: what is sent, what counts as an answer, and when it is tried again."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "Calls"
PROMISES = (
    Promise(
        "a-broker-that-is-away-is-tried-once-a-second",
        "a broker that is away uses few attempts, and is not stormed when it comes back.",
        breaks="Each message tries to connect at once, and so fails at once.",
        by=Mutation("RECONNECT_S", "RECONNECT_S = 1.0", "RECONNECT_S = 0.0"),
        red="tests/messaging/test_rabbitmq.py::test_a_broker_that_is_away_fails_one_message_a_second_and_then_is_failing",
    ),
    Promise(
        "a-call-is-sent-as-it-was-given",
        "a call is sent as its owner gave it, unless it says otherwise.",
        breaks="Placeholders are filled in always.",
        by=Mutation("request_of", "if form.templates:", "if not form.cloud_events:"),
        red="tests/stages/test_call_forms.py::test_without_a_form_a_call_is_as_it_was_given",
    ),
    Promise(
        "a-final-answer-is-final",
        "after an answer that its policy calls final a call is not tried again.",
        breaks="No answer is final.",
        by=Mutation("RetryPolicy.ends", "return True", "return False"),
        red="tests/testing/test_retries.py::test_an_answer_may_be_final[404-1]",
    ),
    Promise(
        "a-replay-has-all-its-attempts",
        "a replay has all attempts of its policy, whatever was tried before.",
        breaks="A replay goes on counting.",
        by=Mutation(
            "first_of_replay",
            "return 1 if last == 0 else -(-last // MOST_ATTEMPTS) * MOST_ATTEMPTS + 1",
            "return last + 1",
        ),
        red="tests/testing/test_retries.py::test_a_replay_begins_a_row_of_its_own",
    ),
    Promise(
        "a-resting-engine-is-woken-in-time",
        "a process that rests is woken in time to open a connection before the moment.",
        breaks="It is woken only for a call that comes due during its rest.",
        by=Mutation("_KNOWN_MS", "_KNOWN_MS = 500.0", "_KNOWN_MS = 0.0"),
        red=(
            "tests/callback/test_opened_ahead.py::test_a_resting_engine_is_woken_in_time_for_a_call_to_come[plain]",
            "tests/callback/test_opened_ahead.py::test_a_resting_engine_is_woken_in_time_for_a_call_to_come[tls]",
        ),
    ),
    Promise(
        "a-target-may-be-away-for-ten-minutes",
        "by default a target may be away for ten minutes, and is called in the end.",
        breaks="A row has five attempts.",
        by=Mutation("RetryPolicy.attempts", "attempts: int = 11", "attempts: int = 5"),
        red="tests/testing/test_retries.py::test_by_default_a_target_may_be_away_for_ten_minutes",
    ),
    Promise(
        "a-target-says-when-to-come-again",
        "a target that answers 429 or 503 says by Retry-After when to come again.",
        breaks="What it says is not read.",
        by=Mutation(
            "AnswerReader.feed", "self.told = _told(self.status, _final_head(came))", 'self.told = ""'
        ),
        red="tests/callback/test_reply_headers.py::test_retry_after_is_told_of_answers_that_say_when",
    ),
    Promise(
        "a-timers-own-retries-count",
        "a timer's own retry policy counts, else that of its named target.",
        breaks="Every call is tried again as the deployment does.",
        by=Mutation(
            "policy_of",
            "return own or of_apps.get(app) or usual",
            "return of_apps.get(app) or usual",
        ),
        red=(
            "tests/testing/test_retries.py::test_a_timer_has_pauses_of_its_own_days_ahead_too",
            "tests/testing/test_retries.py::test_the_policy_of_a_target_counts_where_its_timer_has_none",
        ),
    ),
    Promise(
        "an-answer-is-kept-where-its-timer-says-so",
        "of an answer that its timer wants not kept, nothing is on record.",
        breaks="The start of every answer is kept.",
        by=Mutation(
            "_outcome",
            'reply.output if attempt.order.keep_output.keeps(has_succeeded) else "",',
            "reply.output,",
        ),
        red="tests/callback/test_sent_by_an_executor.py::test_an_answer_is_kept_where_its_timer_says_so",
    ),
    Promise(
        "an-answer-that-began-has-its-whole-time",
        "an answer whose first byte came in time has the call's whole time.",
        breaks="The time-out of the first byte stays in force.",
        by=Mutation("Exchange._read_on", "self.deadline_at = self.whole_by", ""),
        red=(
            "tests/callback/test_timeouts.py::test_an_answer_that_began_in_time_has_the_whole_time[plain]",
            "tests/callback/test_timeouts.py::test_an_answer_that_began_in_time_has_the_whole_time[tls]",
        ),
    ),
    Promise(
        "an-apps-retries-count",
        "where neither a timer nor its target says when a failed call is tried again, its app's policy does.",
        breaks="The deployment's counts for every app.",
        by=Mutation(
            "policy_of",
            "return own or of_apps.get(app) or usual",
            "return own or usual",
        ),
        red="tests/stages/test_app_retries.py::test_an_apps_policy_counts_for_its_timers_that_have_none_and_for_no_other_app",
    ),
    Promise(
        "each-attempt-is-filled-in-anew",
        "each attempt says its own number in place of {{attempt}}.",
        breaks="Each says the first.",
        by=Mutation("Filling.values", '"attempt": str(self.attempt),', '"attempt": "1",'),
        red="tests/stages/test_call_forms.py::test_each_attempt_of_a_firing_is_filled_in_anew_on_the_whole_way",
    ),
    Promise(
        "what-a-call-cancels-is-told-by-it",
        "what a call of a numbered timer cancels, or what is skipped together with it, is told as lost by it.",
        breaks="What was lost is looked up before the policies judge.",
        by=Mutation(
            "FiringParts.steps",
            """
            OverlapStep(self.begun_firings, verifier, self.reply_reader.noted, clock),
            # The last: what a step before it has skipped is lost to the calls that go.
            NumbersStep(self.continuities, verifier),
            """,
            """
            NumbersStep(self.continuities, verifier),
            OverlapStep(self.begun_firings, verifier, self.reply_reader.noted, clock),
            """,
        ),
        red="tests/testing/test_numbered.py::test_what_a_newer_one_cancels_is_told_by_it",
    ),
    Promise(
        "what-is-accepted-waits-for-its-word",
        "a firing that its target accepted by 202 succeeds when the target says that it is done, and not before.",
        breaks="The answer 202 is the success.",
        by=Mutation(
            "AcceptanceReading.read",
            "return outcome._replace(status=FiringStatus.ACCEPTED, due_at=int(self.clock.now_ms()) + ack_ms)",
            "return outcome",
        ),
        red="tests/testing/test_long_work.py::test_what_is_accepted_waits_for_the_word_and_is_done_with_it",
    ),
    Promise(
        "what-is-filled-in-stays-in-its-place",
        "what is filled in for a placeholder is escaped for where it stands.",
        breaks="In JSON it is written as it is.",
        by=Mutation("_in_json", "return json.dumps(value)[1:-1]", "return value"),
        red="tests/core/test_templates.py::test_in_json_it_is_part_of_a_string",
    ),
    Promise(
        "what-is-refused-is-not-tried-again",
        "a call that the rules of egress refuse has failed, without another attempt.",
        breaks="It is tried again as any that could not connect.",
        by=Mutation(
            "RetryReading._wait_ms",
            """
            if reply.is_refused:
                return None
            """,
            "",
        ),
        red="tests/callback/test_sent_by_an_executor.py::test_a_call_that_the_rules_of_egress_refuse_has_failed_without_another_attempt",
    ),
)
