"""Nothing is early: moments, and clocks that are put."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "Nothing is early"
PROMISES = (
    Promise(
        "a-clock-put-back-is-noticed",
        "by Redis' clock, though it was put back, or a node whose clock is behind took over.",
        breaks="An answer refutes no earlier one: the latest clock of the last minute counts.",
        by=Mutation(
            "Sample.contradicts",
            "return self.least_ms > other.most_ms or self.most_ms < other.least_ms",
            "return False",
        ),
        red="tests/store/test_redis_clock.py::test_a_redis_whose_clock_was_put_back_is_believed_at_its_first_answer",
    ),
    Promise(
        "a-prepared-call-waits-for-its-moment",
        "a call that is prepared ahead waits for its exact moment.",
        breaks="The engine sends a call up to a tenth of a second before its moment.",
        by=Mutation(
            "TimedEngine._ripen",
            "if not to_come or to_come[0][0] > now_ms:",
            "if not to_come or to_come[0][0] > now_ms + 100:",
        ),
        red="tests/callback/test_moments.py::test_no_call_of_many_is_early_and_each_is_sent_once",
    ),
    Promise(
        "a-retry-is-not-made-before-its-pause-is-over",
        "a retry found too soon waits for its own moment.",
        breaks="Neither the verifier nor the sender looks at the row's own moment.",
        by=(
            Mutation(
                "_moment",
                "return max(due.due_at, row.due_at)",
                "return due.due_at",
            ),
            Mutation(
                "Verifier._judge",
                """
                if row.due_at > self.clock.now_ms() + self.lead_ms:
                    return PutBack(row.due_at)
                """,
                "",
            ),
        ),
        red="tests/stages/test_given_back.py::test_a_retry_that_a_stopping_process_gives_back_is_not_made_before_its_moment",
    ),
    Promise(
        "nothing-is-skipped-for-another-before-its-moment",
        "a firing is skipped for another one only if that is not done at its own moment.",
        breaks="Firings are skipped when they are claimed, up to a second ahead.",
        by=Mutation(
            "_Begun.judged",
            """
            if found != GO and member.fire_at > now:
                return Judged(found.course, is_undecided=True)
            """,
            "",
        ),
        red=(
            "tests/store/test_begun_firings.py::test_nothing_is_refused_and_nothing_written_before_its_moment",
            "tests/testing/test_overlap.py::test_nothing_is_refused_before_its_moment",
        ),
    ),
    Promise(
        "the-clock-is-never-ahead",
        "the clock is never ahead of Redis' time, however slow a reply is.",
        breaks="Redis' time counts from when it was asked, not from when its answer arrived.",
        by=Mutation("RedisClock.note", "came_at = time.monotonic()", "came_at = sent_at"),
        red="tests/store/test_redis_clock.py::test_a_slow_reply_never_makes_the_clock_fast",
    ),
)
