"""The API: who may do what; keys, scopes, disabled apps and trusted senders."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "The API"
PROMISES = (
    Promise(
        "a-disabled-app-keeps-no-timer-enabled",
        "a disabled app keeps no timer enabled, whether or not its row can be read.",
        breaks="Timers that cannot be read are stepped over.",
        by=Mutation(
            "disable_timers",
            """
            if found.bad:
                wiring.batches.disable_unread(list(found.bad))
            """,
            "",
        ),
        red="tests/cli/test_app_commands.py::test_disabling_an_app_disables_its_timers_that_cannot_be_read_too",
    ),
    Promise(
        "a-disabled-app-makes-nothing-more",
        "what a key made in the seconds after its app was disabled is stopped.",
        breaks="The sweep takes each disabled app for done.",
        by=Mutation(
            "AppStopper.sweep",
            "for app, disabled_at in sorted(disabled - self._done):",
            "for app, disabled_at in sorted(disabled - disabled):",
        ),
        red="tests/api/test_disabled_apps.py::test_what_a_key_made_after_its_app_was_disabled_is_stopped_by_the_sweep",
    ),
    Promise(
        "a-disabled-apps-backfill-stops",
        "disabling an app stops what was asked for of its disabled timers.",
        breaks="Only enabled timers are disabled.",
        by=Mutation(
            "AppResource.change",
            "wiring.app_stopper.stop_demands(app.name, app.disabled_at, ends_at)",
            "wiring.app_stopper.stop_demands(app.name, 0, ends_at)",
        ),
        red="tests/api/test_disabled_apps.py::test_disabling_an_app_stops_what_was_asked_for_of_its_disabled_timers",
    ),
    Promise(
        "a-disabled-apps-keys-are-refused",
        "the keys of a disabled app are refused.",
        breaks="A disabled app's keys count on.",
        by=Mutation("refuse_ended", "if found.is_of_disabled_app:", "if found.is_of_disabled_app and False:"),
        red="tests/api/test_rights.py::test_a_disabled_apps_keys_are_refused_and_operators_change_nothing_of_it",
    ),
    Promise(
        "a-misspelt-app-is-unknown",
        "a misspelt app is unknown, not a new one.",
        breaks="Any name is an app.",
        by=Mutation("_refuse_unknown", "if found is None:", "if found is None and False:"),
        red="tests/api/test_rights.py::test_a_misspelt_app_is_unknown_not_new",
    ),
    Promise(
        "a-revoked-key-ends-the-connection-of-its-consumer",
        "a consumer whose key is revoked is sent away within five seconds.",
        breaks="A connection outlives its key.",
        by=Mutation(
            "Stream._check_keys_for_ever",
            "if consumer.key_id in ended:",
            "if consumer.key_id in ended and not consumer.window:",
        ),
        red="tests/stream/test_stream.py::test_a_consumer_whose_key_is_revoked_is_sent_away_within_five_seconds",
    ),
    Promise(
        "a-revoked-key-is-refused-within-seconds",
        "a revoked key is refused everywhere within 5 s.",
        breaks="A process believes a key that it has seen for ever.",
        by=Mutation(
            "KeyRing.find",
            "if kept is not None and asked_at - kept.read_at < BELIEVED_FOR_S:",
            "if kept is not None:",
        ),
        red="tests/store/test_api_keys.py::test_a_key_is_looked_up_once_in_some_seconds",
    ),
    Promise(
        "a-revoked-key-is-refused-though-sql-moved",
        "also by a process that is still connected to an SQL server that was demoted.",
        breaks="What any server says of a key counts.",
        by=Mutation(
            "ApiKeyStore.find",
            "row = self._database.read_current(lambda sql: sql.execute(query).mappings().one_or_none())",
            "row = self._database.read(lambda sql: sql.execute(query).mappings().one_or_none())",
        ),
        red="tests/store/test_moved_sql.py::test_a_key_that_was_revoked_counts_nowhere",
    ),
    Promise(
        "a-route-without-a-scope-does-not-start",
        "a route that declares no scope keeps it from starting.",
        breaks="A route without a scope is served.",
        by=Mutation("refuse_undeclared", "if undeclared:", "if undeclared and False:"),
        red="tests/api/test_rights.py::test_a_route_without_a_scope_stops_the_start",
    ),
    Promise(
        "a-trusted-proxy-lets-in-trusted-senders-only",
        "behind a proxy, only senders in a trusted network need no key on the compatible paths.",
        breaks="The address of the connection alone counts.",
        by=Mutation(
            "_is_trusted",
            'return is_within(request.remote_addr or "", networks) and is_within(address, networks)',
            'return is_within(request.remote_addr or "", networks)',
        ),
        red="tests/api/test_rights.py::test_behind_a_trusted_proxy_the_sender_must_be_in_a_trusted_network_too",
    ),
    Promise(
        "a-web-page-cannot-rebind-a-name",
        "a web page cannot reach it under a name of its own.",
        breaks="Any Host is answered.",
        by=Mutation(
            "refuse_other_hosts.look_at_host",
            "if not allowed().allow(host):",
            "if not allowed().allow(host) and False:",
        ),
        red="tests/api/test_hosts.py::test_every_path_refuses_another_host_and_names_the_setting",
    ),
    Promise(
        "an-app-sees-its-own-brokers",
        "an app sees no broker, and no right, of others.",
        breaks="Each app sees the rights of all.",
        by=Mutation(
            "NamedBroker.rights_of",
            "rights = (right for right in self.rights if right.concerns(app))",
            "rights = self.rights",
        ),
        red="tests/api/v1/test_brokers.py::test_what_only_others_may_use_is_not_shown",
    ),
    Promise(
        "an-app-sees-its-own-failing-hosts",
        "an app sees its own failing hosts alone.",
        breaks="It sees those of all apps.",
        by=Mutation(
            "FailingHostResource.show",
            "hosts = _hosts(self.wiring(), header.app)",
            "hosts = _hosts(self.wiring())",
        ),
        red="tests/api/v1/test_failing_hosts.py::test_an_app_sees_its_own_failing_hosts_alone",
    ),
    Promise(
        "an-apps-key-is-for-its-app-alone",
        "an app's key acts for no other app.",
        breaks="A request may name any app.",
        by=Mutation("permitted_app", "if own is not None:", "if own is not None and False:"),
        red="tests/api/test_rights.py::test_an_apps_key_is_for_its_own_app_alone",
    ),
    Promise(
        "each-operation-needs-its-scope",
        "an operation needs a key with its scope.",
        breaks="Any key that counts may do everything.",
        by=Mutation("with_scope", "if caller.may(scope):", "if caller.may(scope) or caller.scopes:"),
        red="tests/api/test_rights.py::test_a_key_needs_the_scope_of_the_operation",
    ),
    Promise(
        "only-a-trusted-proxy-names-the-sender",
        "only trusted proxies say from which address a request comes.",
        breaks="What anybody wrote in front of a trusted proxy is believed.",
        by=Mutation(
            "sender_address",
            "if not is_within(address, proxies) or not _is_address(hop.strip()):",
            "if not _is_address(hop.strip()):",
        ),
        red="tests/api/test_audited_routes.py::test_only_trusted_proxies_say_where_a_request_comes_from",
    ),
    Promise(
        "who-writes-timers-moves-no-target",
        "a key that may write timers may not say where the targets of its app are.",
        breaks="The scope of timers is enough to make a target.",
        by=Mutation(
            "RIGHTS",
            '"PUT /v1/targets/{name}": Scope.TARGETS_WRITE,',
            '"PUT /v1/targets/{name}": _WRITE,',
        ),
        red="tests/api/test_rights.py::test_who_may_write_timers_may_not_say_where_targets_are",
    ),
    Promise(
        "who-writes-timers-shows-no-certificate",
        "a key that may write timers may not set the certificate that callbacks show.",
        breaks="The scope of timers is enough.",
        by=Mutation(
            "RIGHTS",
            '"PUT /v1/client-certificate": Scope.SIGNING_WRITE,',
            '"PUT /v1/client-certificate": _WRITE,',
        ),
        red="tests/api/v1/test_client_certificates.py::test_an_app_sets_its_own_with_the_scope_of_signing_and_no_other_apps",
    ),
    Promise(
        "who-writes-timers-signs-nothing",
        "a key that may write timers may not take over the signatures of their callbacks.",
        breaks="The scope of timers is enough to make a signing secret.",
        by=Mutation(
            "RIGHTS",
            '"POST /v1/signing-secrets": Scope.SIGNING_WRITE,',
            '"POST /v1/signing-secrets": _WRITE,',
        ),
        red="tests/api/test_rights.py::test_who_may_write_timers_may_not_take_over_their_signatures",
    ),
)
