"""What one call of a plain timer asks of SQL and of the two Redis servers, over what they are asked while idle.

With numbers, `overlap`, `ackTimeout` and alert rules there is more to ask; who uses none of them pays for none.
"""

import json
from contextlib import closing
from pathlib import Path

import MySQLdb
import pytest

from tests.e2e.command_counter import commands_a_second
from tests.e2e.deployment import Deployment

SECONDS = 60
# Its outcome and the commit. Some tenths are the machine's: what looks once a second looks a little more or less often.
WRITES_BOUND, READS_BOUND = 2.3, 0.5
WRITES = ("insert", "update", "delete", "commit")
# Arming, claiming and releasing; the rest is of a slice that is watched, and would serve thousands.
STORE_BOUND = 11.5
# One message, and Celery's event of it.
BROKER_BOUND = 9.5

pytestmark = pytest.mark.e2e


@pytest.mark.timeout(300)
def test_a_call_of_a_plain_timer_costs_two_statements_and_no_more_commands_than_ever(tmp_path: Path) -> None:
    with Deployment(tmp_path) as deployment:
        deployment.tend_for(15)
        idle = _asked_a_second(deployment)
        deployment.make_timer("plain", cron="* * * * * *", timezone="UTC")
        deployment.tend_for(15)
        busy = _asked_a_second(deployment)
    a_call = {name: round(busy[name] - idle[name], 2) for name in busy}
    print(json.dumps({"idle": idle, "a_call": a_call}), flush=True)
    assert 1.7 < a_call["writes"] < WRITES_BOUND
    assert a_call["reads"] < READS_BOUND
    assert a_call["store"] < STORE_BOUND
    assert a_call["broker"] < BROKER_BOUND


def _asked_a_second(deployment: Deployment) -> dict[str, float]:
    before = _statements(deployment)
    asked = commands_a_second(deployment, SECONDS)
    after = _statements(deployment)
    return asked | {name: round((after[name] - before[name]) / SECONDS, 2) for name in after}


def _statements(deployment: Deployment) -> dict[str, int]:
    """Return how many statements SQL was asked so far."""
    link = MySQLdb.connect(host="127.0.0.1", port=deployment.sql.port, user="root")
    with closing(link), link.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Com\\_%'")
        counted = {name: int(number) for name, number in cursor.fetchall()}
    return {"reads": counted["Com_select"], "writes": sum(counted[f"Com_{one}"] for one in WRITES)}
