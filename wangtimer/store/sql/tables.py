"""The tables; `schema.sql` has the same for a DBA, and a test proves that they agree."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Enum,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.mysql import ENUM, MEDIUMTEXT
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import SchemaItem

from wangtimer.core.alerts.alert_rule import EVENT_CHARACTERS, RULE_NAME_CHARACTERS
from wangtimer.core.apps.key_text import ID_CHARACTERS as KEY_ID_CHARACTERS
from wangtimer.core.apps.stored_key import KEY_NAME_CHARACTERS
from wangtimer.core.cron.cron_fields import MAX_LENGTH as CRON_CHARACTERS
from wangtimer.core.flow.dead_letter import REASON_CHARACTERS as FAILURE_CHARACTERS
from wangtimer.core.flow.disabled_hosts import ORIGIN_CHARACTERS
from wangtimer.core.flow.firing import FiringKind, FiringStatus
from wangtimer.core.flow.pauses import REASON_CHARACTERS
from wangtimer.core.flow.queues import QUEUE_CHARACTERS
from wangtimer.core.flow.reply_control import CONTROL_CHARACTERS
from wangtimer.core.flow.slicing import LANE_CHARACTERS
from wangtimer.core.retry import RETRY_CHARACTERS
from wangtimer.core.schedules.calendars import NAME_CHARACTERS as CALENDAR_CHARACTERS
from wangtimer.core.timers.field import ColumnType, FieldColumn
from wangtimer.core.timers.fields import FIELDS, TAG_CHARACTERS
from wangtimer.core.timers.named_target import TARGET_CHARACTERS
from wangtimer.core.timers.timer import APP_CHARACTERS, NAME_CHARACTERS, TimerStatus

OUTPUT_CHARACTERS = 1024
ERROR_CHARACTERS = 255
# Of an `Idempotency-Key`.
KEY_CHARACTERS = 255
# Of the far end of a connection, or of what a proxy says that was.
ADDRESS_CHARACTERS = 64
# Of a name or an id of what was changed.
SUBJECT_CHARACTERS = 128

metadata = MetaData()

_MYSQL: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_bin",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
    "mariadb_collate": "utf8mb4_bin",
}
# SQLite increments by itself only in a column whose type is exactly INTEGER.
_CountedId = BigInteger().with_variant(Integer, "sqlite")

# A request may have 64 KiB; MySQL's TEXT ends one byte before that.
_LongText = Text().with_variant(MEDIUMTEXT, "mysql", "mariadb")


class _Words(Enum):
    """Words, read without a check: a word of another version must not keep the rows around it from being read."""

    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> None:
        """Return no processor: the reader of the row gets the word as it is."""


class _MySQLWords(_Words, ENUM):
    """The same, as one byte."""


def _words(of: type[StrEnum]) -> Enum:
    """Return a column type that takes one byte in MySQL and still reads as a word."""
    words, name = [word.value for word in of], of.__name__.lower()
    return _Words(*words, name=name).with_variant(_MySQLWords(*words, name=name), "mysql", "mariadb")


def _columns_of_fields() -> Iterator[Column[Any]]:
    """Yield a timer's columns that its fields describe."""
    for one in (column for field in FIELDS for column in field.columns):
        yield Column(one.name, _type_of(one), nullable=one.is_nullable)


def _type_of(column: FieldColumn) -> Any:
    match column.holds:
        case ColumnType.TEXT:
            return String(column.characters)
        case ColumnType.SMALL_NUMBER:
            return SmallInteger()
        case ColumnType.NUMBER:
            return BigInteger()
        case ColumnType.WORD:
            assert column.words is not None
            return _words(column.words)


def new_table(name: str, *parts: SchemaItem, **options: Any) -> Table:
    """Return a table, which is one of all from then on."""
    return Table(name, metadata, *parts, **_MYSQL, **options)


# Every moment is ms since 1970-01-01 UTC.
# The business services that have timers. An app stays when it is disabled.
apps = new_table(
    "app",
    Column("name", String(APP_CHARACTERS), primary_key=True),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    # When it was disabled; NULL: it is not.
    Column("disabled_at", BigInteger, nullable=True),
    # JSON object of the bounds that an operator set, NULL without any.
    Column("limits", _LongText, nullable=True),
    # JSON object of what an operator set for its way out (`core/egress/way_out.py`), NULL without any.
    Column("egress", _LongText, nullable=True),
    # When its timers were last counted for its total; 0: its total is not kept.
    Column("counted_at", BigInteger, nullable=False, server_default=text("0")),
    # Name of its own queue, NULL without one.
    Column("queue", String(QUEUE_CHARACTERS), nullable=True),
    # When its failed calls are made again (`core/retry.py`), NULL: as the deployment does.
    Column("retry", String(RETRY_CHARACTERS), nullable=True),
    # Days for which what failed for good is listed, NULL: as many as its firings.
    Column("dead_letter_days", SmallInteger, nullable=True),
    # Apps whose totals are old.
    Index("app_counted", "counted_at"),
)

# Of an app with a limit of them: its living timers, and the firings a day of those that are enabled and have moments
# left to plan; each is the sum over the app's slots. A slot may be below 0.
app_totals = new_table(
    "app_total",
    Column("app", String(APP_CHARACTERS), primary_key=True),
    Column("slot", SmallInteger, primary_key=True, autoincrement=False),
    Column("timers", BigInteger, nullable=False, server_default=text("0")),
    Column("firings_a_day", BigInteger, nullable=False, server_default=text("0")),
    Column("bytes", BigInteger, nullable=False, server_default=text("0")),
    # The limits by which the total was divided over the slots; -1: by none.
    Column("most_timers", BigInteger, nullable=False, server_default="-1"),
    Column("most_firings", BigInteger, nullable=False, server_default="-1"),
    Column("most_bytes", BigInteger, nullable=False, server_default="-1"),
)

# What operators paused.
pauses = new_table(
    "pause",
    # `all`; or `app:`, `host:` or `timer:` with an app, a host and port, or an id.
    Column("name", String(LANE_CHARACTERS), primary_key=True),
    # Whose it is; NULL: no single app's.
    Column("app", String(APP_CHARACTERS), nullable=True),
    Column("since", BigInteger, nullable=False),
    Column("reason", String(REASON_CHARACTERS), nullable=False),
)

# Hosts that failed each call of an app for days: its calls to them are made no more.
disabled_hosts = new_table(
    "disabled_host",
    Column("app", String(APP_CHARACTERS), primary_key=True),
    # Scheme, host and port.
    Column("origin", String(ORIGIN_CHARACTERS), primary_key=True),
    # The first failure that no answer followed.
    Column("since", BigInteger, nullable=False),
    # The last failure before it was disabled.
    Column("failed_at", BigInteger, nullable=False),
    Column("disabled_at", BigInteger, nullable=False),
    # Of the last call before.
    Column("error", String(ERROR_CHARACTERS), nullable=False),
    # When it answered, or somebody enabled it: its days count from then. NULL: it is disabled.
    Column("enabled_at", BigInteger, nullable=True),
)

# What answers make of their timers, until that is done.
reply_controls = new_table(
    "reply_control",
    Column("timer_id", BigInteger, primary_key=True, autoincrement=False),
    Column("fire_at", BigInteger, primary_key=True, autoincrement=False),
    # The timer's version, a word, and a moment (`core/flow/reply_control.py`).
    Column("control", String(CONTROL_CHARACTERS), nullable=False),
)

# By which rules of time zones and built-in calendars timers are planned.
schedule_rules = new_table(
    "schedule_rules",
    Column("id", SmallInteger, primary_key=True, autoincrement=False),
    # Those of the packages that hold them.
    Column("version", String(64), nullable=False),
    # JSON: a digest of the rules of each zone and calendar, by its name; "" where timers may have moments of others.
    Column("digests", _LongText, nullable=False),
    # When a process that plans was there.
    Column("seen_at", BigInteger, nullable=False, server_default=text("0")),
)

# Firings that have begun, or wait for one that has, of timers whose firings are not to overlap. Which of them have no
# outcome yet, their own rows say.
begun_firings = new_table(
    "begun_firing",
    Column("timer_id", BigInteger, primary_key=True, autoincrement=False),
    Column("fire_at", BigInteger, primary_key=True, autoincrement=False),
    # 1: it waits until another one is done.
    Column("is_waiting", SmallInteger, nullable=False),
    # The newest of a timer that runs, and the first that waits.
    Index("begun_in_line", "timer_id", "is_waiting", "fire_at"),
)

# Firings that had begun when a newer one of their timer did, and that are to be cancelled for it. Which of them have no
# outcome yet, their own rows say.
firings_to_cancel = new_table(
    "firing_to_cancel",
    Column("timer_id", BigInteger, primary_key=True, autoincrement=False),
    Column("fire_at", BigInteger, primary_key=True, autoincrement=False),
    # The moment of the newer one.
    Column("cancelled_by", BigInteger, nullable=False),
)

# Limits of calls to target hosts, over all apps.
host_limits = new_table(
    "host_limit",
    # A host and port; `*`: every other.
    Column("host", String(LANE_CHARACTERS), primary_key=True),
    Column("calls_per_second", BigInteger, nullable=True),
    Column("calls_at_once", BigInteger, nullable=True),
    Column("updated_at", BigInteger, nullable=False),
)

# The keys by which apps and operators call the API.
api_keys = new_table(
    "api_key",
    Column("id", String(KEY_ID_CHARACTERS), primary_key=True),
    # NULL: an operator's.
    Column("app", String(APP_CHARACTERS), nullable=True),
    Column("name", String(KEY_NAME_CHARACTERS), nullable=False),
    # SHA-256 of the key, in hexadecimal
    Column("fingerprint", String(64), nullable=False),
    # Words with a space between.
    Column("scopes", String(512), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=True),
    Column("revoked_at", BigInteger, nullable=True),
    Column("last_used_at", BigInteger, nullable=True),
    # An app's keys.
    Index("api_key_of_app", "app", "id"),
    # Those that end soonest.
    Index("api_key_expires", "expires_at"),
)

# Who changed what. A row stays as it was written, until its retention is over.
audit = new_table(
    "audit",
    Column("id", _CountedId, primary_key=True, autoincrement=True),
    Column("at", BigInteger, nullable=False),
    # The key by which it was asked for. NULL: it needed none, and the name says why.
    Column("key_id", String(KEY_ID_CHARACTERS), nullable=True),
    Column("key_name", String(KEY_NAME_CHARACTERS), nullable=False),
    # The app whose key it is; NULL: an operator's.
    Column("key_app", String(APP_CHARACTERS), nullable=True),
    Column("address", String(ADDRESS_CHARACTERS), nullable=False),
    # `Action` and `AuditedKind`: plain texts, so that a later version has further ones without a change of the table.
    Column("action", String(16), nullable=False),
    Column("kind", String(16), nullable=False),
    # An id, of a firing its timer's; the name of an app or a calendar.
    Column("subject", String(SUBJECT_CHARACTERS), nullable=False),
    # Whose it is; NULL: the operators'.
    Column("app", String(APP_CHARACTERS), nullable=True),
    # Of a timer or a key.
    Column("name", String(NAME_CHARACTERS), nullable=True),
    # JSON list of the names of changed fields, NULL without any; never a value.
    Column("fields", String(1_024), nullable=True),
    Column("old_status", String(16), nullable=True),
    Column("new_status", String(16), nullable=True),
    # Of a firing.
    Column("fire_at", BigInteger, nullable=True),
    # Lists read these backwards; purge deletes along the first.
    Index("audit_at", "at"),
    Index("audit_of_app", "app", "at"),
    Index("audit_of_key", "key_id", "at"),
    Index("audit_of_subject", "subject", "at"),
    Index("audit_of_kind", "kind", "at"),
    sqlite_autoincrement=True,
)

timers = new_table(
    "timer",
    Column("id", _CountedId, primary_key=True, autoincrement=True),
    Column("app", String(APP_CHARACTERS), nullable=False),
    Column("name", String(NAME_CHARACTERS), nullable=False),
    # 0 while the timer lives, its id once deleted, so that deleting frees the name.
    Column("tombstone", BigInteger, nullable=False, server_default=text("0")),
    Column("status", _words(TimerStatus), nullable=False),
    # A rule as text (a cron expression: `core/cron/cron_text.py`) with its zone, or an interval with its anchor and
    # zone, or one moment (`StoredRule` in `core/kinds/kind.py`).
    Column("cron", String(CRON_CHARACTERS), nullable=True),
    Column("timezone", String(64), nullable=False),
    Column("every_ms", BigInteger, nullable=True),
    Column("anchor_ms", BigInteger, nullable=True),
    Column("at_ms", BigInteger, nullable=True),
    # Start, end, number of firings, excluded days, spread, cancelled moments: JSON, null without any.
    Column("bounds", _LongText, nullable=True),
    # The name of the excluded days' calendar.
    Column("calendar", String(CALENDAR_CHARACTERS), nullable=True),
    # The upload that the days come from: its `updated_at`; 0 if unknown, negative if they could not be taken over.
    Column("calendar_at", BigInteger, nullable=False, server_default=text("0")),
    Column("notify", _LongText, nullable=False),
    # The name of the target that the call goes through.
    Column("target", String(TARGET_CHARACTERS), nullable=True),
    # Of its rule, on a day on which it fires; 0 for a one-shot.
    Column("firings_a_day", BigInteger, nullable=False, server_default=text("0")),
    # When the timer was last switched from enabled to disabled or deleted. Firings asked for before are stopped, those
    # asked for afterwards are fired.
    Column("disabled_at", BigInteger, nullable=False, server_default=text("0")),
    # Its versions from `followed_from` to `followed_to` differ only in what a calendar or the rules of its zone made of
    # them. MySQL sets columns in this order, and these depend on the version before.
    Column("followed_from", BigInteger, nullable=False, server_default=text("0")),
    Column("followed_to", BigInteger, nullable=False, server_default=text("0")),
    Column("version", BigInteger, nullable=False),
    # When the schedule had changed the time before it last did.
    Column("edited_before_at", BigInteger, nullable=False, server_default=text("0")),
    Column("edited_at", BigInteger, nullable=False),
    Column("planned_until", BigInteger, nullable=False),
    Column("next_fire_at", BigInteger, nullable=True),
    # The timer is planned again once this is less than a step ahead: next_fire_at, or later for a dense timer, which is
    # planned by count.
    Column("plan_by", BigInteger, nullable=True, server_default="0"),
    # The last number that was given to a planned firing; 0: none was.
    Column("planned_seq", BigInteger, nullable=False, server_default=text("0")),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    # Misfire policy, tags, retention and the other fields that `core/timers/fields.py` describes.
    *_columns_of_fields(),
    UniqueConstraint("app", "name", "tombstone", name="timer_app_name"),
    # Planning reads only timers that come due within a step.
    Index("timer_plan_by", "status", "plan_by"),
    # Timers that are not planned up to the present.
    Index("timer_to_plan", "status", "next_fire_at"),
    # The purger reads only finished timers whose time has come.
    Index("timer_finished", "status", "next_fire_at", "keep_days", "planned_until"),
    # Timers that name a calendar that was uploaded again, and still have its older days.
    Index("timer_follows", "app", "calendar", "calendar_at"),
    # How many living timers name a target.
    Index("timer_of_target", "app", "target", "tombstone"),
    # The sweep refreshes the definitions that changed lately.
    Index("timer_updated", "updated_at"),
    # An app's living timers by id, and how many they are.
    Index("timer_of_app", "app", "tombstone"),
    # An app's living timers by their last change.
    Index("timer_of_app_updated", "app", "tombstone", "updated_at"),
    # Purge reads only deleted timers, oldest first.
    Index("timer_deleted", "status", "updated_at"),
    sqlite_autoincrement=True,
)

# Excluded days, as apps uploaded them.
calendars = new_table(
    "calendar",
    Column("app", String(APP_CHARACTERS), primary_key=True),
    Column("name", String(CALENDAR_CHARACTERS), primary_key=True),
    # JSON {name, weekdays, days, working}
    Column("content", _LongText, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    # The `updated_at` that all timers which name the calendar follow; 0: some may not follow yet.
    Column("followed_at", BigInteger, nullable=False, server_default=text("0")),
    # Calendars that are to be followed.
    Index("calendar_followed", "followed_at", "updated_at"),
)

# Calls of an app that its timers name.
targets = new_table(
    "target",
    Column("app", String(APP_CHARACTERS), primary_key=True),
    Column("name", String(TARGET_CHARACTERS), primary_key=True),
    # JSON (`store/sealed_texts.py`)
    Column("content", _LongText, nullable=False),
    # Grows with every change, also over a deletion.
    Column("version", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    # The sweep tells Redis of what changed lately.
    Index("target_updated", "updated_at", "app", "name"),
)

# How each app's callbacks are signed. An app gets its row with its first secret.
signing = new_table(
    "signing",
    Column("app", String(APP_CHARACTERS), primary_key=True),
    # JSON: the secrets that sign, and whether signing is on (`store/sealed_texts.py`)
    Column("content", _LongText, nullable=False),
    # Grows with every change.
    Column("version", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    # The sweep tells Redis of what changed lately.
    Index("signing_updated", "updated_at", "app"),
)

# The certificate that an app's callbacks show to targets that ask for one.
client_certificates = new_table(
    "client_certificate",
    Column("app", String(APP_CHARACTERS), primary_key=True),
    # PEM, its own first, then those that vouch for it
    Column("chain", _LongText, nullable=False),
    # Its private key (PEM), sealed: `store/seals.py`
    Column("sealed_key", _LongText, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    # Grows with every change.
    Column("version", BigInteger, nullable=False),
    # Those that end soonest.
    Index("client_certificate_expires", "expires_at", "app"),
)

# Answers kept for a day, for callers who repeat a request.
idempotency = new_table(
    "idempotency",
    Column("app", String(APP_CHARACTERS), primary_key=True),
    Column("idempotency_key", String(KEY_CHARACTERS), primary_key=True),
    # SHA-256, in hexadecimal
    Column("body_hash", String(64), nullable=False),
    Column("answer", _LongText, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    # Purge deletes answers older than a day.
    Index("idempotency_created", "created_at"),
)

# Tags of living timers.
timer_tags = new_table(
    "timer_tag",
    Column("app", String(APP_CHARACTERS), primary_key=True),
    Column("tag", String(TAG_CHARACTERS), primary_key=True),
    Column("timer_id", BigInteger, primary_key=True, autoincrement=False),
    Index("timer_tag_of_timer", "timer_id"),
)

firings = new_table(
    "firing",
    # In the order of this key planning appends, settling touches neighbouring pages, and a minute is a range scan.
    Column("fire_at", BigInteger, primary_key=True, autoincrement=False),
    Column("timer_id", BigInteger, primary_key=True, autoincrement=False),
    Column("bucket", SmallInteger, nullable=False),
    Column("kind", _words(FiringKind), nullable=False),
    Column("status", _words(FiringStatus), nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("attempt", SmallInteger, nullable=False),
    # From here to http_status: 0 until the first outcome (`firing_rows.planning`), NULL if that has no value.
    Column("first_sent_at", BigInteger, nullable=True, server_default="0"),
    Column("lateness_ms", BigInteger, nullable=True, server_default="0"),
    # Of the last attempt; durations since its call began. Where `first_byte_ms` is -1, not a byte was sent, and
    # `sent_at` is when the attempt was made.
    Column("sent_at", BigInteger, nullable=True, server_default="0"),
    Column("connect_ms", BigInteger, nullable=True, server_default="0"),
    Column("first_byte_ms", BigInteger, nullable=True, server_default="0"),
    Column("cost_ms", BigInteger, nullable=True, server_default="0"),
    Column("http_status", SmallInteger, nullable=True, server_default="0"),
    Column("output", String(OUTPUT_CHARACTERS), nullable=False, server_default=""),
    Column("error", String(ERROR_CHARACTERS), nullable=False, server_default=""),
    # When somebody asked for the firing; NULL, which takes no room, if its schedule made it.
    Column("asked_at", BigInteger, nullable=True),
    # The lane in which the attempt waits or waited, such as "host:..." or "limit:...", as `SharedLane` writes it.
    Column("lane", String(LANE_CHARACTERS), nullable=False, server_default=""),
    # While the last attempt waited to be sent, how long its host was failing; NULL, which takes no room: not at all.
    Column("host_failing_ms", BigInteger, nullable=True),
    # When its target said that the accepted work is done; NULL, which takes no room: it did not.
    Column("done_at", BigInteger, nullable=True),
    # Its number among its timer's planned firings; NULL, which takes no room: it has none.
    Column("seq", BigInteger, nullable=True),
    # One timer's history.
    Index("firing_of_timer", "timer_id", "fire_at"),
    # Overdue firings, and one slice's pending rows, read in order; rows in lanes are skipped within the index.
    Index("firing_due", "status", "due_at", "fire_at", "timer_id", "lane"),
)

# Attempts that another attempt followed; a firing's last attempt is in its own row.
attempts = new_table(
    "attempt",
    Column("fire_at", BigInteger, primary_key=True, autoincrement=False),
    Column("timer_id", BigInteger, primary_key=True, autoincrement=False),
    Column("attempt", SmallInteger, primary_key=True, autoincrement=False),
    Column("status", _words(FiringStatus), nullable=False),
    Column("sent_at", BigInteger, nullable=True),
    Column("connect_ms", BigInteger, nullable=True),
    Column("first_byte_ms", BigInteger, nullable=True),
    Column("cost_ms", BigInteger, nullable=True),
    Column("http_status", SmallInteger, nullable=True),
    Column("output", String(OUTPUT_CHARACTERS), nullable=False, server_default=""),
    Column("error", String(ERROR_CHARACTERS), nullable=False, server_default=""),
)

# What has failed for good: one of a firing, until it is replayed, discarded or past its app's time.
dead_letters = new_table(
    "dead_letter",
    # An app's, in the order in which they failed.
    Column("app", String(APP_CHARACTERS), primary_key=True),
    # When its last attempt ended.
    Column("failed_at", BigInteger, primary_key=True, autoincrement=False),
    Column("timer_id", BigInteger, primary_key=True, autoincrement=False),
    Column("fire_at", BigInteger, primary_key=True, autoincrement=False),
    # Its timer's, which may be deleted before.
    Column("name", String(NAME_CHARACTERS), nullable=False),
    Column("kind", _words(FiringKind), nullable=False),
    # Why, in a word (`core/flow/dead_letter.py`).
    Column("reason", String(FAILURE_CHARACTERS), nullable=False),
    # What the last attempt called: host and port, and the named target; "" and NULL: nothing.
    Column("host", String(LANE_CHARACTERS), nullable=False),
    Column("target", String(TARGET_CHARACTERS), nullable=True),
    Column("attempt", SmallInteger, nullable=False),
    Column("http_status", SmallInteger, nullable=True),
    Column("error", String(ERROR_CHARACTERS), nullable=False),
    # That of a firing.
    Index("dead_letter_of_firing", "timer_id", "fire_at"),
    # Those of all apps, in the order in which they failed.
    Index("dead_letter_failed", "failed_at", "timer_id", "fire_at"),
)

# Of what apps want to be told.
alert_rules = new_table(
    "alert_rule",
    Column("app", String(APP_CHARACTERS), primary_key=True),
    Column("name", String(RULE_NAME_CHARACTERS), primary_key=True),
    # JSON (`store/sealed_texts.py`)
    Column("content", _LongText, nullable=False),
    # The lateness that it tells of; NULL: it tells of none.
    Column("late_ms", BigInteger, nullable=True),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    # When a message was last taken; NULL: none was.
    Column("told_at", BigInteger, nullable=True),
    # Why the last one was not.
    Column("error", String(ERROR_CHARACTERS), nullable=False, server_default=""),
)

# Attempts and skipped firings of apps with such rules, until the judge of alerts has seen them.
alert_notes = new_table(
    "alert_note",
    # Whose it is; "": nobody knew that.
    Column("app", String(APP_CHARACTERS), primary_key=True),
    Column("fire_at", BigInteger, primary_key=True, autoincrement=False),
    Column("timer_id", BigInteger, primary_key=True, autoincrement=False),
    Column("attempt", SmallInteger, primary_key=True, autoincrement=False),
    Column("status", _words(FiringStatus), nullable=False),
    Column("lateness_ms", BigInteger, nullable=True),
    Column("http_status", SmallInteger, nullable=True),
    Column("error", String(ERROR_CHARACTERS), nullable=False),
    # Host and port that were called, and the named target; "": nobody knew that, and none.
    Column("host", String(LANE_CHARACTERS), nullable=False),
    Column("target", String(TARGET_CHARACTERS), nullable=False),
    # When its outcome was known; NULL: nobody said.
    Column("known_at", BigInteger, nullable=True),
    # Of a failure: when its process last saw a success there since the failure before; NULL: it saw none.
    Column("well_at", BigInteger, nullable=True),
)

# What is not normal: one of a rule, an event, and a timer or a host, until it is over.
alerts = new_table(
    "alert",
    Column("app", String(APP_CHARACTERS), primary_key=True),
    Column("rule", String(RULE_NAME_CHARACTERS), primary_key=True),
    # Of one of all timers of a host: 0.
    Column("timer_id", BigInteger, primary_key=True, autoincrement=False),
    Column("event", String(EVENT_CHARACTERS), primary_key=True),
    # The host or the named target (`core/alerts/alert_place.py`); "" of one of a single timer.
    Column("place", String(LANE_CHARACTERS), primary_key=True),
    Column("timer_name", String(NAME_CHARACTERS), nullable=False),
    # The moment of the last firing that it is about.
    Column("fire_at", BigInteger, nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("last_at", BigInteger, nullable=False),
    Column("times", BigInteger, nullable=False),
    # When it was told; NULL: it was not yet.
    Column("told_at", BigInteger, nullable=True),
    # It is over only if a firing was not later than this; NULL: lateness does not matter.
    Column("late_ms", BigInteger, nullable=True),
    # JSON: where its calls went, its last firings, how many timers it has (`store/sql/trouble_rows.py`).
    Column("content", _LongText, nullable=False),
    # Those of a page of timers.
    Index("alert_of_timer", "timer_id"),
)

# Messages of rules: one on its way, and one that gathers what happens meanwhile.
alert_messages = new_table(
    "alert_message",
    Column("id", _CountedId, primary_key=True, autoincrement=True),
    Column("app", String(APP_CHARACTERS), nullable=False),
    Column("rule", String(RULE_NAME_CHARACTERS), nullable=False),
    # 1: somebody asked for it, and waits for what becomes of it.
    Column("is_test", SmallInteger, nullable=False),
    # JSON (`core/alerts/alert_message.py`)
    Column("content", _LongText, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("due_at", BigInteger, nullable=False),
    # Attempts that began; 0: it still gathers.
    Column("attempt", SmallInteger, nullable=False),
    # Until then a process is at it; 0: none is.
    Column("taken_until", BigInteger, nullable=False),
    # JSON of what became of a test; NULL: nobody knows yet.
    Column("answer", _LongText, nullable=True),
    # Those that are due.
    Index("alert_message_due", "due_at"),
    # Those of a rule.
    Index("alert_message_of_rule", "app", "rule", "id"),
    sqlite_autoincrement=True,
)
