"""Rules of alerts over v1: list, set, delete, try."""

from functools import partial

from wangtimer.api.http.serving import Reply
from wangtimer.api.v1.alerts.alert_models import (
    AlertRuleBody,
    AlertRulePage,
    AlertRulePath,
    AlertTestOutcome,
    ShownAlertRule,
    shown_rule,
)
from wangtimer.api.v1.apps.telling import tell_soon
from wangtimer.api.v1.kept_replies import ActingHeader
from wangtimer.api.v1.parameters import AppHeader
from wangtimer.api.v1.resource import Resource, Route
from wangtimer.api.v1.shown import PageQuery

ONE = "/alert-rules/<string:name>"


class AlertRuleResource(Resource):
    """The operations on rules of alerts."""

    @Route("get", "/alert-rules", "listAlertRules")
    def page(self, header: AppHeader, query: PageQuery) -> AlertRulePage:
        """List the app's rules of alerts, by name."""
        find = partial(self.wiring().alert_rules.page, header.app)
        return AlertRulePage.by_name(query, f"{header.app} alert rules", find, shown_rule)

    @Route("put", ONE, "putAlertRule", (409,), answers={200: ShownAlertRule, 201: ShownAlertRule})
    def put(self, path: AlertRulePath, header: AppHeader, body: AlertRuleBody) -> Reply:
        """Make a rule of alerts, or replace it.

        A new one answers 201. It counts for what happens 5 s later or more. Of a rule, an event, and a host or a timer
        (`per`) there is one alert until it is back to normal, or until `repeatAfter` is over. A timer is back to normal
        once a later firing has succeeded; a host once a call has after its last failure, and none failed for a minute.
        A host is told again when ten times as many firings or timers have failed as were told. With another destination
        what is open is told again there. What happens while a message is on its way is told in one further message: up
        to 20 alerts by name, the others counted. A message that is not taken is tried 6 times
        within some 3 h, as the same message. An app has 20 rules at most (409).
        """
        wiring = self.wiring()
        rule, is_made = wiring.alert_rules.put(
            header.app,
            path.name,
            lambda was: body.rule_of(header.app, path.name, was),
            self.now(),
        )
        tell_soon(wiring.alerted_replica)
        return Reply(shown_rule(rule), 201 if is_made else 200)

    @Route("delete", ONE, "deleteAlertRule", (404,))
    def delete(self, path: AlertRulePath, header: AppHeader) -> None:
        """Delete a rule of alerts, with what it was about to tell."""
        wiring = self.wiring()
        wiring.alert_rules.remove(header.app, path.name, self.now())
        tell_soon(wiring.alerted_replica)

    @Route("post", f"{ONE}:test", "testAlertRule", (404,))
    def test(self, path: AlertRulePath, header: ActingHeader) -> AlertTestOutcome:
        """Send a test message by a rule, and show what its destination answers.

        It is sent once, by a callback process, as every message is; that takes some seconds. Tests of a rule are 10 s
        apart, and an app has one under way: a further one is not sent, `isTaken` is null, and `error` says when to ask.
        """
        return AlertTestOutcome.of(self.wiring().alert_trial.run(header.app, path.name))
