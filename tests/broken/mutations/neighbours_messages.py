"""Bad neighbours: messages to brokers, and consumers that take firings."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "Bad neighbours"
PROMISES = (
    Promise(
        "a-closed-channel-is-not-published-on",
        "what is sent to a missing exchange again at once costs no message to another.",
        breaks="A channel that the broker has closed is published on.",
        by=Mutation("AmqpLink._publishing", "if held.channel.why_closed:", "if False:"),
        red="tests/messaging/test_bad_messages.py::test_what_is_published_behind_a_channel_s_end_costs_no_message_of_another_app",
    ),
    Promise(
        "a-header-names-no-other-task",
        "an app runs the Celery tasks that its operator allows, whatever headers it gives.",
        breaks="The headers of a timer take the place of the task's.",
        by=Mutation("celery_parts", "headers = owners | made.headers", "headers = made.headers | owners"),
        red="tests/messaging/test_bad_messages.py::test_what_celery_reads_among_the_headers_is_ours",
    ),
    Promise(
        "a-hung-worker-keeps-no-window",
        "a worker of a consumer that hangs keeps only the firing that it has begun",
        breaks="What waits for a worker is prolonged too",
        by=Mutation(
            "Consumer._take",
            "self._held.add((call.id, call.attempt))",
            """
            self._held.add((call.id, call.attempt))
            self._under_way[call.id, call.attempt] = (call, lasts_s / HEARTBEAT_SHARE, time.monotonic())
            """,
        ),
        red="tests/stream/test_consumer.py::test_only_what_a_worker_has_begun_is_prolonged_and_what_waited_too_long_is_left_to_others",
    ),
    Promise(
        "a-missing-exchange-costs-its-own-messages",
        "an exchange that is missing costs no message to another.",
        breaks="All exchanges share a channel.",
        by=Mutation(
            "AmqpLink._publishing",
            "held = self._by_way.get(way)",
            """
            way = ("", "")
            held = self._by_way.get(way)
            """,
        ),
        red="tests/messaging/test_rabbitmq.py::test_a_missing_exchange_costs_no_other_message",
    ),
    Promise(
        "an-app-fills-a-quarter-of-what-waits-for-consumers",
        "what waits for one app's consumers leaves room for others.",
        breaks="An app may fill all of it.",
        by=Mutation("consumers_put.lua", "if not room(app, ARGV[7]) then return 'app' end", ""),
        red="tests/messaging/test_consumers.py::test_an_app_has_a_quarter_of_the_bytes_whatever_its_groups",
    ),
    Promise(
        "one-bad-message-costs-no-other",
        "a message that cannot be written for its broker costs no message of others.",
        breaks="It is written as it is sent, on the connection of all.",
        by=Mutation("_written", "if len(name.encode()) > _NAME_BYTES:", "if len(name) > 4 * _NAME_BYTES:"),
        red="tests/messaging/test_bad_messages.py::test_a_message_that_cannot_be_written_costs_no_other[0-routing key]",
    ),
    Promise(
        "who-reconnects-takes-no-turn",
        "a consumer that connects again and again takes no firings from one that stays",
        breaks="Who has left keeps its turn",
        by=Mutation("ConnectedGroup.remove", "self._ready.pop(id(consumer), None)", ""),
        red="tests/stream/test_bad_neighbours.py::test_who_reconnects_again_and_again_takes_no_turn_from_who_stays",
    ),
)
