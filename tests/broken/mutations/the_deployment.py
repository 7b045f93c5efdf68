"""The deployment: rights of processes, networks and the image."""

from tests.broken.mutation import Mutation
from tests.broken.promises import Promise

SECTION = "The deployment"
PROMISES = (
    Promise(
        "a-container-is-sealed",
        "a container can write to nothing but its volume, and gain no right.",
        breaks="The containers of processes and servers keep their capabilities.",
        by=Mutation("docker-compose.yml", "cap_drop: [ALL]", ""),
        red="tests/stack/test_deployment.py::test_a_container_can_write_to_nothing_but_its_volume_and_gain_no_right",
    ),
    Promise(
        "a-dead-beat-is-told",
        "where no beat or no scheduler runs, `/readyz` tells it within ten seconds.",
        breaks="A tick counts however long ago it came.",
        by=Mutation(
            "HealthViews._health_of_ticks",
            "if not health.ok or answer.result() <= MOST_S:",
            "if not health.ok or answer.result() <= 3_600:",
        ),
        red="tests/api/test_health.py::test_a_process_without_ticks_is_ready_and_says_that_nothing_is_fired",
    ),
    Promise(
        "a-dump-that-is-cut-off-is-refused",
        "a restore refuses a dump that is cut off, and a database that has timers.",
        breaks="A dump of MariaDB or MySQL is loaded whatever its end.",
        by=Mutation("_require_whole", "elif _END not in end:", "elif _END not in end and not end:"),
        red="tests/cli/test_backup_commands.py::test_a_dump_that_is_cut_off_is_refused_before_anything_is_made",
    ),
    Promise(
        "a-process-changes-rows-only",
        "a process can change rows of its database, and no table.",
        breaks="The account of the processes has all rights on the database.",
        by=Mutation(
            "accounts.sql",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON wangtimer.* TO wangtimer@'%';",
            "GRANT ALL ON wangtimer.* TO wangtimer@'%';",
        ),
        red="tests/stack/test_accounts.py::test_rows_are_all_that_a_process_can_change_in_sql",
    ),
    Promise(
        "a-process-writes-to-its-queues-only",
        "a process sends only to the queues it must, and takes only from its own.",
        breaks="Flower may write to the queue of callbacks.",
        by=Mutation(
            "broker.acl",
            "user flower on #{flower} resetchannels -@all +auth +hello +ping +select +multi +exec +discard +lpush +llen +exists +sadd +smembers ~_kombu.binding* %R~schedule %R~migrate %R~trigger %R~callback %R~callback.* ~*.reply.celery.pidbox ~unacked* &/0.celery.pidbox +publish +brpop +del +srem +zadd +zrem +zrange +zrangebyscore +time +get +set +eval +evalsha +script|load +script|exists ~celeryev.* +psubscribe +punsubscribe &/0.celeryev/*",
            "user flower on #{flower} resetchannels -@all +auth +hello +ping +select +multi +exec +discard +lpush +llen +exists +sadd +smembers ~_kombu.binding* %R~schedule %R~migrate %R~trigger ~callback %R~callback.* ~*.reply.celery.pidbox ~unacked* &/0.celery.pidbox +publish +brpop +del +srem +zadd +zrem +zrange +zrangebyscore +time +get +set +eval +evalsha +script|load +script|exists ~celeryev.* +psubscribe +punsubscribe &/0.celeryev/*",
        ),
        red="tests/stack/test_accounts.py::test_a_process_sends_only_to_the_queues_it_must_and_takes_only_from_its_own",
    ),
    Promise(
        "a-queue-that-nobody-takes-is-seen",
        "an own queue of an app that no callback process takes is told.",
        breaks="A queue counts as taken however long ago a process was there.",
        by=Mutation(
            "AppQueues.unserved",
            "return [name for name in self.own_queues.names if name in wanted and seen.get(name, 0) <= since]",
            "return [name for name in self.own_queues.names if name in wanted and name not in seen]",
        ),
        red="tests/store/test_app_queues.py::test_a_queue_is_served_while_a_process_says_so",
    ),
    Promise(
        "an-app-sends-where-an-operator-allowed-it",
        "an app sends messages only where an operator allowed it to.",
        breaks="Every place is allowed.",
        by=Mutation("MessageEngine._why_not", "why_not = self._broker.why_not(*asked)", 'why_not = ""'),
        red="tests/messaging/test_rabbitmq.py::test_what_the_operator_has_not_allowed_is_never_sent",
    ),
    Promise(
        "a-limit-hides-no-alert-rule",
        "what is written of one kind that operators and apps set takes no other kind away.",
        breaks="All that operators and apps set stands in one key.",
        by=Mutation(
            "Keys.replica",
            'return f"{self._prefix}:{name}"',
            'return f"{self._prefix}:limits"',
        ),
        red="tests/store/test_replica.py::test_what_is_written_of_one_kind_takes_no_other_away[redis]",
    ),
    Promise(
        "nobody-commands-a-worker",
        "who reaches the broker or Flower can ask a worker, and neither stop nor change it.",
        breaks="Workers obey all remote commands of Celery.",
        by=Mutation("PatientConsumer.__init__", "forget_acting(Panel.data, Panel.meta)", "forget_acting()"),
        red="tests/test_worker.py::test_who_reaches_the_broker_may_ask_a_worker_but_not_stop_or_change_it",
    ),
    Promise(
        "servers-are-reached-by-their-processes-only",
        "MySQL and Redis are on networks that lead nowhere else; only callbacks reach the world.",
        breaks="A target on the network of callbacks finds the store there.",
        by=Mutation(
            "docker-compose.yml",
            """
            <<: *redis
            networks: [data]
            """,
            """
            <<: *redis
            networks: [data, egress]
            """,
        ),
        red="tests/stack/test_deployment.py::test_a_server_shares_a_network_only_with_who_needs_it_and_only_callbacks_reach_the_world",
    ),
    Promise(
        "the-image-has-what-is-locked",
        "the image installs only files whose hashes are written down.",
        breaks="It takes the newest version of each package.",
        by=Mutation(
            "Dockerfile",
            "&& /opt/build/bin/pip wheel --no-cache-dir --no-build-isolation --require-hashes -r requirements.lock -w /wheels",
            "&& /opt/build/bin/pip wheel --no-cache-dir --no-build-isolation -r requirements.lock -w /wheels",
        ),
        red="tests/test_lock.py::test_the_image_fetches_nothing_but_what_is_locked",
    ),
)
