"""Each statement of the product is read by the index meant, on large tables, whatever the server believes of them.

With 100,000 rows a table here; `make test-plans` has a million, `make test-mysql` a million on MySQL.
"""

import inspect
import os
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.plans.big_tables import BigTables
from tests.plans.cases import Stores
from tests.plans.expected import EXPECTED, MOST_READ
from tests.plans.statements import Seen, Statements
from tests.plans.statistics import Belief, let_believe
from tests.servers.mariadb import MariaDBServer
from wangtimer.store.sql import (
    accepted_firings,
    alert_messages,
    alert_rules,
    alert_troubles,
    app_totals,
    audit,
    begun_firings,
    calendar_followers,
    calendars,
    continuities,
    dead_letters,
    demands,
    finished_timers,
    firing_lists,
    firings,
    firings_to_cancel,
    kept_answers,
    planned_load,
    signing_store,
    target_store,
    timer_batches,
    timer_lists,
    timers,
    ways_out,
)
from wangtimer.store.sql.database import Database

ROWS = int(os.environ.get("PLANS_ROWS", "100000"))
DATABASE = "plans"
# The tables are to be in memory: what is looked at is what is read, not the disk.
BUFFER_BYTES = 1 << 30
STORES = (
    accepted_firings.AcceptedFirings,
    alert_messages.AlertMessages,
    alert_rules.AlertRuleStore,
    alert_troubles.AlertTroubles,
    firing_lists.AttemptStore,
    audit.AuditLog,
    begun_firings.BegunFirings,
    calendar_followers.CalendarFollowers,
    calendars.CalendarStore,
    ways_out.ClientCertificates,
    continuities.ContinuityStore,
    dead_letters.DeadLetterStore,
    demands.DemandStore,
    finished_timers.FinishedTimers,
    firing_lists.FiringLists,
    firings.FiringStore,
    firings_to_cancel.FiringsToCancel,
    kept_answers.KeptAnswers,
    planned_load.PlannedLoad,
    signing_store.SigningStore,
    target_store.TargetStore,
    timer_batches.TimerBatches,
    timer_lists.TimerLists,
    timers.TimerStore,
    app_totals.TotalCounts,
)
pytestmark = [pytest.mark.test_all, pytest.mark.xdist_group("plans"), pytest.mark.timeout(1_200)]


@pytest.fixture(scope="module")
def filled(mariadb_server: MariaDBServer) -> Iterator[str]:
    """URL of a database of large tables, whose statistics stay as they are written."""
    mariadb_server.run("SET GLOBAL innodb_stats_auto_recalc = OFF")
    mariadb_server.run(f"SET GLOBAL innodb_buffer_pool_size = {BUFFER_BYTES}")
    url = mariadb_server.create_database(DATABASE)
    BigTables(ROWS).fill(url)
    yield url
    mariadb_server.drop_database(DATABASE)
    mariadb_server.run("SET GLOBAL innodb_stats_auto_recalc = ON")


def most_read(tables: BigTables) -> int:
    """Rows a statement may read: a minute's firings or a page and what it is found among, or an app's timers."""
    return 15_000 + 3 * tables.large_app_timers


def faults(use: str, seen: list[Seen], most: int) -> list[str]:
    expected = EXPECTED.get(use, frozenset())
    found = [f"{use}: {one.plan or 'no plan'}: {one.text}" for one in seen if one.plan not in expected]
    most = MOST_READ.get(use, most)
    found += [f"{use}: {one.rows_read} rows read: {one.text}" for one in seen if one.rows_read > most]
    return found


@pytest.mark.parametrize("belief", Belief)
def test_each_statement_is_read_by_the_index_meant(filled: str, belief: Belief) -> None:
    tables = BigTables(ROWS)
    let_believe(filled, DATABASE, belief, ROWS)
    with closing(Database(filled, pool_size=2)) as database:
        stores = Stores(database, tables)
        statements = Statements(database)
        cases = stores.cases()
        found = [
            fault for case in cases for fault in faults(case.use, statements.of(case.work), most_read(tables))
        ]
    assert not found, "\n".join(found)


def test_every_method_of_every_store_is_among_them() -> None:
    methods = {
        f"{store.__name__}.{name}"
        for store in STORES
        for name, _ in inspect.getmembers(store, inspect.isfunction)
        if not name.startswith("_")
    }
    assert methods == {use.partition(":")[0] for use in EXPECTED}


def test_no_table_is_ever_to_be_read_whole() -> None:
    assert not [use for use, plans in EXPECTED.items() for plan in plans if "!" in plan]
