"""Bad neighbours: alerts, and what they look at and send."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "Bad neighbours"
PROMISES = (
    Promise(
        "a-hanging-mail-server-holds-up-no-webhook",
        "a mail server that hangs holds up no alert that goes another way",
        breaks="Mail may take every place",
        by=Mutation(
            "AlertTeller._begin_mail",
            "if self._mails_under_way.total() >= MOST_MAILS or self._mails_under_way[app] >= MOST_MAILS_OF_APP:",
            "if self._mails_under_way.total() >= MOST_AT_ONCE or self._mails_under_way[app] >= MOST_MAILS_OF_APP:",
        ),
        red="tests/alerts/test_telling.py::test_a_mail_server_that_hangs_holds_up_no_webhook",
    ),
    Promise(
        "a-long-look-back-costs-no-other",
        "very many firings of one timer keep no end of another timer's trouble from being told.",
        breaks="A timer for which SQL has too little time fails all that was looked at with it.",
        by=Mutation(
            "AlertTroubles._looked_back",
            'log.info("alerts_not_looked_back", error=str(error))',
            "raise error",
        ),
        red="tests/store/test_alerts.py::test_a_look_back_for_which_sql_has_too_little_time_costs_no_other_look",
    ),
    Promise(
        "a-look-back-is-bounded-by-rows-read",
        "what is looked up for a call of a numbered timer is bounded by rows read, whatever stands before it.",
        breaks="Rows that count are looked for, however far back.",
        by=Mutation(
            "_statement",
            'f"WHERE timer_id = {row.timer_id:d} AND fire_at < {row.fire_at:d}"',
            'f"WHERE timer_id = {row.timer_id:d} AND fire_at < {row.fire_at:d} AND NOT ({asked_for})"',
        ),
        red="tests/store/test_continuities.py::test_the_deep_look_is_bounded_by_rows_read_and_not_by_rows_that_count[mariadb]",
    ),
    Promise(
        "a-page-that-fails-holds-up-no-other-app",
        "an app whose notes cannot be judged holds up no other app's alerts",
        breaks="The run ends there",
        by=Mutation("AlertJudge._judge_page", 'log.exception("alerts_not_judged", app=app)', "raise"),
        red="tests/store/test_alert_judge.py::test_an_app_that_cannot_be_judged_holds_up_no_other_and_nothing_else",
    ),
    Promise(
        "a-storm-of-alerts-is-judged-as-it-comes",
        "an alert of a storm is told within seconds: a trouble is read and written once for many failures",
        breaks="Each page has one moment's failures",
        by=Mutation(
            "_page_of_timers",
            "of_timers = (alert_notes.c.timer_id.in_(timer_ids), alert_notes.c.fire_at <= window[-1].fire_at)",
            "of_timers = (alert_notes.c.timer_id.in_(timer_ids), alert_notes.c.fire_at <= window[0].fire_at)",
        ),
        red="tests/store/test_alert_judge.py::test_in_a_storm_a_trouble_is_read_and_written_once_for_many_notes[mariadb-timer]",
    ),
    Promise(
        "a-storm-of-alerts-is-one-message",
        "a storm of alerts is one message of a rule on its way and one that gathers.",
        breaks="Each look of the judge makes another message.",
        by=Mutation("gather", "if key in held:", "if key in held and key not in by_new:"),
        red=(
            "tests/store/test_alerts.py::test_a_storm_is_one_message_that_names_some_and_counts_the_others",
            "tests/store/test_alerts.py::test_while_a_message_is_on_its_way_the_next_one_gathers_and_waits_for_it",
        ),
    ),
    Promise(
        "hosts-of-one-app-hide-no-others",
        "an app with very many hosts in trouble keeps no other app's hosts from being back to normal",
        breaks="Callback processes are told the hosts of the first app",
        by=Mutation("_troubled", "app = sql.execute(_troubled_app(app)).scalar_one_or_none()", "app = None"),
        red="tests/store/test_alerts_of_hosts.py::test_an_app_with_very_many_hosts_in_trouble_hides_no_other_apps_hosts",
    ),
    Promise(
        "mail-of-one-app-leaves-room-for-others",
        "an app whose alerts by mail hang leaves half of the places for mail to others",
        breaks="An app may have every place",
        by=Mutation(
            "AlertTeller._begin_mail",
            "if self._mails_under_way.total() >= MOST_MAILS or self._mails_under_way[app] >= MOST_MAILS_OF_APP:",
            "if self._mails_under_way.total() >= MOST_MAILS or self._mails_under_way[app] >= MOST_MAILS:",
        ),
        red="tests/alerts/test_telling.py::test_an_app_whose_mail_hangs_leaves_room_for_the_mail_of_others",
    ),
    Promise(
        "messages-of-one-app-leave-room-for-others",
        "an app whose alert destinations hang leaves room for other apps' messages",
        breaks="An app may have every place",
        by=Mutation(
            "AlertTeller._room_of",
            "return MOST_OF_APP - self._under_way[app]",
            "return MOST_AT_ONCE - self._under_way[app]",
        ),
        red="tests/alerts/test_telling.py::test_an_app_with_many_messages_leaves_room_for_others",
    ),
    Promise(
        "no-alert-rule-leads-inside",
        "no alert rule leads where calls may not go.",
        breaks="The API does not ask where its URL leads.",
        by=Mutation("GivenDestination._url", "check_way_out(self.url, app)", ""),
        red="tests/api/v1/test_alert_rules.py::test_where_calls_may_not_go_no_rule_leads",
    ),
    Promise(
        "no-limit-holds-up-an-alert",
        "firings that wait for a limit hold up no alert of their app.",
        breaks="Messages of alerts need permits, as calls do.",
        by=Mutation("AlertCall.is_counted", "is_counted = False", "is_counted = True"),
        red="tests/alerts/test_telling.py::test_firings_that_wait_for_the_apps_limit_hold_up_no_alert",
    ),
    Promise(
        "notes-of-one-app-hold-up-no-others",
        "an app with very many failures delays no other app's alerts",
        breaks="An app's notes are judged until none is left",
        by=Mutation(
            "AlertJudge._judge",
            "are_left = are_left or found.are_left",
            """
            are_left = are_left or found.are_left
            while found.are_left:
                found = self._judge_page(app)
            """,
        ),
        red="tests/store/test_alert_judge.py::test_an_app_with_many_notes_has_a_page_judged_then_each_other_app",
    ),
    Promise(
        "one-failing-timer-hides-no-outage",
        "a timer that always fails hides no outage of its host",
        breaks="What was told is not told again, however it grows",
        by=Mutation(
            "Trouble.is_due_again",
            "if not self.key.is_of_host or not self.told_times:",
            "if self.told_at is not None:",
        ),
        red="tests/store/test_ends_of_host_trouble.py::test_an_outage_is_told_though_one_timer_of_the_host_failed_before",
    ),
    Promise(
        "tests-of-a-rule-keep-a-distance",
        "tests of an alert rule are ten seconds apart, also where it is made anew",
        breaks="A test is sent whenever it is asked for",
        by=Mutation(
            "AlertMessages.ask_test.work",
            "if rule in lately or len(lately) >= MOST_RULES:",
            "if len(lately) >= MOST_RULES:",
        ),
        red="tests/store/test_alerts.py::test_tests_of_a_rule_keep_a_distance_though_it_is_made_anew_and_those_of_an_app_have_a_number",
    ),
    Promise(
        "timers-of-one-host-that-fail-are-one-alert",
        "however many timers of a failing host there are, an alert rule by host tells of it once",
        breaks="Each timer is a trouble of its own",
        by=Mutation("keys_of", "is_by_host = rule.per is Per.HOST", "is_by_host = False"),
        red=(
            "tests/store/test_alerts_of_hosts.py::test_many_timers_of_one_host_that_fail_are_one_message_and_one_when_it_answers",
            "tests/store/test_alerts_of_hosts.py::test_very_many_timers_are_one_row_and_one_message",
        ),
    ),
    Promise(
        "trouble-of-a-deleted-timer-ends",
        "trouble of a deleted timer is forgotten within minutes",
        breaks="It is kept as that of a living one",
        by=Mutation(
            "AlertTroubles.look.read",
            "old += _deleted_among(sql, [trouble for trouble in still if trouble not in old], now)",
            "",
        ),
        red="tests/store/test_alerts.py::test_trouble_of_a_deleted_timer_ends_within_minutes_and_of_another_and_of_its_host_it_stays",
    ),
    Promise(
        "troubles-of-one-app-hold-up-no-others",
        "an app with very many open troubles delays the end of no other app's",
        breaks="The look goes on with the same app until its troubles are all seen",
        by=Mutation(
            "AlertJudge._look",
            "looked = self._look_at(app)",
            """
            looked = self._look_at(app)
            while looked.next_key is not None:
                looked = self._look_at(app)
            """,
        ),
        red="tests/store/test_alert_judge.py::test_an_app_with_many_troubles_has_a_page_looked_at_then_each_other_app",
    ),
)
