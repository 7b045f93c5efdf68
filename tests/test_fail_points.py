"""Every step that leaves a process has its two fail points, and each does what its name says."""

import ast
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

import wangtimer
from wangtimer.core import fail_points
from wangtimer.core.errors import BadSetting, StoreAway
from wangtimer.core.fail_points import ArmedFailPoint, FailPoint, Harm, Side
from wangtimer.store.redis.connection import RedisConnection, ScriptCall, script
from wangtimer.store.sql.database import Database

PACKAGE = Path(wangtimer.__file__).parent
SQL = {step for step in FailPoint if step.name.startswith("SQL_")}
# Transactions of operators, by their files: no firing and no alert depends on them. Those of batches stop what a
# disabled app has. Those of counts mend totals of apps. A discarded dead letter was nobody's firing any more. What is
# not disabled or enabled now is so within a minute. Whether new days fit is only asked.
OPERATORS = (
    ["alert_messages.py"] * 3
    + ["alert_rules.py"] * 3
    + ["app_totals.py"] * 3
    + ["apps.py"] * 5
    + ["calendar_followers.py"]
    + ["call_limits.py"] * 2
    + ["dead_letters.py"]
    + ["disabled_hosts.py"] * 3
    + ["firings_to_cancel.py"]
    + ["pauses.py"] * 2
    + ["schedule_rules.py"] * 2
    + ["secret_rotation.py", "signing_store.py", "target_store.py"]
    + ["timer_batches.py"] * 2
    + ["ways_out.py"] * 3
)
PUBLISH = {step for step in FailPoint if step.name.startswith("PUBLISH_")}


@pytest.fixture(autouse=True)
def _disarmed() -> Iterator[None]:
    yield
    fail_points.arm("")


def test_every_script_is_a_step() -> None:
    scripts = {path.stem for path in (PACKAGE / "store/redis/lua").glob("*.lua")}
    # The first is within the step `send`, the others are of the stream: tests/stream/test_faults.py strikes there.
    scripts -= {"consumers_put", "consumers_take", "consumers_return"}
    # A death beside it costs an app a moment that nobody uses.
    scripts -= {"control_pace"}
    assert scripts == {str(step) for step in set(FailPoint) - SQL - PUBLISH - {FailPoint.SEND}}


def test_every_task_is_a_step() -> None:
    from wangtimer.tasks import app

    app.loader.import_default_modules()
    assert {name for name in app.tasks if name.startswith("wangtimer.")} == {str(step) for step in PUBLISH}


def test_every_transaction_of_the_stores_is_a_step_of_its_own() -> None:
    named = [
        call.args[1].attr if len(call.args) > 1 and isinstance(call.args[1], ast.Attribute) else path.name
        for path in (PACKAGE / "store/sql").glob("*.py")
        for call in _calls(path, "write")
        if ast.unparse(call.func) == "self._database.write"
    ]
    # Where somebody else holds rows, a step is repeated without them.
    steps = {one for one in named if not one.endswith(".py")}
    assert steps == {step.name for step in SQL}
    assert sorted(one for one in named if one.endswith(".py")) == OPERATORS


def test_the_send_has_its_points() -> None:
    attempt = PACKAGE / "executor/attempt.py"
    for side in Side:
        assert [ast.unparse(call.args[0]) for call in _calls(attempt, side)] == ["FailPoint.SEND"]


def _calls(path: Path, method: str) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method:
            yield node


def test_only_the_nth_time_is_harmed() -> None:
    fail_points.arm("claim.before:raise:2")
    fail_points.before(FailPoint.CLAIM)
    fail_points.after(FailPoint.CLAIM)
    with pytest.raises(StoreAway, match=r"claim\.before"):
        fail_points.before(FailPoint.CLAIM)
    fail_points.before(FailPoint.CLAIM)


def test_a_task_name_with_a_dot_is_read() -> None:
    point = ArmedFailPoint.parse("wangtimer.callback.after:kill:1")
    assert (point.step, point.side, point.harm) == (FailPoint.PUBLISH_CALLBACK, Side.AFTER, Harm.KILL)


@pytest.mark.parametrize("wrong", ["claim", "claim.after:kill", "claim.beside:kill:1", "nap.after:kill:1"])
def test_a_point_that_does_not_exist_stops_the_start(wrong: str) -> None:
    with pytest.raises(BadSetting, match="WANGTIMER_FAIL_POINT"):
        fail_points.arm(wrong)


def test_a_kill_is_one() -> None:
    code = (
        "from wangtimer.core import fail_points as f; f.arm('send.before:kill:1'); f.before('send'); print(1)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL


@pytest.mark.parametrize("together", [False, True])
def test_a_script_that_errs_before_it_has_no_effect_and_after_it_has(redis_url: str, together: bool) -> None:
    redis = RedisConnection(redis_url)

    def define() -> None:
        if together:
            redis.run_all([ScriptCall(script("define"), ["key"], [1, "1 text", 60])])
        else:
            redis.run("define", ["key"], [1, "1 text", 60])

    for side, held in ((Side.BEFORE, None), (Side.AFTER, "1 text")):
        fail_points.arm(f"define.{side}:raise:1")
        with pytest.raises(StoreAway):
            define()
        assert redis.command(lambda client: client.get("key")) == held


def test_a_transaction_that_errs_before_it_has_no_effect_and_after_it_has(sqlite_url: str) -> None:
    database = Database(sqlite_url, pool_size=2)
    database.create_tables()
    query = text("SELECT COUNT(*) FROM sqlite_master WHERE name = 'made'")
    for side, tables in ((Side.BEFORE, 0), (Side.AFTER, 1)):
        fail_points.arm(f"sql_create.{side}:raise:1")
        with pytest.raises(StoreAway):
            database.write(lambda sql: sql.execute(text("CREATE TABLE made (id INT)")), FailPoint.SQL_CREATE)
        assert database.read(lambda sql: sql.execute(query).scalar_one()) == tables
