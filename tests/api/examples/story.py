"""One day of a shop: each operation of the API once, in an order in which each has something to answer."""

import json
from datetime import UTC, datetime

from tests.api.examples.recorder import Recorder
from tests.api.world import World
from tests.certificates import self_signed
from wangtimer.core.flow.dead_letter import Failure
from wangtimer.core.flow.disabled_hosts import DisabledHost
from wangtimer.core.flow.firing import FiringStatus, Member
from wangtimer.core.flow.outcome import Outcome
from wangtimer.core.messages.named_broker import read_brokers
from wangtimer.features.alerts.alert_trial import AlertTrial
from wangtimer.store.redis.failing_hosts import FailingHost

EXPIRE = {"url": "http://localhost:8080/expire", "json": {"order": 42}}
NIGHTLY = {
    "schedule": {"cron": "0 2 * * *", "timezone": "Asia/Shanghai"},
    "target": {
        "url": "http://localhost:8080/nightly",
        "headers": {"Authorization": "Bearer x"},
        "json": {"day": "today"},
    },
    "tags": ["billing"],
}
# The example of the specification, and another.
SECRETS = ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD")
BROKERS = """
[[broker]]
name = "hot"
url = "redis://redis.example:6379/0"
[[broker.allow]]
app = "shop"
streams = ["shop:*"]
lists = ["shop:*"]

[[broker]]
name = "orders"
url = "amqps://rabbit.example:5671/shop"
[[broker.allow]]
app = "shop"
exchanges = ["shop.*"]
routing_keys = ["order.*"]
celery_queues = ["shop.tasks"]
celery_tasks = ["shop.tasks.*"]
"""
OLD_CALL = {"url": "http://localhost:8080/expire", "method": "POST", "body": "{}"}
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def tell(recorder: Recorder) -> None:
    """Call every operation once."""
    world = recorder.world
    _timers(recorder, world)
    timer_id = _firings(recorder, world)
    _many(recorder)
    _calendars(recorder)
    _targets(recorder)
    _brokers(recorder, world)
    _signing(recorder)
    _long_work(recorder, world, timer_id)
    _certificate(recorder, world)
    recorder.shows("v1GetLoad", minutes=30)
    recorder.shows("v1GetLoadOfAllApps", minutes=30)
    _failing_hosts(recorder, world)
    _alert_rules(recorder, world)
    _apps(recorder)
    recorder.shows("v1DeleteTimer", which="key:order-42", If_Match='"4"')
    _compatible(recorder, world)


def _brokers(recorder: Recorder, world: World) -> None:
    brokers = {"named_brokers": read_brokers(BROKERS)}
    before = {name: getattr(world.wiring.settings, name) for name in brokers}
    vars(world.wiring.settings).update(brokers)
    recorder.shows("v1GetBrokers")
    vars(world.wiring.settings).update(before)


def _failing_hosts(recorder: Recorder, world: World) -> None:
    now = world.clock.now
    world.wiring.failing_hosts.tell(
        [FailingHost("shop", "http://localhost:8080", now - 95_000, now - 2_000, "HTTP 503", now)]
    )
    origin, since, ago = "https://away.example:443", now - 6 * DAY_MS, now - DAY_MS
    disabled = DisabledHost("shop", origin, since, ago, ago, "HTTP 503")
    world.wiring.disabled_hosts.disable([disabled], DAY_MS)
    recorder.shows("v1GetFailingHosts")
    recorder.shows("v1GetFailingHostsOfAllApps")
    recorder.shows("v1EnableHost", {"host": "https://away.example:443"})


class AnsweringClock:
    """Stands in for the callback process that sends a test message while the API waits for its answer."""

    def __init__(self, world: World) -> None:
        self._world = world

    def now_ms(self) -> float:
        return self._world.clock.now_ms()

    def monotonic(self) -> float:
        return 0.0

    def sleep(self, _seconds: float) -> None:
        messages, now = self._world.wiring.alert_messages, int(self.now_ms())
        (one,) = messages.take(1, now, now + 60_000)
        taken = {"is_taken": True, "http_status": 200, "answer": '{"errcode":0,"errmsg":"ok"}', "error": ""}
        messages.answer(one, json.dumps(taken))


def _alert_rules(recorder: Recorder, world: World) -> None:
    robot = "https://oapi.dingtalk.com/robot/send?access_token=0f1e2d"
    rule = {
        "events": ["first_failure", "failed_for_good", "recovered"],
        "failuresInARow": 5,
        "lateBy": "30s",
        "repeatAfter": "1h",
        "destination": {"kind": "dingtalk", "url": robot, "secret": "SEC0f1e2d"},
    }
    vars(world.wiring)["alert_trial"] = AlertTrial(world.wiring.alert_messages, AnsweringClock(world))
    recorder.shows("v1PutAlertRule", rule, name="on-call")
    recorder.shows("v1PutAlertRule", rule | {"keyPrefix": "billing-"}, name="on-call")
    recorder.shows("v1ListAlertRules", limit=20)
    recorder.shows("v1TestAlertRule", name="on-call")
    recorder.shows("v1DeleteAlertRule", name="on-call")


def _timers(recorder: Recorder, world: World) -> None:
    shows = recorder.shows
    order = {"key": "order-42", "schedule": {"delay": "30m"}, "target": EXPIRE, "tags": ["orders"]}
    shows("v1CreateTimer", order, Idempotency_Key="order-42-expires")
    shows("v1CreateTimer", order, Idempotency_Key="order-42-expires")
    shows("v1PutTimer", NIGHTLY, which="key:nightly")
    shows("v1PutTimer", NIGHTLY | {"tags": ["billing", "night"]}, which="key:nightly")
    shows("v1GetTimer", which="key:order-42")
    patch = {"schedule": {"delay": "1h"}, "target": {"headers": {"X-Tag": "late"}}}
    shows("v1PatchTimer", patch, which="key:order-42", If_Match='"1"')
    shows("v1DisableTimer", which="key:order-42", If_Match='"2"')
    shows("v1EnableTimer", which="key:order-42", If_Match='"3"')
    shows("v1ListTimers", tag="billing", status="enabled", sort="key", limit=20)
    schedule = {"cron": "30 2 * * *", "timezone": "America/New_York"}
    shows("v1PreviewSchedule", {"schedule": schedule, "count": 3})


def _firings(recorder: Recorder, world: World) -> int:
    """Return the id of the timer whose firings they are."""
    shows = recorder.shows
    often = NIGHTLY | {"schedule": {"cron": "*/10 * * * * *", "timezone": "Asia/Shanghai"}}
    timer_id = shows("v1PutTimer", often, which="key:nightly", is_shown=False)["id"]
    world.clock.now += 30_000
    answered = [_settle_oldest(world, timer_id) for _ in range(2)]
    failed = f"{timer_id}-{answered[0]}"
    shows(
        "v1ListFirings",
        timer="key:nightly",
        status="failed",
        since=_text(world.clock.now - HOUR_MS),
        limit=20,
    )
    shows("v1CountFirings", timer="key:nightly", since=_text(world.clock.now - HOUR_MS))
    hour = {"timer": "key:nightly", "status": "failed", "since": _text(world.clock.now - HOUR_MS)}
    shows("v1ExportFirings", **hour, format="csv")
    shows("v1ExportFirings", **hour)
    shows("v1GetFiring", firing_id=failed)
    since = {"since": _text(world.clock.now - HOUR_MS)}
    shows("v1ListDeadLetters", timer="key:nightly", reason="http_503", **since)
    shows("v1CountDeadLetters", **since)
    shows("v1ReplayDeadLetters", since | {"reason": "http_503", "perSecond": 20, "dryRun": True})
    shows("v1DiscardDeadLetters", since | {"reason": "http_404"})
    shows("v1ReplayFiring", firing_id=failed)
    shows(
        "v1ReplayFirings", {"since": _text(world.clock.now - HOUR_MS), "timer": "key:nightly", "dryRun": True}
    )
    coming = world.clock.now // 60_000 * 60_000 + 5 * 60_000
    shows("v1CancelFiring", firing_id=f"{timer_id}-{coming}")
    shows("v1FireTimer", which="key:order-42")
    past = {
        "since": _text(world.clock.now - 2 * HOUR_MS),
        "until": _text(world.clock.now - HOUR_MS),
        "dryRun": True,
    }
    shows("v1BackfillTimer", past, which="key:nightly")
    return int(timer_id)


def _long_work(recorder: Recorder, world: World, timer_id: int) -> None:
    """Let a target accept two firings, and say what becomes of them."""
    first, second = (_accept_oldest(world, timer_id) for _ in range(2))
    tokens = {one: {"token": world.wiring.ack_tokens.token(one)} for one in (first, second)}
    recorder.shows("v1HeartbeatFiring", tokens[first], firing_id=first.firing_id)
    recorder.shows("v1AckFiring", tokens[first], firing_id=first.firing_id)
    body = tokens[second] | {"error": "the report has no rows"}
    recorder.shows("v1NackFiring", body, firing_id=second.firing_id)


def _accept_oldest(world: World, timer_id: int) -> Member:
    """Let the target of the oldest firing that waits have answered 202; return its attempt."""
    records = world.wiring.firings.records(timer_id, 999)
    pending = [one.firing for one in records if one.firing.status is FiringStatus.PENDING]
    member = min(one.member for one in pending if one.attempt == 1)
    ack_by = world.clock.now + HOUR_MS
    world.wiring.firings.settle(
        [Outcome(member, 0, FiringStatus.ACCEPTED, ack_by, member.fire_at, 0, 9, 202)]
    )
    return member


def _many(recorder: Recorder) -> None:
    a = {"key": "a", "schedule": {"delay": "1m"}, "target": {"url": "http://localhost:8080/a"}}
    b = {"key": "b", "schedule": {"cron": "0 25 * * *"}, "target": {"url": "http://localhost:8080/b"}}
    recorder.shows("v1BatchCreateTimers", {"timers": [a, b]})
    recorder.shows("v1BatchEnableTimers", {"filter": {"tag": "billing"}, "dryRun": True})
    recorder.shows("v1BatchDisableTimers", {"keys": ["a", "c"]})
    recorder.shows("v1BatchDeleteTimers", {"keys": ["a"]})


def _targets(recorder: Recorder) -> None:
    shop = {
        "url": "http://localhost:8080/hooks",
        "headers": {"Authorization": "Bearer x"},
        "timeout": "2s",
    }
    recorder.shows("v1PutTarget", shop, name="shop")
    recorder.shows("v1PutTarget", shop | {"timeout": "5s"}, name="shop")
    recorder.shows("v1PatchTarget", {"headers": {"Authorization": "Bearer y"}}, name="shop")
    recorder.shows("v1GetTarget", name="shop")
    recorder.shows("v1ListTargets", limit=20)
    recorder.shows("v1DeleteTarget", name="shop")


def _signing(recorder: Recorder) -> None:
    for secret in SECRETS:
        recorder.shows("v1RotateSecret", {"overlap": "1d", "secret": secret})
    recorder.shows("v1GetSigning")
    recorder.shows("v1EndSecret", secret_id="1")
    recorder.shows("v1SwitchSigning", {"enabled": True})


def _certificate(recorder: Recorder, world: World) -> None:
    expires_at = datetime.fromtimestamp(world.clock.now // 1_000 + 365 * 86_400, UTC)
    pair = self_signed("CN=shop,O=Example", expires_at)
    recorder.shows("v1PutClientCertificate", {"certificate": pair.chain, "privateKey": pair.key})
    recorder.shows("v1GetClientCertificate")
    recorder.shows("v1DeleteClientCertificate")


def _calendars(recorder: Recorder) -> None:
    plant = {"weekdays": ["saturday", "sunday"], "days": ["2027-01-01"], "working": ["2027-01-02"]}
    recorder.shows("v1PutCalendar", plant, name="plant")
    recorder.shows("v1GetCalendar", name="plant")
    recorder.shows("v1ListCalendars", is_shown=False, limit=20)
    listed = recorder.operations["v1GetCalendar"]["answers"]["200"]["bodies"]["application/json"]
    page = {"nextCursor": None, "items": [listed | {"following": None}]}
    # Those that are always there have thousands of days.
    recorder.operations["v1ListCalendars"] = {
        "parameters": {"WangTimer-App": "shop", "limit": 20},
        "body": None,
        "answers": {"200": {"headers": {}, "bodies": {"application/json": page}}},
    }
    recorder.shows("v1DeleteCalendar", name="plant")


def _apps(recorder: Recorder) -> None:
    shows = recorder.shows
    shows("v1CreateApp", {"name": "billing", "limits": {"callsPerSecond": 100}})
    shows("v1ListApps", limit=20)
    shows("v1GetApp", name="billing")
    egress = {"httpsOnly": True, "allow": ["10.1.0.0/16:443", "*.corp.example"]}
    shows("v1PatchApp", {"limits": {"callsAtOnce": 50}, "egress": egress}, name="billing")
    scoped = {"name": "invoices", "scopes": ["timers:read", "timers:write"]}
    made = shows("v1CreateAppKey", scoped, app="billing")
    shows("v1ListAppKeys", app="billing", limit=20)
    shows("v1RevokeAppKey", app="billing", key_id=made["id"])
    made = shows("v1CreateOperatorKey", {"name": "prometheus", "scopes": ["metrics:read"]})
    shows("v1ListOperatorKeys", limit=20)
    shows("v1RevokeOperatorKey", key_id=made["id"])
    shows("v1LimitHost", {"callsAtOnce": 50}, host="shop.example.org:443")
    shows("v1ListHostLimits", limit=20)
    shows("v1FreeHost", host="shop.example.org:443")
    shows("v1Pause", {"reason": "moving its database"}, what="app:billing")
    shows("v1ListPauses", limit=20)
    shows("v1Resume", what="app:billing")
    shows("v1ListAudit", app="billing", limit=2)


def _compatible(recorder: Recorder, world: World) -> None:
    shows = recorder.shows
    named = {"app": "shop", "name": "expire"}
    cron = {"cron": "*/10 * * * * *", "timezone": "Asia/Shanghai", "notifyHTTPParam": OLD_CALL}
    timer_id = shows("createTimer", named | cron, Idempotency_Key="expire-1")["id"]
    one = {"app": "shop", "id": timer_id}
    shows("createTimer", named | cron, Idempotency_Key="expire-1")
    shows("enableTimer", one)
    shows("getTimer", app="shop", id=timer_id)
    shows("listTimers", app="shop", status="enabled", sort="-createdAt", limit=1)
    shows("listTimersByName", app="shop", name="expire", pageIndex=1, pageSize=20)
    shows("editTimer", one | {"tags": ["orders"], "notifyHTTPParam": {"header": {"X-Tag": ["late"]}}})
    world.clock.now += 30_000
    _settle_oldest(world, timer_id)
    shows("listRecords", app="shop", id=timer_id, limit=1)
    shows("unableTimer", one)
    shows("deleteTimer", one)
    shows("isAlive")
    shows("isReady")


def _settle_oldest(world: World, timer_id: int) -> int:
    """Let the oldest firing that waits have failed twice, as an executor records it; return its moment."""
    pending = [
        one.firing
        for one in world.wiring.firings.records(timer_id, 999)
        if one.firing.status is FiringStatus.PENDING
    ]
    firing = min(pending, key=lambda one: one.fire_at)
    for attempt, status in ((1, FiringStatus.PENDING), (2, FiringStatus.FAILED)):
        sent_at = firing.fire_at + 1 + (attempt - 1) * 1_000
        outcome = Outcome(
            Member(timer_id, firing.fire_at, attempt),
            firing.bucket,
            status,
            sent_at + 1_000,
            first_sent_at=sent_at,
            lateness_ms=sent_at - firing.fire_at,
            cost_ms=12,
            http_status=503,
            output="database is away",
            error="HTTP 503",
            connect_ms=1,
            first_byte_ms=11,
            notes=(Failure("http_503", "localhost:8080").note,) if status is FiringStatus.FAILED else (),
        )
        world.wiring.firings.settle([outcome])
    return firing.fire_at


def _text(moment_ms: int) -> str:
    return datetime.fromtimestamp(moment_ms / 1_000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
