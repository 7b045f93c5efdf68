"""Bad neighbours: hosts that fail, and those that were disabled for it."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "Bad neighbours"
PROMISES = (
    Promise(
        "a-disabled-host-is-not-called",
        "a firing whose host is disabled for its app is not called, but for one a minute and process that tries the"
        " host.",
        breaks="Each of them tries it.",
        by=Mutation("DisabledHosts.may_try", "return False", "return True"),
        red="tests/stages/test_disabled_hosts.py::test_its_firings_fail_without_a_call_but_one_a_minute_and_process",
    ),
    Promise(
        "a-failing-host-is-tried-by-one-call",
        "what waits for a host that fails call after call uses no attempt.",
        breaks="Calls to a failing host follow each other at once.",
        by=Mutation("Way.learn", "self.places, self.rests = 1, True", "self.places = 1"),
        red=(
            "tests/callback/test_health.py::test_a_failing_host_is_tried_by_one_call_after_a_rest",
            "tests/callback/test_failing_targets.py::test_a_target_that_refuses_is_tried_by_one_call_until_it_listens_again",
            "tests/stages/test_failing_hosts.py::test_what_is_for_a_failing_host_waits_and_uses_no_attempt[refuses]",
        ),
    ),
    Promise(
        "a-failing-hosts-places-halve",
        "a target that hangs is soon tried by one call at a time.",
        breaks="A failed call takes no place away.",
        by=Mutation(
            "Way.learn", "self.places = max(1, self.places // 2)", "self.places = max(1, self.places)"
        ),
        red="tests/callback/test_flows.py::test_places_halve_when_a_call_fails_and_calls_that_fail_together_count_once",
    ),
    Promise(
        "a-host-is-disabled-after-days-alone",
        "a host is disabled once it has failed each call of an app for the days, and not a moment before.",
        breaks="One that fails for a second less is disabled too.",
        by=Mutation(
            "HostJudge.judge",
            "if host.failed_at - host.since >= self.days_ms",
            "if host.failed_at - host.since >= self.days_ms - 1_000",
        ),
        red="tests/store/test_disabled_hosts.py::test_who_fails_for_the_days_is_disabled_and_not_a_moment_before",
    ),
    Promise(
        "a-restart-does-not-hide-since-when-a-host-fails",
        "since when a host fails is known over restarts.",
        breaks="A new process begins it anew.",
        by=Mutation(
            "HealthTeller._hosts",
            "host = replace(host, since=min(since, before.since))",
            "host = replace(host, since=since)",
        ),
        red="tests/store/test_failing_hosts.py::test_a_restart_does_not_begin_anew_since_when_a_host_fails",
    ),
    Promise(
        "an-answer-enables-a-host",
        "a disabled host that answers a call is enabled.",
        breaks="Nobody is told of the answer.",
        by=Mutation("DisabledHosts.learn", "self._note_answer(disabled)", "pass"),
        red="tests/stages/test_disabled_hosts.py::test_the_first_answer_of_a_try_is_told_and_what_is_enabled_is_called",
    ),
    Promise(
        "an-answer-ends-a-failing-host",
        "the first answer of a failing host ends that.",
        breaks="Its failures are still counted after an answer.",
        by=Mutation("Health.answer", "self.failures = 0", ""),
        red=(
            "tests/callback/test_health.py::test_an_answer_ends_it_at_once",
            "tests/callback/test_failing_targets.py::test_a_target_that_turns_calls_away_is_called_again_once_it_takes_them",
        ),
    ),
    Promise(
        "an-app-that-a-host-fails-holds-up-no-other",
        "an app whose calls a host fails or leaves hanging holds up no other app there.",
        breaks="All apps wait for a host in one lane.",
        by=Mutation(
            "SharedLane.of_way",
            'return cls._of_both("host", app, f"{host}{part}")',
            'return cls(f"host:{host}")',
        ),
        red=(
            "tests/stages/test_failing_hosts.py::test_an_app_that_a_host_fails_holds_up_no_other_app_there",
            "tests/stages/test_failing_hosts.py::test_an_app_that_a_host_fails_leaves_another_its_limit_there",
        ),
    ),
    Promise(
        "an-enabled-host-has-its-days-again",
        "a host that answered, or that somebody enabled, is disabled again only after as many days.",
        breaks="The days before count.",
        by=Mutation(
            "_is_due",
            "return enabled_at is not None and host.failed_at - enabled_at >= days_ms",
            "return enabled_at is not None",
        ),
        red=(
            "tests/store/test_disabled_hosts.py::test_who_is_enabled_by_hand_is_disabled_again_after_as_many_days",
            "tests/store/test_disabled_hosts.py::test_what_answered_one_process_is_not_disabled_again_by_the_memory_of_another",
        ),
    ),
    Promise(
        "errors-of-its-own-make-no-host-failing",
        "a host that answers one request with an error goes on being called with others.",
        breaks="An answer of 500 counts as none.",
        by=Mutation(
            "TURNS_AWAY",
            "TURNS_AWAY = frozenset({429, 502, 503, 504})",
            "TURNS_AWAY = frozenset({429, 500, 502, 503, 504})",
        ),
        red=(
            "tests/stages/test_failing_hosts.py::test_a_host_that_answers_with_errors_of_its_own_is_called_as_ever",
            "tests/callback/test_failing_targets.py::test_a_target_that_answers_with_errors_of_its_own_is_called_as_ever",
        ),
    ),
    Promise(
        "no-app-hides-anothers-failing-host",
        "an app with very many failing hosts hides none of another app.",
        breaks="Those that are failing longest are told, whosever they are.",
        by=Mutation(
            "_in_turns",
            "return [(key, health) for _, _, key, health in sorted(ranked, key=lambda rank: rank[:3])]",
            "return [(key, health) for _, _, key, health in ranked]",
        ),
        red="tests/store/test_failing_hosts.py::test_an_app_with_very_many_failing_hosts_hides_no_other_apps",
    ),
    Promise(
        "a-part-that-fails-stops-no-other-part-of-its-host",
        "a route of a host that fails or hangs makes no other route of that host and app wait.",
        breaks="All calls of an app to a host are judged as one.",
        by=Mutation(
            "Request.__init__",
            "self.part = part_of_path(path) if part is None else part",
            'self.part = ""',
        ),
        red="tests/stages/test_failing_hosts.py::test_a_route_that_fails_stops_no_other_route_of_its_host_and_app",
    ),
    Promise(
        "no-part-that-answers-is-disabled-for-others",
        "a part of a host that answers is not disabled because others fail for days.",
        breaks="The others, of which each may be any part, fail for days whatever answers.",
        by=Mutation("Flows._note_health", "others.health.count_anew(flow.to.health.answered_at)", "pass"),
        red="tests/callback/test_parts_of_hosts.py::test_the_days_of_all_others_begin_anew_when_any_part_of_the_host_answers",
    ),
    Promise(
        "parts-of-a-host-are-bounded",
        "a host that an app calls by very many paths is tried by a few calls at a time when it fails.",
        breaks="Each path has a try of its own.",
        by=Mutation("Flows._way", "if part and not self._has_room_for_part(route, host, now):", "if False:"),
        red="tests/callback/test_parts_of_hosts.py::test_parts_are_bounded_for_an_app_and_a_host_and_the_others_are_one",
    ),
    Promise(
        "what-nobody-calls-ends-no-separation",
        "a part of a host that failed, and that nobody calls any more, keeps another from being judged by itself for"
        " 10 minutes at most.",
        breaks="It does for as long as the process lives.",
        by=Mutation(
            "Health.failed_since",
            "return self.failures > 0 and self.failed_at > moment",
            "return self.failures > 0",
        ),
        red="tests/callback/test_parts_of_hosts.py::"
        "test_a_failed_part_that_nobody_calls_keeps_none_from_being_judged_by_itself_for_long[1]",
    ),
    Promise(
        "silence-between-failures-is-no-failure",
        "a host counts as failing for days only if it was called and failed during them.",
        breaks="The days between failures a week apart count.",
        by=Mutation(
            "Health.fail",
            "was_silent = now - self.failed_at > LONGEST_SILENCE_S",
            "was_silent = False",
        ),
        red="tests/callback/test_health.py::test_after_a_long_silence_failures_count_from_the_next_one",
    ),
    Promise(
        "silence-disables-no-host",
        "a host is disabled for failures over days, not for a few and silence.",
        breaks="Days since the first failure are enough.",
        by=Mutation(
            "HostJudge.judge",
            "if host.failed_at - host.since >= self.days_ms",
            "if now - host.since >= self.days_ms",
        ),
        red="tests/store/test_disabled_hosts.py::test_silence_after_a_few_failures_disables_nothing",
    ),
    Promise(
        "what-waits-for-a-disabled-host-fails",
        "what waits for a host fails when the host is disabled; it waits no longer.",
        breaks="What was pulled from a lane is sent.",
        by=Mutation(
            "Sender._disabled_for",
            "return self._disabled_hosts.held_by(ready.order.where.way)",
            """
            is_pulled = isinstance(ready.held.claim.stands_in, SharedLane)
            return None if is_pulled else self._disabled_hosts.held_by(ready.order.where.way)
            """,
        ),
        red="tests/stages/test_disabled_hosts.py::test_what_waited_for_it_fails_too_when_it_is_disabled",
    ),
    Promise(
        "who-turns-calls-away-is-failing",
        "a host that turns every call away is failing, as one that hangs.",
        breaks="An answer of 503 is as good as any other.",
        by=Mutation(
            "TURNS_AWAY",
            "TURNS_AWAY = frozenset({429, 502, 503, 504})",
            "TURNS_AWAY = frozenset({429, 502, 504})",
        ),
        red=(
            "tests/callback/test_health.py::test_a_host_that_turns_calls_away_keeps_its_places_until_it_is_failing",
            "tests/stages/test_failing_hosts.py::test_what_is_for_a_failing_host_waits_and_uses_no_attempt[503]",
        ),
    ),
    Promise(
        "who-waited-for-a-failing-host-says-so",
        "the record says how long its host was failing while a firing waited.",
        breaks="No outcome says it.",
        by=Mutation("_outcome", "reply.host_failing_ms,", "None,"),
        red="tests/stages/test_failing_hosts.py::test_the_record_says_how_long_its_host_was_failing_while_a_firing_waited",
    ),
)
