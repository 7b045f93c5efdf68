"""Bad neighbours: limits of calls, requests, timers and firings, whoever has them."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "Bad neighbours"
PROMISES = (
    Promise(
        "an-app-s-timers-take-no-more-bytes-than-they-may",
        "the calls and excluded days of an app's timers take no more bytes than its limit.",
        breaks="Bytes are counted, and held against nothing.",
        by=Mutation("refusal", "if by.bytes > 0 and would_be.bytes > most.bytes:", "if False:"),
        red="tests/store/test_app_totals.py::test_more_bytes_than_an_app_may_have_are_refused_with_both_numbers[sqlite]",
    ),
    Promise(
        "redis-keeps-few-uploads-of-an-app",
        "however often an app uploads a calendar, Redis keeps as many of its uploads as it may have calendars, and some.",
        breaks="What was replaced stays until its time is over.",
        by=Mutation("CalendarDays._write.write", "if oldest:", "if False:"),
        red="tests/store/test_definitions.py::test_however_often_an_app_uploads_redis_keeps_the_days_that_were_told_last",
    ),
    Promise(
        "a-calendar-grows-no-further-than-its-timers-may",
        "an upload that makes the timers which name the calendar larger moves their app's total, and stays within its limit.",
        breaks="The new days of timers that follow are not counted.",
        by=Mutation(
            "CalendarFollowers._with_room", "if not self._totals.are_kept(upload.app):", "if upload.app:"
        ),
        red="tests/api/v1/test_following.py::test_of_timers_whose_new_days_do_not_fit_any_more_as_many_follow_as_fit[sqlite]",
    ),
    Promise(
        "answers-set-no-more-moments-than-an-app-may-plan",
        "answers give timers moments of their own no faster than the app's `firingsPerSecond`.",
        breaks="What an answer sets counts as nothing.",
        by=Mutation("ControlApplier._paced", "if not self.pace.is_kept(app):", "if True:"),
        red="tests/api/v1/test_reply_controls.py::test_moments_that_answers_set_are_bounded_by_the_firings_an_app_may_plan[False]",
    ),
    Promise(
        "answers-hold-up-no-sweep",
        "however many answers control their timers, what comes behind them in a sweep has its turn.",
        breaks="Who applies them goes on as long as more are asked for.",
        by=Mutation("ControlApplier._work", "for _ in range(rounds):", "while True:"),
        red="tests/api/v1/test_reply_controls.py::test_however_often_it_is_asked_for_it_ends[sqlite-sweep-1]",
    ),
    Promise(
        "answers-fill-no-audit",
        "of what answers change of a timer one entry a minute is on record, and each stop.",
        breaks="Each change by an answer is on record.",
        by=Mutation(
            "ControlApplier._is_on_record",
            "return any(entry.key_name == CALLER.name for entry in self.audit.page(lately, 50))",
            "return False",
        ),
        red="tests/api/v1/test_reply_controls.py::test_of_what_answers_change_one_entry_a_minute_is_on_record_and_each_stop[sqlite]",
    ),
    Promise(
        "a-dead-process-calls-count-until-they-have-ended",
        "no target has more calls of an app at once than the app's limit, though a process is killed.",
        breaks="A dead process' permits end with its lease.",
        by=(
            Mutation(
                "PermitStore.__init__", "self._usual_ms = callback_timeout_ms", "self._usual_ms = 4_000"
            ),
            Mutation("MemoryPermits.__init__", "self._usual_ms = timeout_ms", "self._usual_ms = 4_000"),
        ),
        red=(
            "tests/store/test_permits.py::test_a_dead_process_permits_end_once_its_calls_surely_have[redis]",
            "tests/store/test_permits.py::test_a_dead_process_permits_end_once_its_calls_surely_have[memory]",
        ),
    ),
    Promise(
        "a-dead-process-long-calls-count-until-they-have-ended",
        "no target has more long calls of an app at once than the app's limit, though a process is killed.",
        breaks="A permit that was pulled is not prolonged for a call that may take longer.",
        by=Mutation(
            "Throttle._lacking",
            "if permit.longest_ms >= longest_ms or not self._counts_at_once(permit.lane)",
            "",
        ),
        red=(
            "tests/stages/test_long_calls.py::test_the_target_never_has_more_long_calls_at_once_though_their_process_is_killed",
            "tests/stages/test_throttle.py::test_a_permit_for_a_shorter_call_is_prolonged_not_given_anew",
        ),
    ),
    Promise(
        "a-host-has-its-limit-however-it-is-spelled",
        "a host has its limit, its pause and its lane with a dot at the end of its name too.",
        breaks="The name with a dot is another host.",
        by=Mutation("_origin", 'f"{one_name(bare)}:{port}",', 'f"{bare}:{port}",'),
        red="tests/stages/test_limited_hosts.py::test_a_host_spelled_otherwise_has_the_limit_of_the_same_host",
    ),
    Promise(
        "a-hosts-limit-counts-all-apps",
        "a target never has more calls at once than its host's limit, over all apps and processes, though one is"
        " killed.",
        breaks="A call asks no limit of its host.",
        by=Mutation(
            "CallLimits.lanes_of",
            """
            if self.hosts and (host in self.hosts or ANY_HOST in self.hosts):
                lanes.append(SharedLane.of_host_limit(host))
            """,
            "",
        ),
        red="tests/stages/test_limited_hosts.py::test_a_host_never_has_more_calls_at_once_though_a_process_is_killed",
    ),
    Promise(
        "a-hung-target-holds-no-permit",
        "a target that hangs takes nothing of its app's limit from the app's other targets.",
        breaks="A firing that waits for a place keeps the permit that it was pulled with.",
        by=Mutation("TimedEngine._start_ripe", "self._admissions.give_back_without_place()", ""),
        red="tests/callback/test_admissions.py::test_what_waits_for_a_host_that_hangs_holds_no_permit",
    ),
    Promise(
        "a-limit-is-known-before-the-first-call",
        "limits hold though Redis has lost them and callback processes start anew.",
        breaks="A process that has read no limits yet knows none.",
        by=Mutation("Replica.learn", "found = self.in_sql()", "found = self.kind.unset"),
        red="tests/stages/test_limited_apps.py::test_the_limit_holds_though_redis_lost_it_and_all_callback_processes_start_anew",
    ),
    Promise(
        "a-lost-redis-lifts-no-limit",
        "limits hold while Redis has lost them.",
        breaks="A process that finds no limits in Redis knows none.",
        by=Mutation(
            "Replica.learn",
            "if found is not None:",
            """
            found = self.kind.unset if found is None else found
            if found is not None:
            """,
        ),
        red="tests/stages/test_limited_apps.py::test_the_limit_holds_while_redis_has_lost_it",
    ),
    Promise(
        "a-lowered-limit-counts-at-once",
        "a limit of timers that is lowered leaves an app no more than it.",
        breaks="Shares of the limit before count on.",
        by=Mutation(
            "_MOVE_WITHIN",
            '*(app_totals.c[limit] == bindparam(f"limit_{name}") for name, limit in _LIMIT_OF.items()),',
            '*(bindparam(f"limit_{name}") > 0 for name in _LIMIT_OF),',
        ),
        red="tests/store/test_app_totals.py::test_a_slot_over_its_share_of_a_lowered_limit_leaves_no_room_to_others[mariadb]",
    ),
    Promise(
        "a-permit-comes-back-after-its-call",
        "a permit comes back only once its call has ended.",
        breaks="It comes back as soon as the call was sent.",
        by=(
            Mutation(
                "TimedEngine._go_on",
                "self._start(flow, call, deadline_at)",
                """
                self._start(flow, call, deadline_at)
                self._admissions.give_back(call, is_unused=False)
                """,
            ),
            Mutation("TimedEngine._end", "self._admissions.give_back(call, is_unused=reply is None)", "pass"),
        ),
        red="tests/callback/test_admissions.py::test_a_call_is_sent_once_it_has_its_permit_and_gives_it_back_after_its_end",
    ),
    Promise(
        "a-permit-is-used-at-once",
        "a call of a limited app begins within a second of its permit, so that the permit surely outlasts the call.",
        breaks="A permit may be used however old it is.",
        by=Mutation(
            "Admissions.is_admitted",
            """
            if any(now > permit.begins_by for permit in call.permits):
                self.give_back(call, is_unused=True)
            """,
            "",
        ),
        red="tests/callback/test_admissions.py::test_a_permit_whose_time_to_begin_is_over_is_asked_anew",
    ),
    Promise(
        "a-quiet-second-stores-up-no-calls",
        "an app limited to so many calls a second is called no faster after a quiet time.",
        breaks="Its rate stores up a whole second.",
        by=Mutation("permits.lua", "left = math.min(left, burst)", "left = math.min(left, per_s)"),
        red="tests/store/test_permits.py::test_a_quiet_second_stores_up_no_more_than_a_tenth_of_one[redis]",
    ),
    Promise(
        "a-total-is-mended-once",
        "an app's total that is wrong is mended once, however many count it at once.",
        breaks="A count that was overtaken by another moves the total too.",
        by=Mutation(
            "TotalCounts.count",
            "is_as_seen = and_(apps.c.name == app, apps.c.counted_at == seen.counted_at)",
            "is_as_seen = and_(apps.c.name == app, apps.c.counted_at >= seen.counted_at)",
        ),
        red="tests/store/test_app_totals.py::test_two_counts_at_once_move_the_total_once[mariadb]",
    ),
    Promise(
        "an-app-has-no-more-timers-than-it-may",
        "an app has no more timers than it may, however many are created at once.",
        breaks="A slot of an app's total may grow beyond its share of the limit.",
        by=Mutation(
            "_MOVE_WITHIN",
            '*(moved <= bindparam(f"share_{name}") for name, moved in _MOVED.items()),',
            '*(bindparam(f"share_{name}") >= 0 for name in _MOVED),',
        ),
        red="tests/store/test_app_totals.py::test_of_concurrent_creates_exactly_as_many_as_may_are_stored",
    ),
    Promise(
        "an-app-plans-no-more-firings-than-it-may",
        "an app's enabled timers plan no more firings a second than they may.",
        breaks="Enabling a timer moves no total.",
        by=Mutation(
            "TimerStore.enable.work",
            "self._totals.move(sql, app, counted(enabled_at_once(near)) - counted(timer), now)",
            "",
        ),
        red=(
            "tests/store/test_app_totals.py::test_each_change_of_a_timer_moves_the_totals[mariadb]",
            "tests/store/test_app_totals.py::test_too_many_planned_firings_are_refused_at_enable_and_edit[sqlite]",
        ),
    ),
    Promise(
        "calendars-of-an-app-are-bounded",
        "an app's calendars take no more bytes than they may.",
        breaks="The upload alone is held against the limit.",
        by=Mutation(
            "_refuse_more_bytes",
            "would_be = int(sql.execute(sizes).scalar_one() or 0) + size",
            "would_be = min(int(sql.execute(sizes).scalar_one() or 0), 0) + size",
        ),
        red="tests/api/test_limits_at_the_api.py::test_calendars_take_no_more_bytes_than_they_may[sqlite]",
    ),
    Promise(
        "creates-of-an-app-do-not-wait-for-each-other",
        "far from its limit, creates of an app do not wait for each other.",
        breaks="All connections change the same slot of an app's total.",
        by=Mutation(
            "_slot_of",
            'return driver.thread_id() % SLOTS if hasattr(driver, "thread_id") else 0',
            'return 0 if hasattr(driver, "thread_id") else 0',
        ),
        red="tests/store/test_app_totals.py::test_far_from_the_limit_creates_of_an_app_do_not_wait_for_each_other",
    ),
    Promise(
        "many-limited-apps-are-pulled-in-one-trip",
        "lanes of many limited apps are pulled in one trip, so that each app gets its rate.",
        breaks="They are pulled one by one.",
        by=Mutation("LANES_A_TRIP", "LANES_A_TRIP = 100", "LANES_A_TRIP = 1"),
        red=(
            "tests/stages/test_puller.py::test_lanes_whose_rate_leaves_calls_share_the_trips_of_one_pass",
            "tests/stages/test_limited_apps.py::test_what_several_limited_apps_pull_together_is_read_once_for_all",
        ),
    ),
    Promise(
        "memory-is-bounded-by-bytes",
        "a callback process stays small however large the bodies of what it holds.",
        breaks="There is always room for further requests.",
        by=Mutation(
            "Room._has_room_for_a_part",
            "return held == 0 or held + PART_BYTES <= most",
            "return held == 0 or most > 0",
        ),
        red=(
            "tests/stages/test_room.py::test_of_more_than_there_is_room_for_all_is_called_on_its_first_attempt",
            "tests/stages/test_room.py::test_a_backlog_leaves_half_of_the_room_to_what_is_on_time",
        ),
    ),
    Promise(
        "replays-of-an-hour-are-bounded",
        "an app replays and backfills no more firings an hour than it may.",
        breaks="What is left of the hour is granted again and again.",
        by=Mutation(
            "ReplayQuota.give_back",
            "self.quotas.give_back(granted.app, granted.taken, granted.number - used)",
            "self.quotas.give_back(granted.app, granted.taken, granted.number)",
        ),
        red="tests/api/test_limits_at_the_api.py::test_replays_and_backfills_of_an_hour_are_bounded_and_what_is_left_is_told[sqlite]",
    ),
    Promise(
        "requests-go-on-without-redis",
        "while Redis is away requests are not counted, and none is refused or held up for it.",
        breaks="What cannot be counted is refused.",
        by=Mutation(
            "Quotas.take",
            """
            log.warning("quota_not_counted", quota=quota.name, app=app, error=str(error))
            return None
            """,
            """
            log.warning("quota_not_counted", quota=quota.name, app=app, error=str(error))
            raise
            """,
        ),
        red=(
            "tests/store/test_quotas.py::test_while_redis_is_away_nothing_is_counted_and_not_each_request_waits_for_it",
            "tests/api/test_limits_at_the_api.py::test_while_redis_is_away_requests_go_on_uncounted[sqlite]",
        ),
    ),
    Promise(
        "requests-of-an-app-are-bounded",
        "all API processes together let an app send no more requests than it may.",
        breaks="Each process counts for itself.",
        by=Mutation(
            "Quotas.take",
            'key = f"{quota.name}:{number}:{app}"',
            'key = f"{quota.name}:{number}:{app}:{id(self)}"',
        ),
        red="tests/store/test_quotas.py::test_several_processes_share_one_quota[redis]",
    ),
    Promise(
        "two-exceeded-limits-do-not-block-each-other",
        "where a host and an app are both far over their limits, both get what their limits leave.",
        breaks="A permit that comes back unused is used by another only when the rate leaves the next call.",
        by=Mutation(
            "Waits.move",
            """
            if isinstance(stood_in, SharedLane) and stood_in.is_of_limit and lane.is_of_limit:
                self._puller.note_unused(stood_in)
            """,
            "",
        ),
        red="tests/stages/test_limited_hosts.py::test_where_host_and_app_are_both_far_over_their_limits_both_limits_hold_and_few_moves_are_made",
    ),
    Promise(
        "what-is-filled-in-stays-small",
        "no more than 100 placeholders of a call are filled in, wherever they come from.",
        breaks="As many as there are.",
        by=Mutation(
            "filled",
            "if sum(text.count(_BEGINS) for text in texts) > MOST_PLACEHOLDERS:",
            "if sum(text.count(_BEGINS) for text in texts) > 9 * MOST_PLACEHOLDERS:",
        ),
        red="tests/core/test_templates.py::test_more_than_so_many_are_not_filled_in_wherever_they_come_from",
    ),
    Promise(
        "who-is-refused-keeps-no-permit",
        "a call that one limit refuses keeps no permit of another.",
        breaks="It keeps what it has got by then.",
        by=Mutation("Throttle._refuse", "self.give_back(asking.permits, is_unused=True)", ""),
        red="tests/stages/test_several_limits.py::test_who_is_refused_waits_for_what_refused_it_and_gives_back_what_it_had",
    ),
    Promise(
        "who-waits-for-a-limit-is-not-overtaken",
        "what waits for its app's limit is not overtaken by what comes due later.",
        breaks="New firings get permits while others wait.",
        by=Mutation(
            "permits.lua",
            "if (first and tonumber(first) <= now) or redis.call('EXISTS', rest) == 1 then fresh = 0 end",
            "",
        ),
        red=(
            "tests/store/test_permits.py::test_who_has_not_waited_does_not_overtake_who_waits[redis]",
            "tests/store/test_permits.py::test_who_waits_in_sql_alone_is_not_overtaken[redis]",
        ),
    ),
)
