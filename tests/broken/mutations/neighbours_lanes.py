"""Bad neighbours: lanes, and queues of apps that have processes of their own."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "Bad neighbours"
PROMISES = (
    Promise(
        "a-bad-lane-holds-up-no-other",
        "a lane to which nothing can be moved holds up no other.",
        breaks="What comes together is put back together.",
        by=Mutation("Mover._move_guarded", "if len(by_lane) <= 1:", "if by_lane:"),
        red="tests/stages/test_mover.py::test_a_lane_that_fails_in_an_unforeseen_way_holds_up_no_other_and_keeps_no_place",
    ),
    Promise(
        "a-dead-queue-holds-no-trigger",
        "an own queue that nobody takes makes no other app wait.",
        breaks="A trigger stays with a slice that nobody takes, minute after minute.",
        by=Mutation(
            "Trigger._watch",
            """
            if not self.takers.is_served(watch.slice.queue):
                self._leave(watch)
                return
            """,
            "",
        ),
        red="tests/stages/test_own_queues.py::test_a_queue_that_nobody_takes_holds_no_thread_of_a_trigger",
    ),
    Promise(
        "a-hung-sql-fills-no-process-with-what-moves",
        "while SQL hangs, what is to move to lanes takes no room of a process from others.",
        breaks="It is held until SQL answers.",
        by=Mutation(
            "Mover.relieve",
            """
            if self._sql_rest.lasts(self._clock):
                self.move_all()
            """,
            "assert self._sql_rest",
        ),
        red=(
            "tests/stages/test_mover.py::test_what_is_to_move_is_put_back_while_the_movers_thread_waits_for_sql",
            "tests/stages/test_hung_sql.py::test_while_sql_hangs_what_is_to_wait_in_lanes_takes_no_room_from_others",
        ),
    ),
    Promise(
        "a-lane-is-pulled-by-its-queue-s-processes",
        "what waits in a lane is called by the processes of its queue alone.",
        breaks="Every callback process pulls from every lane.",
        by=Mutation(
            "LaneReader.index",
            "return {lane: token for lane, token in self._lanes.index().items() if self._is_mine(lane)}",
            "return dict(self._lanes.index())",
        ),
        red="tests/stages/test_own_queues.py::test_two_apps_at_one_host_wait_in_their_own_lanes_which_their_queues_processes_pull",
    ),
    Promise(
        "a-lane-keeps-its-order-while-sql-is-away",
        "while SQL is away a lane keeps its order.",
        breaks="What was put off counts as not wanted, so that all of the lane is put off.",
        by=Mutation(
            "Puller._go_on",
            "if sent_here + fired.waiting + fired.put_off < taken:",
            "if sent_here + fired.waiting < taken:",
        ),
        red="tests/stages/test_dead_lanes.py::test_while_sql_does_not_say_who_is_wanted_a_lane_keeps_its_order",
    ),
    Promise(
        "a-lane-nearly-empty-is-fed-at-once",
        "while others' lanes take all that lanes may hold, a target that answers again gets what waits in SQL each"
        " second.",
        breaks="Only the sweep feeds its lane.",
        by=Mutation(
            "Puller._pull_with",
            """
            if any(found.is_to_be_fed for _, found in pulled):
                self._send_feed_lanes()
            """,
            "",
        ),
        red="tests/stages/test_lane_feeder.py::test_targets_that_hang_on_leave_a_target_that_answers_again_its_rate",
    ),
    Promise(
        "a-lanes-rest-comes-in-its-order",
        "what has just come due does not overtake what waits in SQL for a full lane.",
        breaks="It takes whatever room there is.",
        by=Mutation(
            "lane_add.lua",
            "if room <= 0 or (since and moment >= since and not feeds) then",
            "if room <= 0 then",
        ),
        red="tests/store/test_full_lanes.py::test_what_is_due_behind_the_rest_does_not_overtake_it[redis]",
    ),
    Promise(
        "a-look-at-many-lanes-starves-none",
        "a look at many lanes starves no lane whose target has room.",
        breaks="It waits behind all lanes of its app that are looked at.",
        by=Mutation(
            "Puller.pull_next",
            "self._turns.add(lane, is_freed=True)",
            "self._turns.add(lane, is_freed=False)",
        ),
        red="tests/stages/test_puller.py::test_a_look_that_takes_longer_than_from_one_to_the_next_starves_no_lane_that_has_room",
    ),
    Promise(
        "a-look-takes-few-trips",
        "thousands of lanes are looked at, and struck out, in few trips to Redis.",
        breaks="Each lane takes a trip of its own.",
        by=Mutation("Puller._take_turns", "for _ in range(LANES_A_TRIP):", "for _ in range(1):"),
        red="tests/stages/test_puller.py::test_thousands_of_lanes_are_looked_at_and_struck_out_in_few_trips",
    ),
    Promise(
        "a-queue-s-backlog-leaves-others-their-triggers",
        "the backlog of one own queue takes no trigger from the pasts of others.",
        breaks="All queues share the triggers of what is past.",
        by=Mutation(
            "within_quota",
            """
                taken[slice_.queue] += 1
            if not is_past or taken[slice_.queue] <= most:
            """,
            """
                taken[0] += 1
            if not is_past or taken[0] <= most:
            """,
        ),
        red="tests/core/test_past_quota.py::test_a_backlog_of_one_queue_leaves_the_pasts_of_others_their_triggers",
    ),
    Promise(
        "a-retry-leaves-its-lane",
        "a retry asks for room by its own moment, as any other firing.",
        breaks="A failed attempt leaves its lane on the row.",
        by=Mutation(
            "_settled_columns",
            """
            "lane": case(
                (new["status"] == _word(FiringStatus.PENDING), literal_column("''")), else_=firings.c.lane
            ),
            """,
            "",
        ),
        red="tests/store/test_noted_lanes.py::test_a_retry_leaves_the_lane[sqlite]",
    ),
    Promise(
        "an-own-queue-s-processes-alone-call-for-its-app",
        "with a queue of its own only callback processes of its queue call for an app, and they call for no other.",
        breaks="Planning puts the firings of every app into buckets of the common queue.",
        by=Mutation(
            "firings_of",
            "Firing.planned(timer_id, moment, firsts[timer_id] + ordinal % buckets, numbered.get(timer_id))",
            "Firing.planned(timer_id, moment, ordinal % buckets, numbered.get(timer_id))",
        ),
        red="tests/stages/test_own_queues.py::test_only_the_processes_of_its_queue_call_for_an_app_and_they_call_for_no_other",
    ),
    Promise(
        "lanes-pulled-together-share-the-room",
        "lanes that are pulled together share the room of the process, and that of their app.",
        breaks="Each may take all of it.",
        by=Mutation(
            "Puller._take_turns",
            "if wishes and (held > MOST_A_PULL or any(left[sharer] < wish for sharer in shared)):",
            "if wishes and held > MOST_A_PULL:",
        ),
        red=(
            "tests/stages/test_puller.py::test_lanes_that_are_pulled_together_share_the_room_of_the_process",
            "tests/stages/test_puller.py::test_lanes_that_are_pulled_together_share_the_room_of_their_app",
        ),
    ),
    Promise(
        "lanes-stay-within-their-budget",
        "what waits for one that hangs takes no more of Redis than lanes may.",
        breaks="A lane holds whatever waits.",
        by=Mutation(
            "LaneBudget.most_of",
            "return max(self._least, (self._firings - others) // 2)",
            "return max(self._least, 10**9 - others)",
        ),
        red=(
            "tests/stages/test_lane_feeder.py::test_redis_holds_no_more_than_it_may_of_what_waits",
            "tests/store/test_lane_budget.py::test_all_together_hold_no_more_than_all",
        ),
    ),
    Promise(
        "thousands-of-lanes-of-an-app-keep-no-other-waiting",
        "however many hosts of an app fail, another app's lane is pulled within about a second once it has room.",
        breaks="The lanes of all apps stand in one line.",
        by=Mutation(
            "LaneTurns.add",
            "self._lines.setdefault((lane.app, is_freed), OrderedDict())[lane] = None",
            "self._lines.setdefault((None, is_freed), OrderedDict())[lane] = None",
        ),
        red="tests/stages/test_puller.py::test_an_app_with_thousands_of_failing_hosts_keeps_no_other_apps_host_waiting",
    ),
    Promise(
        "what-takes-long-shares-few-trips",
        "where each lane takes long, as in a process short of CPU, few share a trip, so that no app waits for long.",
        breaks="A hundred share it, however long it takes.",
        by=Mutation("Puller._take_turns", "if sending > self._most_sending and wish > 0:", "if False:"),
        red="tests/stages/test_puller.py::test_where_each_lane_takes_long_few_share_a_trip_so_that_nobody_waits_for_long",
    ),
    Promise(
        "what-nobody-wants-holds-up-no-lane",
        "firings of a lane that nobody wants any more do not hold up the living behind them.",
        breaks="A lane whose first were skipped is pulled again only at the next look.",
        by=Mutation(
            "Puller._go_on",
            """
            self._pull_soon(lane)
            if not sent_here:
                self._most[lane] = 2 * taken
            """,
            "self.known[lane] = self.known[lane]",
        ),
        red="tests/stages/test_dead_lanes.py::test_one_that_lives_is_called_within_seconds_behind_ten_thousand_that_are_not_wanted",
    ),
    Promise(
        "who-moved-away-waits-behind-nobody",
        "what waits for a target that hangs is called within seconds once its timer's URL leads elsewhere.",
        breaks="A call to another target counts as one of the lane's.",
        by=Mutation(
            "Puller._go_on", "sent_here = fired.sent - fired.to_other_host", "sent_here = fired.sent"
        ),
        red="tests/stages/test_dead_lanes.py::test_what_waits_for_a_host_that_hangs_is_called_within_seconds_once_its_url_leads_elsewhere",
    ),
)
