"""Large tables, filled by the server itself: so many rows in each."""

from dataclasses import dataclass

from sqlalchemy import text

from wangtimer.core.flow.slicing import SharedLane
from wangtimer.store.sql.app_totals import SLOTS
from wangtimer.store.sql.upgrade import add_missing, patient_connection

# Rows one INSERT makes.
ROWS_A_STATEMENT = 50_000
DAY_MS = 86_400_000

# The present of these tables; a firing each 100 ms or so, settled before it, pending behind.
NOW = 1_800_000_000_000
LANE = SharedLane.of_way("shop", "a.example:80")
# An app with as many timers as that, and one whose timers are a hundredth of all; the others have ten each.
SMALL_APP, LARGE_APP = "small", "large"
SMALL_APP_TIMERS = 20
# Of alerts, as it is stored without a key.
RULE = (
    '{"events": ["failed_for_good", "first_failure"], "kind": "mail", '
    '"to": {"url": "", "secret": "", "to": ["a@b.example"]}}'
)
TROUBLE = '{"host": "", "target": "", "last": [], "opened_at": 1}'
# Each of these has deleted timers, and a thousand of them were deleted long ago.
DELETED_EVERY = 50


@dataclass(frozen=True, slots=True)
class BigTables:
    """How many rows each of the tables has, and where what is asked for lies among them."""

    rows: int

    @property
    def large_app_timers(self) -> int:
        return self.rows // 100

    @property
    def settled_since(self) -> int:
        """The first firing's moment."""
        return NOW - self.rows * 80

    def fill(self, url: str) -> None:
        """Make the tables and their rows."""
        with patient_connection(url) as sql:
            list(add_missing(sql))
            sql.execute(text("CREATE TABLE number (n INT PRIMARY KEY)"))
            sql.exec_driver_sql(f"INSERT INTO number VALUES {','.join(f'({n})' for n in range(1_000))}")
            for first in range(0, self.rows, ROWS_A_STATEMENT):
                for statement in self._statements():
                    sql.execute(text(statement), {"first": first, "last": first + ROWS_A_STATEMENT - 1})
            apps = "INSERT IGNORE INTO app (name, created_at, updated_at, counted_at)"
            sql.execute(text(f"{apps} SELECT DISTINCT app, 0, 0, id FROM timer"))
            totals = "INSERT INTO app_total (app, slot) SELECT name, n FROM app JOIN number"
            sql.execute(text(f"{totals} WHERE n < {SLOTS}"))
            sql.execute(text("DROP TABLE number"))

    def _statements(self) -> list[str]:
        numbers = (
            "(SELECT a.n * 1000 + b.n AS n FROM number AS a JOIN number AS b"
            " WHERE a.n BETWEEN :first DIV 1000 AND :last DIV 1000) AS counted"
        )
        app = (
            f"CASE WHEN n < {SMALL_APP_TIMERS} THEN '{SMALL_APP}' WHEN n % 100 = 7 THEN '{LARGE_APP}'"
            " ELSE CONCAT('app', n DIV 10) END"
        )
        is_deleted = f"n % {DELETED_EVERY} = {DELETED_EVERY - 1}"
        # A tenth is to be planned within a day, of that a few by now.
        following = (
            f"CASE WHEN n % 20 = 3 THEN NULL WHEN n % 10 = 0 THEN {NOW} + n * 90000"
            f" ELSE {NOW + 30 * DAY_MS} + n END"
        )
        # A twentieth is finished; those that are kept for a week are to go.
        until = f"CASE WHEN n % 20 = 3 THEN {NOW - 8 * DAY_MS} + n ELSE {NOW} END"
        at = f"{self.settled_since} + n * 100"
        # A tenth waits in a lane, most of it for long.
        waits = "n % 10 = 4"
        timer = (
            "INSERT INTO timer (id, app, name, tombstone, status, cron, timezone, calendar, notify, misfire,"
            " misfire_grace_ms, catchup_window_ms, version, edited_at, planned_until, next_fire_at, plan_by,"
            " created_at, updated_at, keep_days)"
            f" SELECT n + 1, {app}, CONCAT('name', n), CASE WHEN {is_deleted} THEN n + 1 ELSE 0 END,"
            f" CASE WHEN {is_deleted} THEN 'deleted' WHEN n % 3 = 0 THEN 'disabled' ELSE 'enabled' END,"
            " '0 * * * *', 'UTC', CASE WHEN n % 5 = 0 OR n % 100 = 7 THEN 'ours' END,"
            ' \'{"url": "http://a.example/", "method": "POST", "headers": [], "body": ""}\','
            f" 'fire_all', 60000, 0, 1, 0, {until}, {following}, {following},"
            f" {self.settled_since} + n, {self.settled_since} + n * 80, CASE WHEN n % 40 = 3 THEN 7 END"
            f" FROM {numbers}"
        )
        firing = (
            "INSERT INTO firing (fire_at, timer_id, bucket, kind, status, due_at, attempt, first_sent_at, lateness_ms,"
            " lane)"
            f" SELECT {at}, 1 + n % {self.rows // 100}, n % 16, 'scheduled',"
            f" CASE WHEN {at} > {NOW} OR n % 1000 = 0 OR {waits} THEN 'pending' WHEN n % 200 = 1 THEN 'failed'"
            " ELSE 'succeeded' END,"
            f" {at}, 1, {at} + 3, 3, CASE WHEN {waits} THEN '{LANE.key}' ELSE '' END FROM {numbers}"
        )
        attempt = (
            "INSERT INTO attempt (fire_at, timer_id, attempt, status)"
            f" SELECT {at}, 1 + n % {self.rows // 100}, 1, 'failed' FROM {numbers}"
        )
        tag = f"INSERT INTO timer_tag (app, tag, timer_id) SELECT {app}, CONCAT('t', n % 100), n + 1 FROM {numbers}"
        kept = (
            "INSERT INTO idempotency (app, idempotency_key, body_hash, answer, created_at)"
            f" SELECT {app}, CONCAT('key', n), '', '', {NOW - 2 * DAY_MS} + n * {2 * DAY_MS // self.rows}"
            f" FROM {numbers}"
        )
        calendar = (
            "INSERT INTO calendar (app, name, content, updated_at, followed_at)"
            " SELECT CONCAT('app', n DIV 10), CONCAT('days', n), "
            '\'{"name": "x", "weekdays": [], "days": [], "working": []}\', 1, 1'
            f" FROM {numbers}"
        )
        signing = (
            "INSERT INTO signing (app, content, version, updated_at)"
            " SELECT CONCAT('app', n), '{\"on\": false, \"secrets\": []}', 1, "
            f"{NOW - 30 * DAY_MS} + n * 80 FROM {numbers}"
        )
        change = (
            "INSERT INTO audit (at, key_id, key_name, address, action, kind, subject, app)"
            f" SELECT {self.settled_since} + n * 80, CONCAT('key', n % 100), '', '', 'edit', 'timer', n + 1, {app}"
            f" FROM {numbers}"
        )
        target = (
            "INSERT INTO target (app, name, content, version, created_at, updated_at)"
            " SELECT CONCAT('app', n DIV 10), CONCAT('target', n), "
            '\'{"call": "{}"}\', 1, 1, '
            f"{NOW - 30 * DAY_MS} + n * 80 FROM {numbers}"
        )
        letter = (
            "INSERT INTO dead_letter (app, failed_at, timer_id, fire_at, name, kind, reason, host, attempt, error)"
            f" SELECT CASE WHEN n % 100 = 7 THEN '{LARGE_APP}' ELSE CONCAT('app', n DIV 1000) END, {at} + 5,"
            f" 1 + n % {self.rows // 100}, {at}, CONCAT('name', n), 'scheduled', CONCAT('http_', 400 + n % 7),"
            f" CONCAT('h', n % 10), 11, '' FROM {numbers}"
        )
        certificate = (
            "INSERT INTO client_certificate (app, chain, sealed_key, expires_at, version)"
            f" SELECT CONCAT('app', n), 'chain', '1.b.key', {NOW} + n * {DAY_MS // 10}, 1 FROM {numbers}"
        )
        # Nobody has judged any failure yet, and each timer has trouble that is not over.
        note = (
            "INSERT INTO alert_note (app, fire_at, timer_id, attempt, status, error, host, target)"
            f" SELECT CONCAT('app', n DIV 1000), {at}, 1 + n % {self.rows // 100}, 1, 'failed', 'HTTP 503', '', ''"
            f" FROM {numbers}"
        )
        alert = (
            "INSERT INTO alert"
            " (app, rule, timer_id, event, place, timer_name, fire_at, since, last_at, times, content)"
            f" SELECT {app}, 'ops', n + 1, 'first_failure', '', CONCAT('name', n), {NOW} - 60000, {NOW} - 60000,"
            f" {NOW} - 60000, 1, '{TROUBLE}' FROM {numbers}"
        )
        message = (
            "INSERT INTO alert_message (app, rule, is_test, content, created_at, due_at, attempt, taken_until)"
            " SELECT CONCAT('app', n DIV 10), 'ops', n % 100 = 1, '{\"alerts\": [], \"more\": 1}',"
            f" {NOW} - 60000, {NOW} - 60000 - n, n % 2, 0 FROM {numbers}"
        )
        rule = (
            "INSERT IGNORE INTO alert_rule (app, name, content, created_at, updated_at)"
            f" SELECT {app}, CONCAT('rule', n DIV 100), '{RULE}', 0, 0 FROM {numbers}"
        )
        filled = [timer, firing, attempt, tag, kept, calendar, signing, target, letter, certificate, change]
        return [*filled, note, alert, message, rule]
