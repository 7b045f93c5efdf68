"""Calls: connections, TLS, and the addresses that may be called."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "Calls"
PROMISES = (
    Promise(
        "a-call-opens-one-connection-at-most",
        "a target sees no more than one connection a firing, however long before the moment it is opened.",
        breaks="A call opens another one beside that which is being opened for it.",
        by=Mutation("Openings.start", "if not ahead:", "if True:"),
        red="tests/callback/test_opened_ahead.py::test_a_call_goes_on_with_the_opening_that_is_under_way",
    ),
    Promise(
        "a-certificate-that-cannot-be-opened-fails-nothing",
        "a process that cannot open the key of a client certificate leaves the calls with TLS to others.",
        breaks="It makes them, and they fail.",
        by=Mutation("CallMaker.call_of", "if fault and read_url(call.url)[0].is_tls:", "if False:"),
        red="tests/api/v1/test_ways_out_count.py::test_a_process_without_the_key_of_a_certificate_leaves_calls_with_tls_to_others",
    ),
    Promise(
        "a-dead-kept-connection-costs-no-attempt",
        "a request into a kept connection that its target has closed goes again at once, in the same attempt.",
        breaks="The attempt has failed.",
        by=Mutation(
            "Exchange._may_go_again",
            "return has_ended and _unacknowledged(self.fd) >= written",
            "return False",
        ),
        red="tests/callback/test_kept_connections.py::test_what_a_closed_connection_did_not_take_is_sent_again_at_once",
    ),
    Promise(
        "an-announced-idle-time-counts",
        "a kept connection is not used again for longer than its target announced.",
        breaks="What it announces is not read.",
        by=Mutation("AnswerReader.feed", "if announced is not None:", "if False:"),
        red="tests/callback/test_kept_connections.py::test_a_connection_idles_no_longer_than_its_target_announced",
    ),
    Promise(
        "a-connection-is-open-before-the-moment",
        "to a host that was not called lately, a request leaves at its moment: name, TCP and TLS are done before.",
        breaks="Connecting begins at the moment.",
        by=Mutation(
            "DeliveryEngine._prepare",
            """
            if in_s > 0:
                self._ahead.expect(request, call.due_at_ms)
            """,
            "",
        ),
        red=(
            "tests/callback/test_opened_ahead.py::test_a_request_leaves_at_its_moment_though_connecting_takes_longer_than_that",
            "tests/callback/test_opened_ahead.py::test_a_kept_connection_that_grows_stale_before_the_moment_is_replaced_ahead",
        ),
    ),
    Promise(
        "a-former-certificate-is-shown-no-more",
        "once an app has another client certificate, or none, no kept connection that showed the former one is used.",
        breaks="A kept connection is used whatever it showed.",
        by=Mutation(
            "Exchanges._is_allowed_still",
            """
            if stream is not None and not self._tls.is_current(stream, app):
                return False
            """,
            "",
        ),
        red=(
            "tests/callback/test_ways_out.py::test_another_certificate_or_none_counts_for_the_next_call_on_kept_and_resumed_connections",
            "tests/callback/test_ways_out.py::test_whom_an_app_trusts_no_longer_ends_its_kept_connection",
        ),
    ),
    Promise(
        "a-kept-connection-is-judged-anew",
        "a kept connection is judged anew when the rules of egress change.",
        breaks="It is used as it was allowed once.",
        by=Mutation(
            "Exchanges._take_idle",
            "exchange.judged_under == self._egress.version or self._is_allowed_still(exchange)",
            "exchange.judged_under <= self._egress.version or self._is_allowed_still(exchange)",
        ),
        red="tests/callback/test_egress.py::test_a_kept_connection_is_judged_anew_when_the_rules_change",
    ),
    Promise(
        "a-lost-redis-lifts-no-rule-of-an-app",
        "what is set for apps counts though Redis has lost it.",
        breaks="What Redis has not is not set.",
        by=Mutation(
            "WaysOutReader.read",
            """
            elif not self.is_known:
                self._take(self._replica.of_apps.in_sql().of_apps)
            """,
            """
            else:
                self._take({})
            """,
        ),
        red="tests/test_ways_out_reader.py::test_while_redis_has_lost_them_what_is_known_counts",
    ),
    Promise(
        "a-moved-target-is-found",
        "a target whose address changes is called at the new one.",
        breaks="A connection in use never grows too old.",
        by=(
            Mutation(
                "Exchanges._may_be_used",
                "return at - exchange.idle_since <= exchange.answer.idle_s and at < exchange.usable_until",
                "return at - exchange.idle_since <= self._limits.reuse_idle_s",
            ),
            Mutation(
                "Exchanges._end",
                "if exchange.can_go_on and now < exchange.usable_until and not error:",
                "if exchange.can_go_on and not error:",
            ),
        ),
        red=(
            "tests/callback/test_names.py::test_a_target_whose_address_changes_is_called_at_the_new_one",
            "tests/callback/test_connections.py::test_a_connection_that_is_used_all_the_time_is_given_up_at_its_age",
        ),
    ),
    Promise(
        "a-refusal-says-nothing-of-what-is-there",
        "the error of a refused call is the same whatever is at its address.",
        breaks="The error names the rule.",
        by=Mutation(
            "Opening.try_next",
            "self._fail(REFUSED if self.is_refused else self._error)",
            'self._fail(f"{REFUSED}: {self._egress.rules}" if self.is_refused else self._error)',
        ),
        red="tests/callback/test_egress.py::test_a_refusal_tells_nothing_of_what_is_there",
    ),
    Promise(
        "a-target-proves-who-it-is",
        "over TLS nothing is sent to a target that does not prove by its certificate who it is.",
        breaks="Certificates are not checked.",
        by=Mutation(
            "client_context",
            'context.set_alpn_protocols(["http/1.1"])',
            """
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            context.set_alpn_protocols(["http/1.1"])
            """,
        ),
        red=(
            "tests/callback/test_tls.py::test_who_is_vouched_for_by_nobody_is_sent_nothing",
            "tests/callback/test_tls.py::test_who_has_the_certificate_of_another_is_sent_nothing",
        ),
    ),
    Promise(
        "a-target-s-url-says-whether-it-is-tls",
        "whether a call through a named target has TLS is judged by the target's URL.",
        breaks="It is judged by what the timer gives.",
        by=(
            Mutation(
                "CallMaker.call_of",
                "call = self.seals.call_of(definition)",
                "call = own = self.seals.call_of(definition)",
            ),
            Mutation(
                "CallMaker.call_of",
                "if fault and read_url(call.url)[0].is_tls:",
                'if fault and own.url.startswith("https:"):',
            ),
        ),
        red="tests/api/v1/test_ways_out_count.py::test_a_process_without_the_key_of_a_certificate_leaves_calls_with_tls_to_others",
    ),
    Promise(
        "a-way-out-that-changes-while-others-are-told-is-told",
        "what is set for an app while others are told is told too.",
        breaks="What was read before is the last word.",
        by=Mutation(
            "Replica.tell",
            """
            if found == told:
                return
            """,
            "return",
        ),
        red="tests/store/test_ways_out.py::test_a_change_that_comes_while_another_is_told_is_told_too",
    ),
    Promise(
        "an-address-inside-another-counts-as-itself",
        "an IPv4 address inside an IPv6 address is judged as what it is.",
        breaks="An IPv6 address is judged by its own network alone.",
        by=Mutation(
            "judged_as", "return (address, *map(IPv4Address, _inside(address)))", "return (address,)"
        ),
        red=(
            "tests/core/test_egress_rules.py::test_an_address_of_a_special_network_is_refused_in_each_embedding",
            "tests/core/test_egress_rules.py::test_metadata_is_refused_whatever_is_allowed",
        ),
    ),
    Promise(
        "an-app-with-https-only-makes-no-plain-call",
        "an app that an operator lets call https only makes no plain call, over a kept connection neither.",
        breaks="Plain connections are judged as those with TLS.",
        by=Mutation("EgressRules.refusal", "if self.is_https_only and not peer.is_tls:", "if False:"),
        red=(
            "tests/callback/test_ways_out.py::test_an_app_with_https_only_makes_no_plain_call_and_others_do",
            "tests/callback/test_ways_out.py::test_a_kept_plain_connection_is_used_no_more_once_its_app_has_https_only",
        ),
    ),
    Promise(
        "an-apps-certificate-is-shown-by-its-calls-alone",
        "an app's client certificate is shown by its own calls alone.",
        breaks="Who has none shows that of another.",
        by=Mutation(
            "Tls._context_of",
            "found = self._of_apps.get(app)",
            "found = self._of_apps.get(app, next(iter(self._of_apps.values()), None))",
        ),
        red="tests/callback/test_ways_out.py::test_an_app_without_one_shows_none_and_is_told_that_the_target_wants_one",
    ),
    Promise(
        "egress-is-chosen-by-somebody",
        "processes that make calls do not start until somebody has chosen where calls may go.",
        breaks="Without a choice they start.",
        by=Mutation("require_egress", "if not settings.egress:", "if settings.egress is None:"),
        red="tests/stack/test_egress_is_chosen.py::test_without_rules_it_does_not_start_and_one_line_says_what_to_write",
    ),
    Promise(
        "egress-is-judged-at-the-socket",
        "a call connects only to what the rules of egress allow, however its URL is written or its name is answered.",
        breaks="A name is taken to lead to where it may; only addresses in URLs are judged.",
        by=Mutation(
            "Opening._try", "if not allows(peer, app):", "if not peer.name and not allows(peer, app):"
        ),
        red=(
            "tests/callback/test_egress.py::test_a_name_that_is_rebound_reaches_nothing_inside",
            "tests/callback/test_egress.py::test_of_several_addresses_only_allowed_ones_are_tried",
        ),
    ),
    Promise(
        "our-own-servers-are-no-targets",
        "no call reaches a cloud's metadata or our own servers, whatever is allowed.",
        breaks="What the rules of egress allow is allowed.",
        by=Mutation(
            "EgressRules.refusal",
            "return self._never(peer, all_readings(address)) or self._not_allowed(peer, address)",
            "return self._not_allowed(peer, address)",
        ),
        red=(
            "tests/callback/test_egress.py::test_our_own_servers_are_not_reached_where_loopback_is_allowed",
            "tests/callback/test_egress.py::test_a_name_that_is_allowed_may_lead_inside_but_to_no_metadata",
        ),
    ),
    Promise(
        "tls-is-1-2-at-least",
        "TLS is 1.2 at least.",
        breaks="Older versions are spoken.",
        by=Mutation(
            "client_context",
            "context.minimum_version = ssl.TLSVersion.TLSv1_2",
            "context.minimum_version = ssl.TLSVersion.TLSv1",
        ),
        red="tests/callback/test_ways_out.py::test_certificates_and_names_are_checked_and_tls_is_1_2_at_least",
    ),
    Promise(
        "what-is-allowed-for-one-app-is-allowed-for-no-other",
        "what an operator allows to one app is allowed to no other.",
        breaks="The rules of one app count for all.",
        by=Mutation(
            "Egress._refusal",
            "return self._of_apps.get(app, self._rules).refusal(peer)",
            "return next(iter(self._of_apps.values()), self._rules).refusal(peer)",
        ),
        red="tests/callback/test_ways_out.py::test_what_is_allowed_for_one_app_is_allowed_for_no_other",
    ),
    Promise(
        "what-was-opened-and-not-used-is-closed",
        "a connection that was opened before its moment and not used is closed.",
        breaks="It is closed when something else happens.",
        by=Mutation(
            "Exchanges.rest_until",
            "return min(self._deadlines.next_at, self._look_for_stale_at if self._idle else math.inf)",
            "return self._deadlines.next_at",
        ),
        red="tests/callback/test_opened_ahead.py::test_what_was_opened_and_not_used_is_closed",
    ),
    Promise(
        "who-knows-no-ways-out-fires-nothing",
        "a process that does not know yet what apps may call fires nothing.",
        breaks="It fires as if no app had rules of its own.",
        by=Mutation("Executor.begin", "if not self._duty.may_fire():", "if False:"),
        red="tests/stages/test_executor.py::test_a_process_that_does_not_know_what_apps_may_call_claims_nothing_and_another_fires",
    ),
)
