"""Celery's settings, with the reasons. Used by `celery -A wangtimer ...` here and from an installed package.

The broker is a hint: no acknowledgement mode on Redis is lossless, so leases, locks and SQL re-issue whatever a
message lost, and claims drop whatever came twice. That is why every choice below is the fast or the simple one.
"""

from datetime import timedelta

from kombu import Exchange, Queue

from wangtimer.core.errors import BadSetting
from wangtimer.core.flow.queues import message_queue
from wangtimer.settings import FEED_EVERY_S, JUDGE_ALERTS_EVERY_S, RECONCILE_EVERY_S, read_settings

try:
    _settings = read_settings()
except BadSetting as wrong:
    raise SystemExit(f"wangtimer: {wrong}") from None

broker_url = _settings.broker_url
imports = ("wangtimer.tasks",)

# Messages: JSON only, small and plain. Nobody reads results.
task_serializer = "json"
accept_content = ["json"]
task_ignore_result = True
task_store_errors_even_if_ignored = False
result_backend = None
# There is none to share, and each thread would look for its own among all installed packages: 20 ms of its first send.
result_backend_thread_safe = True

# Queues: a typo is an error, not a new queue nobody reads. Read without acknowledgement: a worker that dies costs its
# chunks one armed lease (8 s) with it or without; what kombu keeps on Redis for it would come back after an hour, and
# costs as much as the rest of a message.
_exchange = Exchange("wangtimer", type="direct")
task_queues = [
    Queue(name, _exchange, routing_key=name, no_ack=True)
    for name in (
        "schedule",
        "migrate",
        "trigger",
        "callback",
        *map(message_queue, _settings.own_queues.names),
    )
]
task_default_queue = "migrate"
task_default_exchange = "wangtimer"
task_default_routing_key = "migrate"
task_create_missing_queues = False
task_routes = {
    "wangtimer.schedule": {"queue": "schedule"},
    "wangtimer.migrate": {"queue": "migrate"},
    "wangtimer.sweep": {"queue": "migrate"},
    "wangtimer.judge_alerts": {"queue": "migrate"},
    "wangtimer.reconcile": {"queue": "migrate"},
    "wangtimer.feed": {"queue": "migrate"},
    "wangtimer.purge": {"queue": "migrate"},
    "wangtimer.feed_lanes": {"queue": "migrate"},
    "wangtimer.follow": {"queue": "migrate"},
    "wangtimer.stop_gone": {"queue": "migrate"},
    "wangtimer.apply_controls": {"queue": "migrate"},
    "wangtimer.trigger": {"queue": "trigger"},
    "wangtimer.callback": {"queue": "callback"},
}

task_acks_late = False
task_reject_on_worker_lost = False
# One message a free thread: a worker must not hoard slices while another idles.
worker_prefetch_multiplier = 1
worker_disable_prefetch = True

# A broker that is away: try for ever with a bounded pause; a half-open connection is noticed in seconds (on the
# defaults one hung a worker for over 80 s). `retry_on_timeout` stays off: it disables pipelined publishing.
worker_consumer = "wangtimer.worker:PatientConsumer"
broker_connection_retry_on_startup = True
broker_connection_max_retries = None
broker_channel_error_retry = True
broker_connection_timeout = 3
broker_pool_limit = 70
broker_transport_options = {
    "priority_steps": [0],
    "socket_timeout": 5,
    "socket_connect_timeout": 3,
    "socket_keepalive": True,
    "health_check_interval": 5,
    # Nothing is ever held un-acknowledged: kombu need not look for it.
    "unacked_restore_interval": 3600,
}

worker_cancel_long_running_tasks_on_connection_loss = False
worker_hijack_root_logger = False
# Flower counts tasks by their events. A message carries up to 1,000 firings, so they are few.
worker_send_task_events = True
task_send_sent_event = False
enable_utc = True
timezone = "UTC"

# Beat: ticks compute from the clock and from stored marks, so one that is lost, late or doubled harms nothing.
# `relative` puts them 2 to 3 ms after each full second. Celery compares the two nodes' wall clocks for `expires`: with
# a short one, a worker whose clock is off would drop every tick. So it is long, and ticks that queued up while workers
# were away are one tick to the task.
_EXPIRES_S = 86_400
beat_scheduler = "celery.beat:Scheduler"
beat_max_loop_interval = 1
beat_schedule = {
    "schedule": {
        "task": "wangtimer.schedule",
        "schedule": timedelta(seconds=1),
        "relative": True,
        "options": {"expires": _EXPIRES_S, "queue": "schedule"},
    },
    "migrate": {
        "task": "wangtimer.migrate",
        "schedule": timedelta(seconds=_settings.plan_every_s),
        "relative": True,
        "options": {"expires": _EXPIRES_S, "queue": "migrate"},
    },
    "sweep": {
        "task": "wangtimer.sweep",
        "schedule": timedelta(seconds=_settings.sweep_every_s),
        "relative": True,
        "options": {"expires": _EXPIRES_S, "queue": "migrate"},
    },
    "judge_alerts": {
        "task": "wangtimer.judge_alerts",
        "schedule": timedelta(seconds=JUDGE_ALERTS_EVERY_S),
        "relative": True,
        "options": {"expires": _EXPIRES_S, "queue": "migrate"},
    },
    "feed": {
        "task": "wangtimer.feed",
        "schedule": timedelta(seconds=FEED_EVERY_S),
        "relative": True,
        "options": {"expires": _EXPIRES_S, "queue": "migrate"},
    },
    "reconcile": {
        "task": "wangtimer.reconcile",
        "schedule": timedelta(seconds=RECONCILE_EVERY_S),
        "relative": True,
        "options": {"expires": _EXPIRES_S, "queue": "migrate"},
    },
    "purge": {
        "task": "wangtimer.purge",
        "schedule": timedelta(seconds=60),
        "relative": True,
        "options": {"expires": _EXPIRES_S, "queue": "migrate"},
    },
}
