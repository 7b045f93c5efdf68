"""The API: requests, what they may cost, and what is on record of them."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "The API"
PROMISES = (
    Promise(
        "a-bad-row-fails-no-list",
        "a row that cannot be read or shown fails no list, and ends none.",
        breaks="What cannot be shown fails the list, and what cannot be read ends it.",
        by=(
            Mutation(
                "shown_each",
                """
                try:
                    found.append(show(row))
                except Exception as error:
                    log.error("row_cannot_be_shown", row=name_of(row), error=repr(error)[:200])
                """,
                "found.append(show(row))",
            ),
            Mutation("readable_page", "if len(rows) < room:", "if True:"),
        ),
        red=(
            "tests/api/v1/test_unreadable_rows.py::test_of_targets[values0]",
            "tests/api/v1/test_unreadable_rows.py::test_of_targets[values1]",
        ),
    ),
    Promise(
        "a-body-in-crumbs-is-refused",
        "a body in a hundred thousand chunks is refused, before it costs seconds of CPU.",
        breaks="However many are read.",
        by=Mutation("MOST_CHUNKS", "MOST_CHUNKS = 100_000", "MOST_CHUNKS = 100_000_000"),
        red="tests/api/test_half_sent.py::test_a_body_in_too_many_pieces_is_refused_as_one_too_large[chunks]",
    ),
    Promise(
        "a-body-that-cannot-be-read-is-refused",
        "a body in chunks that cannot be read is the client's fault, and what follows is no request.",
        breaks="It is a fault of the service.",
        by=Mutation(
            "PatientSocket._readable",
            "except ParseException:",
            "except ImportError:",
        ),
        red="tests/api/test_half_sent.py::test_chunks_that_cannot_be_read_are_the_clients_fault_and_end_the_connection",
    ),
    Promise(
        "a-silent-connection-ends-soon",
        "a connection that sends nothing is closed in the time that a request's head has, and holds no thread.",
        breaks="It stays for as long as an idle one may.",
        by=Mutation(
            "WebWorker.enqueue_req",
            "conn.timeout = time.monotonic() + self._head_s",
            "conn.timeout = time.monotonic() + self.cfg.keepalive",
        ),
        red="tests/api/test_half_sent.py::test_a_connection_that_sends_nothing_is_closed_and_holds_no_thread",
    ),
    Promise(
        "half-a-head-holds-no-thread",
        "a connection gets a thread once the head of a request is whole.",
        breaks="Its first byte gets one.",
        by=Mutation(
            "WebWorker.on_pending_socket_readable",
            "if conn.sock.has_head():",
            "if conn.sock.has_head() or True:",
        ),
        red="tests/api/test_web_worker.py::test_a_connection_gets_a_thread_once_a_head_is_whole",
    ),
    Promise(
        "a-browser-shows-data-as-data",
        "a browser takes an answer as data, keeps none, and shows none in a frame.",
        breaks="Errors have no such headers.",
        by=Mutation(
            "add_security_headers.add",
            "for name, value in SECURITY_HEADERS.items():",
            "for name, value in SECURITY_HEADERS.items() if response.status_code < 400 else ():",
        ),
        red=(
            "tests/api/test_security_headers.py::test_every_answer_is_data_that_nobody_keeps_shows_in_a_frame_or_guesses_about",
            "tests/api/test_security_headers.py::test_what_is_refused_for_its_host_has_them_too",
        ),
    ),
    Promise(
        "a-bulk-change-ends-with-its-budget",
        "a change of many timers ends where it has taken its CPU, and says what is left.",
        breaks="It goes on to the last timer.",
        by=Mutation(
            "Batches._switch_off",
            "if results and is_over(answer_s):",
            "if False and is_over(answer_s):",
        ),
        red="tests/api/v1/test_large_calendars.py::test_timers_switched_off_beyond_one_transaction_are_left_where_the_budget_is_over",
    ),
    Promise(
        "a-change-without-its-entry-is-not-made",
        "a change and its entry in the audit are one transaction.",
        breaks="Where the entry cannot be written, the change is made without it.",
        by=Mutation(
            "note_changes",
            "_inserting(sql.dialect).run(sql, noted, _written)",
            """
            try:
                _inserting(sql.dialect).run(sql, noted, _written)
            except Exception:
                return
            """,
        ),
        red="tests/store/test_audit.py::test_without_its_entry_a_change_is_not_made",
    ),
    Promise(
        "a-failing-broker-has-one-name",
        "a broker has one name where it fails.",
        breaks="It is shown as it is stored.",
        by=Mutation("_fields", '"host": shown_host(host.origin),', '"host": host.origin,'),
        red="tests/api/v1/test_failing_hosts.py::test_a_broker_has_one_name_where_it_fails_is_enabled_and_is_on_record",
    ),
    Promise(
        "a-long-closed-calendar-costs-no-more",
        "a calendar that leaves no day open for decades costs a search no more than any other.",
        breaks="Days are looked at one by one.",
        by=Mutation(
            "Calendar.next_open_day",
            "reopens, working = _reopenings(self)",
            """
            while self.excludes(date.fromordinal(day)):
                day += 1
            reopens, working = _reopenings(self)
            """,
        ),
        red="tests/core/test_calendars.py::test_a_calendar_that_opens_again_in_80_years_is_searched_by_no_day_between",
    ),
    Promise(
        "a-page-runs-its-own-scripts-only",
        "its pages run only scripts of their own.",
        breaks="Any script within the page of operations runs.",
        by=Mutation(
            "POLICY",
            "f\"script-src 'self' {source_of(START)}\",",
            "\"script-src 'self' 'unsafe-inline'\",",
        ),
        red="tests/api/test_security_headers.py::test_a_page_runs_no_script_and_uses_no_style_but_its_own",
    ),
    Promise(
        "a-repeat-is-on-record-once",
        "a change is on record once, even if its transaction is repeated.",
        breaks="A repeated backfill is noted again.",
        by=Mutation(
            "DemandStore.backfill.work",
            "new = [firing for firing in made if firing.fire_at not in held]",
            "new = made",
        ),
        red="tests/store/test_audit.py::test_a_change_whose_answer_was_lost_is_on_record_once",
    ),
    Promise(
        "a-slow-reader-is-cut-off",
        "a client that takes its answer slowly holds a thread for seconds, and that of an export only at 10 KB/s or"
        " more.",
        breaks="Each part of an answer has 20 s of its own.",
        by=Mutation(
            "AnswerPace.may_take_s",
            """
            if self._earns:
                self._left_s = min(BEHIND_S, self._left_s + part_bytes / LEAST_BYTES_PER_S)
            """,
            "self._left_s = BEHIND_S",
        ),
        red=(
            "tests/api/test_slow_readers.py::test_a_client_of_an_export_below_the_least_pace_is_cut_off_and_any_other_is_not",
            "tests/api/test_slow_readers.py::test_all_of_an_answer_that_is_no_export_must_be_taken_in_time",
        ),
    ),
    Promise(
        "a-spreadsheet-runs-no-cell",
        "a spreadsheet runs no cell of an export.",
        breaks="Only cells that begin with an equals sign are defused.",
        by=Mutation("_BEGINS", r'_BEGINS = "[=+\\-@\uff1d\uff0b\uff0d\uff20]"', '_BEGINS = "[=]"'),
        red="tests/test_spreadsheet_cells.py::test_a_formula_becomes_a_text",
    ),
    Promise(
        "bad-settings-stop-the-start",
        "a wrong setting stops the start with one line that names it.",
        breaks="A setting that does not fit counts as not set.",
        by=Mutation(
            "read_settings",
            'raise BadSetting("; ".join(_complaint(problem) for problem in error.errors())) from None',
            "settings = Settings.model_construct()",
        ),
        red=(
            "tests/test_settings.py::test_a_wrong_setting_is_refused_by_name",
            "tests/api/test_web_process.py::test_wrong_settings_stop_the_start_with_one_line",
        ),
    ),
    Promise(
        "each-change-is-on-record",
        "each change that a request makes is on record, with its key.",
        breaks="A delete leaves no entry.",
        by=Mutation(
            "TimerStore.delete.work",
            "note_changes(sql, now, [switch_of(timer.definition.status, deleted)])",
            "",
        ),
        red=(
            "tests/store/test_audit.py::test_each_change_of_a_timer_is_on_record",
            "tests/api/test_audited_routes.py::test_a_route_that_changes_something_leaves_its_entries_with_its_key",
        ),
    ),
    Promise(
        "exports-leave-threads-for-all-else",
        "exports take a quarter of its threads at most.",
        breaks="Any number is under way at once.",
        by=Mutation("THREADS_AN_EXPORT", "THREADS_AN_EXPORT = 4", "THREADS_AN_EXPORT = 1"),
        red="tests/api/test_slow_readers.py::test_a_quarter_of_the_threads_export_at_once_and_others_are_told_to_come_again",
    ),
    Promise(
        "a-long-answer-is-kept-without-its-call",
        "what is stored for repeats of a request does not grow with the bodies of calls.",
        breaks="Each answer is stored whole.",
        by=Mutation("to_keep", "if len(text) <= MOST_KEPT:", "if True:"),
        red="tests/api/v1/test_kept_replies.py::test_of_a_long_answer_the_content_of_the_call_is_not_kept[sqlite]",
    ),
    Promise(
        "few-large-requests-leave-the-api-its-threads",
        "large batches, replays and backfills of one app leave most threads to others.",
        breaks="Any number of them is under way at once.",
        by=Mutation(
            "begin_large",
            "g.end_large = LARGE_REQUESTS.begin(present_caller().app or request.environ.get(_APP))",
            "pass",
        ),
        red=(
            "tests/api/v1/test_large_requests.py::"
            "test_an_app_has_a_few_large_requests_at_once_and_its_small_ones_and_other_apps_go_on"
        ),
    ),
    Promise(
        "few-long-looks-leave-the-api-its-threads",
        "requests that look through very many firings leave most threads to others.",
        breaks="Any number of them is under way at once.",
        by=Mutation("PartedLook.go_on", "self._place.callback(LONG_LOOKS.begin(self._app))", ""),
        red="tests/store/test_parts.py::test_few_long_looks_go_on_at_once_and_short_ones_beside_them",
    ),
    Promise(
        "one-app-has-half-of-the-long-looks",
        "one app that looks through very many timers leaves long looks to others.",
        breaks="It may have all of them.",
        by=Mutation(
            "AtOnce.__init__",
            "self._most, self._most_of_one = most, max(1, most // 2)",
            "self._most = self._most_of_one = most",
        ),
        red=(
            "tests/store/test_timer_lists.py::"
            "test_one_app_has_half_of_the_long_looks_at_timers_and_its_short_ones_go_on[sqlite]"
        ),
    ),
    Promise(
        "a-list-of-timers-ends",
        "a list that looks through very many timers reads them in parts, and is refused after some seconds.",
        breaks="All are read by one statement.",
        by=Mutation("TimerLists._parts", "if way.is_few or not (way.is_wider or is_whole):", "if True:"),
        red=(
            "tests/store/test_timer_lists.py::"
            "test_a_list_that_finds_nothing_in_time_is_refused_and_says_what_to_ask_for[sqlite]"
        ),
    ),
    Promise(
        "half-a-request-holds-nothing",
        "half a request holds a thread for seconds, not for ever.",
        breaks="A body may take an hour to come.",
        by=Mutation(
            "WebWorker.handle_request",
            "conn.sock.await_body(self._body_s)",
            "conn.sock.await_body(3_600)",
        ),
        red="tests/api/test_half_sent.py::test_sixteen_half_requests_do_not_keep_a_whole_one_from_its_answer",
    ),
    Promise(
        "many-large-calendars-are-read-once",
        "a list or a change of a thousand timers with a hundred large calendars takes less than a second of CPU.",
        breaks="A calendar is read anew for each timer, and none is cut short.",
        by=(
            Mutation(
                "ManyTimers._matching",
                "while room and not (found and is_over()):",
                "while room and not (found and False):",
            ),
            Mutation(
                "Batches._switch_off",
                "if results and is_over(answer_s):",
                "if False and is_over(answer_s):",
            ),
            Mutation(
                "Batches._plans",
                "if number and not plans and is_over():",
                "if number and not plans and False:",
            ),
            Mutation("MOST_DAYS_KEPT", "MOST_DAYS_KEPT = 400_000", "MOST_DAYS_KEPT = 1"),
        ),
        red="tests/api/v1/test_large_calendars.py::test_its_timers_are_changed_by_parts_and_listed_by_short_pages",
    ),
    Promise(
        "no-request-takes-a-second-of-cpu",
        "no request takes over a second of CPU.",
        breaks="A batch is read and enabled whatever it costs.",
        by=(
            Mutation("read_each.read_one", "refuse_more()", "pass"),
            Mutation(
                "make_each",
                "if batches.how_many_to_enable(enabled) < len(enabled):",
                "if False and batches.how_many_to_enable(enabled) < len(enabled):",
            ),
        ),
        red=(
            "tests/api/test_slow_requests.py::test_a_batch_over_the_budget_is_refused_whole_and_says_what_to_do",
            "tests/api/test_slow_requests.py::test_enabling_more_moments_than_a_request_may_plan_stores_none",
        ),
    ),
    Promise(
        "only-exports-are-read-for-long",
        "only an export, of which few run at once, may be read for longer than 20 s.",
        breaks="Every answer earns time for what the client takes.",
        by=Mutation(
            "AnswerPace.__init__",
            "self._left_s, self._earns = BEHIND_S, earns",
            "self._left_s, self._earns = BEHIND_S, True",
        ),
        red="tests/api/test_slow_readers.py::test_all_of_an_answer_that_is_no_export_must_be_taken_in_time",
    ),
    Promise(
        "what-is-asked-for-begins-within-a-week",
        "firings that are asked for begin within a week, so that a leaked key plants none for later years.",
        breaks="Any start is taken.",
        by=Mutation(
            "_refuse_late_start",
            "if rate.start is not None and rate.start > now + LATEST_START_DAYS * DAY_MS:",
            "if rate.start is not None and rate.start < 0 < now + LATEST_START_DAYS * DAY_MS:",
        ),
        red="tests/stages/test_replay.py::test_a_start_more_than_a_week_ahead_is_refused",
    ),
)
