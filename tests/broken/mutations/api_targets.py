"""The API: which targets a timer may have."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "The API"
PROMISES = (
    Promise(
        "a-named-target-is-not-deleted",
        "a target that timers name is not deleted.",
        breaks="Nobody counts the timers that name it.",
        by=Mutation("TargetStore.remove.work", "_refuse_named(sql, app, name)", ""),
        red="tests/store/test_target_store.py::test_a_target_that_timers_name_cannot_be_deleted",
    ),
    Promise(
        "a-refused-address-makes-no-timer",
        "a URL whose address the rules of egress refuse makes no timer.",
        breaks="The API leaves that to the call.",
        by=Mutation(
            "check_way_out",
            "if is_refused and rules is not None and all(map(rules.of_app(own).refusal, peers)):",
            "if False:",
        ),
        red="tests/api/test_allowed_targets.py::test_a_timer_whose_url_has_such_an_address_is_not_made",
    ),
    Promise(
        "a-task-goes-where-tasks-run",
        "a Celery task for a target that runs none makes no timer.",
        breaks="The task is taken as a body.",
        by=Mutation("refuse_task_elsewhere", "if what:", "if not what:"),
        red="tests/api/v1/test_message_targets.py::test_a_task_for_a_target_that_runs_none_is_refused",
    ),
    Promise(
        "https-only-makes-no-timer-with-plain-http",
        "an app that may call https only makes no timer with plain HTTP.",
        breaks="The API leaves that to the call.",
        by=Mutation("check_way_out", "if own.https_only and not origin.is_tls:", "if False:"),
        red="tests/api/test_allowed_targets.py::test_an_app_with_https_only_makes_no_timer_with_plain_http",
    ),
    Promise(
        "https-only-sets-no-target-with-plain-http",
        "an app that may call https only sets no named target with plain HTTP.",
        breaks="Only timers are judged early.",
        by=Mutation("_OfTargets.changed", "check_place_or_way_out(asked.url, before.app)", ""),
        red="tests/api/test_allowed_targets.py::test_a_named_target_of_an_app_with_https_only_is_not_plain_http",
    ),
    Promise(
        "no-timer-is-made-for-a-task-that-is-refused",
        "a Celery task that its app may not send makes no timer.",
        breaks="The API leaves that to the moment.",
        by=Mutation(
            "refuse_misfit",
            "if why_not := why_no_task(own.app, queue, task.task):",
            'if why_not := "":',
        ),
        red="tests/api/v1/test_message_targets.py::test_a_task_that_the_app_may_not_send_is_refused_when_its_timer_is_made",
    ),
    Promise(
        "no-timer-leads-out-of-its-target",
        "no timer takes the secrets of its target to another host.",
        breaks="What stands behind the URL of a target may begin with anything.",
        by=Mutation(
            "why_not_behind",
            'if path and path[0] not in "/?":',
            'if path and path[0] not in "/?@.:a":',
        ),
        red="tests/core/test_named_target.py::test_what_leads_elsewhere_is_refused[@evil.example/]",
    ),
    Promise(
        "no-timer-names-a-target-that-is-not-there",
        "no timer names a target that its app does not have.",
        breaks="A new timer may name any.",
        by=Mutation("_insert", "hold(sql)", ""),
        red="tests/store/test_target_store.py::test_no_timer_names_a_target_that_is_not_there",
    ),
)
