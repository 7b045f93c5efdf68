"""What is kept as replicas: each is read back as it was written, and of a later format what is known here."""

from typing import Any

import orjson
import pytest

from wangtimer.core.alerts.alert_place import ALERTED_APPS, AlertedApps
from wangtimer.core.egress.way_out import STRICTEST, WAYS_OUT, WAYS_OUT_MARK, AppEgress, WayOut, WaysOut
from wangtimer.core.flow.call_limit import CallLimit
from wangtimer.core.flow.disabled_hosts import DISABLED_HOSTS
from wangtimer.core.flow.limits import CALL_LIMITS, CallLimits
from wangtimer.core.flow.pauses import PAUSES, Pauses
from wangtimer.core.replica_kind import ReplicaKind
from wangtimer.core.retry import APP_RETRIES, RetryPolicy
from wangtimer.store.app_queues import APP_QUEUES

LIMITS = CallLimits(
    {"shop": CallLimit(2.5, 7), "büro": CallLimit(at_once=0)},
    {"*": CallLimit(2.5, 7), "h:80": CallLimit(at_once=0)},
    {"a": CallLimit(1)},
)
EGRESS = AppEgress(https_only=True, allow=("10.1.0.0/16",), authorities="pem")
KINDS: list[tuple[ReplicaKind[Any], Any]] = [
    (CALL_LIMITS, LIMITS),
    (PAUSES, Pauses(frozenset({"all", "host:büro:80"}))),
    (APP_RETRIES, {"a": RetryPolicy(attempts=3, final=("4xx",))}),
    (DISABLED_HOSTS, frozenset({("shop", "https://a.test:443"), ("bank", "https://a.test:443")})),
    (ALERTED_APPS, AlertedApps({"shop": None, "bank": 250}, {"shop": frozenset({"h:80", "target:t"})})),
    (APP_QUEUES, {"shop": "reports", "ads": "mail"}),
    (WAYS_OUT, WaysOut("m", {"shop": WayOut(EGRESS, "chain", "sealed"), "商店": WayOut(chain="chain")})),
    (WAYS_OUT_MARK, "m"),
]


@pytest.mark.parametrize(("kind", "value"), KINDS, ids=[kind.name for kind, _ in KINDS])
def test_each_is_read_back_as_it_was_written(kind: ReplicaKind[Any], value: object) -> None:
    for one in (value, kind.unset):
        assert kind.from_json(orjson.loads(orjson.dumps(kind.to_json(one)))) == one


def test_each_has_a_name_of_its_own() -> None:
    assert len({kind.name for kind, _ in KINDS}) == len(KINDS)


LATER: list[tuple[ReplicaKind[Any], object, object]] = [
    (
        CALL_LIMITS,
        {"apps": {"a": [5, 3, 99], "b": [None, 2, None, {}]}, "hosts": {}, "toOneHost": {}, "more": 1},
        CallLimits({"a": CallLimit(5, 3), "b": CallLimit(None, 2)}),
    ),
    (ALERTED_APPS, {"a": {"lateMs": None, "troubled": [], "more": 1}}, AlertedApps({"a": None})),
    (
        WAYS_OUT,
        {"mark": "m", "apps": {"a": ['{"httpsOnly":true}', "", "", 9]}, "more": 1},
        WaysOut("m", {"a": WayOut(STRICTEST)}),
    ),
]


@pytest.mark.parametrize(("kind", "told", "value"), LATER)
def test_of_a_later_format_what_is_known_counts(kind: ReplicaKind[Any], told: object, value: object) -> None:
    assert kind.from_json(told) == value


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (CALL_LIMITS, [7]),
        (CALL_LIMITS, {"apps": {"a": 7}}),
        (CALL_LIMITS, {"hosts": {"a": None}}),
        (CALL_LIMITS, {"toOneHost": {"a": {"x": 1}}}),
        (PAUSES, 7),
        (APP_RETRIES, [7]),
        (DISABLED_HOSTS, {"a": 1}),
        (DISABLED_HOSTS, 7),
        (ALERTED_APPS, [7]),
        (ALERTED_APPS, {"shop": 7}),
        (APP_QUEUES, [7]),
        (WAYS_OUT, {"mark": "m"}),
        (WAYS_OUT, {"mark": "m", "apps": {"a": 7}}),
        (WAYS_OUT, {"mark": "m", "apps": {"a": [1]}}),
    ],
)
def test_what_is_none_of_it_is_an_error(kind: ReplicaKind[Any], told: object) -> None:
    with pytest.raises((AttributeError, KeyError, TypeError, ValueError)):
        kind.from_json(told)
