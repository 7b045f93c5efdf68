"""Celery's settings, with the reasons. Used by `celery -A wangtimer ...` here and from an installed package.

The broker is a hint: no acknowledgement mode on Redis is lossless, so leases, locks and SQL re-issue whatever a
message lost, and claims drop whatever came twice. That is why every choice below is the fast or the simple one.
"""

from kombu import Exchange, Queue

from wangtimer.base.settings import read_settings
from wangtimer.core.errors import BadSetting
from wangtimer.core.flow.queues import message_queue

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
# What beat sends, and the queues of all tasks: each task says its own (wangtimer/tasks.py).
beat_schedule: dict[str, dict[str, object]] = {}
task_routes: dict[str, dict[str, str]] = {}

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

beat_scheduler = "wangtimer.beat:PunctualScheduler"
beat_max_loop_interval = 1
