"""Bad neighbours: targets that hang or are slow, and the places and connections that their calls take."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "Bad neighbours"
PROMISES = (
    Promise(
        "a-client-certificate-signs-quickly",
        "a client certificate whose key takes long to sign with is refused: one thread makes all calls.",
        breaks="Any key is taken.",
        by=Mutation(
            "_is_quick",
            """
            if isinstance(key, rsa.RSAPublicKey):
                return key.key_size <= most_rsa_bits and key.public_numbers().e.bit_length() <= MOST_EXPONENT_BITS
            """,
            "return True",
        ),
        red="tests/callback/test_client_certificate.py::test_a_key_with_which_each_handshake_would_take_long_is_refused",
    ),
    Promise(
        "a-key-that-takes-long-to-judge-is-never-loaded",
        "no key or certificate stops the API's process: its algorithm is looked at before it is loaded.",
        breaks="A key of any algorithm is loaded.",
        by=(
            Mutation(
                "_private_key",
                'if kind != "PRIVATE KEY" or _PKCS8.match(b64decode(body, validate=True)):',
                "if kind:",
            ),
            Mutation(
                "_public_key",
                "return certificate.public_key() if certificate.public_key_algorithm_oid in _ALGORITHMS else None",
                "return certificate.public_key()",
            ),
        ),
        red=(
            "tests/callback/test_client_certificate.py::test_a_key_of_another_algorithm_is_refused_before_it_is_loaded",
            "tests/callback/test_client_certificate.py::"
            "test_a_certificate_of_another_algorithm_is_refused_before_its_key_is_loaded",
        ),
    ),
    Promise(
        "a-long-call-holds-no-room",
        "a call that may take minutes holds no room for requests once it is sent, so other apps' calls find some.",
        breaks="It holds its room until it has ended.",
        by=Mutation("Attempt.on_written", "self.held.claim.empty([self.held.member])", ""),
        red="tests/stages/test_long_calls.py::test_long_calls_with_large_bodies_leave_other_apps_their_room",
    ),
    Promise(
        "a-target-that-hangs-is-tried-every-few-seconds",
        "a target that hung and answers again is called again within seconds.",
        breaks="A call that hangs keeps others from trying the target until it times out.",
        by=Mutation(
            "Way.may_be_tried_again",
            "return is_taken and has_room and now - self.started_at >= TRIED_AGAIN_S",
            "return is_taken and self.running < 0",
        ),
        red=(
            "tests/callback/test_flows.py::test_a_host_whose_one_call_hangs_is_tried_by_another_after_a_while",
            "tests/callback/test_flows.py::test_what_waits_in_the_lane_of_a_host_that_hangs_is_pulled_to_try_it",
            "tests/callback/test_flows.py::test_one_more_call_tries_a_host_that_has_some_places_left_and_all_of_them_hang",
        ),
    ),
    Promise(
        "an-app-starves-at-no-host",
        "an app has a call at a host though another app's calls hold all places there.",
        breaks="It waits until one of them ends.",
        by=Mutation(
            "Way.free_at_host",
            """
            if self.is_starved and not self.running:
                return 1
            """,
            "",
        ),
        red="tests/callback/test_flows.py::test_an_app_whose_calls_find_no_place_at_a_host_for_a_while_gets_one",
    ),
    Promise(
        "an-apps-hung-targets-take-no-more-than-its-share",
        "however many targets of one app hang, no other app's calls wait for a connection.",
        breaks="An app may have every connection.",
        by=Mutation(
            "share_of",
            "return max(LEAST_SHARE, connections - running)",
            "return connections + running - running",
        ),
        red=(
            "tests/callback/test_flows.py::test_an_app_has_at_most_as_many_connections_as_are_free",
            "tests/stages/test_lanes.py::test_as_many_targets_that_hang_as_a_process_has_places_make_no_other_app_late",
        ),
    ),
    Promise(
        "an-apps-slow-targets-hold-up-no-other-of-it",
        "however many targets of an app are slow, its other targets' calls start at once.",
        breaks="A host may have all of its app's share.",
        by=Mutation(
            "Flows.can_send",
            "elif way.running >= self._free_of(flow.app):",
            "elif self._free_of(flow.app) <= 0:",
        ),
        red="tests/callback/test_flows.py::test_an_apps_slow_hosts_leave_room_for_its_other_hosts",
    ),
    Promise(
        "apps-at-one-host-find-places",
        "an app whose calls to a host hang leaves places there to another app that calls it.",
        breaks="One app may have all of them.",
        by=Mutation(
            "Way.free_at_host",
            "return min(host.free, max(1, host.free) - (taken if self.running else 0))",
            "return host.free",
        ),
        red="tests/callback/test_flows.py::test_an_app_whose_calls_hang_leaves_another_app_places_at_the_same_host",
    ),
    Promise(
        "the-parts-of-an-app-are-one-app",
        "an app that calls a host by many paths leaves places there to another app that calls it.",
        breaks="Each of its paths has as much as an app.",
        by=Mutation(
            "Way.free_at_host",
            "taken = sum(way.running for way in at_host.ways.values() if not way.is_in_trouble)",
            "taken = self.running",
        ),
        red="tests/callback/test_parts_of_hosts.py::test_the_parts_of_an_app_take_together_as_many_places_as_they_leave_to_other_apps",
    ),
    Promise(
        "apps-share-no-connection",
        "no app gets the answer to another app's request; apps share no connection to a target.",
        breaks="Connections are kept by target alone, and go on after a body the method gives no meaning.",
        by=(
            Mutation(
                "Request.__init__",
                "self.ends_connection = bool(body) and method not in _WITH_A_BODY",
                "self.ends_connection = False",
            ),
            Mutation(
                "Request.__init__",
                "self.route: Route = (app, self.origin.key)",
                'self.route: Route = ("", self.origin.key)',
            ),
        ),
        red=(
            "tests/callback/test_apps_apart.py::test_apps_share_no_connection",
            "tests/callback/test_apps_apart.py::test_no_call_gets_the_answer_to_what_was_smuggled_in_a_body",
        ),
    ),
    Promise(
        "blank-lines-are-no-answer",
        "an answer behind ever more blank lines is broken off, so that other calls do not wait for it.",
        breaks="However many pass.",
        by=Mutation("_MOST_BLANK_BYTES", "_MOST_BLANK_BYTES = 64", "_MOST_BLANK_BYTES = 1_000_000"),
        red="tests/callback/test_answer_reading.py::test_what_begins_with_ever_more_blank_lines_is_broken_off[lf-first]",
    ),
    Promise(
        "calls-that-are-due-go-before-calls-to-come",
        "what is opened for calls to come gives way to a call that is due.",
        breaks="Handshakes go in the order in which they began.",
        by=Mutation(
            "Openings.queue_handshake",
            "(self._handshakes_ahead if opening.placed is None else self._handshakes).append(opening)",
            "self._handshakes.append(opening)",
        ),
        red="tests/callback/test_opened_ahead.py::test_handshakes_of_calls_that_are_due_go_first",
    ),
    Promise(
        "calls-that-come-close-to-their-moments-are-told-of",
        "when calls come close to their moments, whatever can wait is told to wait.",
        breaks="No process tells.",
        by=Mutation("Executor.begin", "self._duty.tell_strain()", "pass"),
        red="tests/stages/test_executor.py::test_calls_that_come_close_to_their_moments_are_told_of",
    ),
    Promise(
        "however-many-apps-wait-a-freed-place-costs-no-more",
        "however many apps wait for a host, a place that comes free there costs no look at all of them.",
        breaks="All that wait for the host are let in for each place.",
        by=Mutation(
            "Flows._let_in",
            "for flow in list(islice(able, host.free)):",
            "for flow in list(host.blocked):",
        ),
        red="tests/callback/test_flows.py::test_however_many_apps_wait_for_a_host_a_place_that_comes_free_costs_no_look_at_all_of_them",
    ),
    Promise(
        "however-many-hosts-a-new-one-costs-no-more",
        "however many hosts are called at once, a call to a new one costs no look at all of them.",
        breaks="Once 10,000 hosts have calls, all are looked at for each new one.",
        by=Mutation(
            "Flows._way",
            "if len(self._ways) >= self._most_ways:",
            "if len(self._ways) >= _MOST_WAYS:",
        ),
        red="tests/callback/test_flows.py::test_however_many_hosts_have_calls_a_new_one_costs_no_look_at_all_of_them",
    ),
    Promise(
        "names-that-are-never-answered-hold-up-one-app",
        "host names that are never answered hold up no other app's calls.",
        breaks="All apps share one queue of look-ups.",
        by=Mutation(
            "Lookups._want",
            "def _want(self, name: str, app: str) -> _Lookup:",
            """
            def _want(self, name: str, app: str) -> _Lookup:
                app = ""
            """,
        ),
        red=(
            "tests/callback/test_lookups.py::test_one_apps_look_ups_wait_for_each_other_and_for_no_other_app",
            "tests/callback/test_names.py::test_names_that_are_never_answered_hold_up_no_others",
        ),
    ),
    Promise(
        "no-target-picks-the-group-of-a-key-exchange",
        "no target's handshake holds up other calls: none picks the group of a key exchange.",
        breaks="DHE is offered.",
        by=Mutation(
            "_CIPHERS",
            '_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES:!aNULL:!SHA1:!AESCCM"',
            '_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES:DHE+AES:!aNULL:!SHA1:!AESCCM"',
        ),
        red="tests/callback/test_tls.py::test_no_target_picks_the_group_of_a_key_exchange",
    ),
    Promise(
        "one-apps-failures-take-no-place-from-another",
        "however many of an app's calls to a host fail, another app's calls to that host have their places, and calls"
        " over TLS take none from plain ones.",
        breaks="All apps that call a host share its places.",
        by=Mutation(
            "Flows._way",
            "way = Way(self._host(host), route, part)",
            """
            others = self._host(host).ways.values()
            way = next(iter(others), None) or Way(self._host(host), route, part)
            """,
        ),
        red=(
            "tests/callback/test_flows.py::test_one_apps_failures_at_a_host_take_no_place_from_another_app",
            "tests/callback/test_flows.py::test_failures_over_tls_take_no_place_from_plain_calls",
        ),
    ),
    Promise(
        "openings-of-an-app-that-hang-leave-others-theirs",
        "an app whose targets hang while connections are opened ahead leaves other apps theirs.",
        breaks="One app may have all of them.",
        by=Mutation(
            "DeliveryEngine._room_ahead",
            "if of_app >= self._most_ahead - of_all or self._has_all_connections:",
            "if of_all >= self._most_ahead or self._has_all_connections:",
        ),
        red="tests/callback/test_opened_ahead.py::test_an_app_whose_openings_hang_leaves_others_theirs",
    ),
    Promise(
        "what-is-given-up-holds-no-place",
        "what a call that never ends holds is held until renewing it ends, and no longer: a process keeps its room.",
        breaks="It is renewed no more, and held.",
        by=Mutation("Keeper.renew_due", "_let_go_of_what_is_over(claims, now)", ""),
        red="tests/stages/test_keeper.py::test_what_is_renewed_no_more_is_held_no_more",
    ),
    Promise(
        "what-is-no-answer-is-not-read-without-end",
        "what a target sends over TLS that is no answer, such as tickets without end, holds up no other call and ends"
        " its own.",
        breaks="It is read for as long as it comes.",
        by=Mutation(
            "TlsStream.recv",
            """
            if not self._incoming.pending:
                self._take_in(_MOST_IN_VAIN)
            """,
            """
            self._connection.setblocking(True)
            while not self._tls.pending():
                self._take_in(1_000_000_000)
                with contextlib.suppress(ssl.SSLWantReadError):
                    return self._tls.read(most)
            """,
        ),
        red=(
            "tests/callback/test_tls.py::test_a_target_that_sends_tickets_without_end_holds_up_no_other_and_has_failed",
            "tests/callback/test_tls.py::test_an_idle_connection_on_which_tickets_come_without_end_is_closed",
        ),
    ),
    Promise(
        "what-is-pulled-is-sent-as-there-is-room",
        "of what is pulled from a lane only as much is sent as there is room for.",
        breaks="All that was pulled is sent.",
        by=Mutation(
            "Executor._send",
            "going, staying = within_room(ready, most - fired.sent + fired.to_other_host)",
            "going, staying = list(ready), list[Ready]()",
        ),
        red="tests/stages/test_dead_lanes.py::test_what_lives_behind_them_is_sent_as_there_is_room_and_else_waits_on_with_its_attempt",
    ),
    Promise(
        "who-is-tried-waits-behind-no-slow-target",
        "what is tried alone waits for one firing of a target that is slow, and not for all of them.",
        breaks="What is tried alone is tried in the order in which it came, whatever its target.",
        by=Mutation("Quarantine.try_next", "self._slow_hosts.add(firing.host)", "pass"),
        red="tests/stages/test_quarantine.py::test_those_of_a_target_that_was_slow_come_behind_all_others",
    ),
)
