"""The check-up of SQL: reachable, new enough, well configured, with all its tables."""

import re
from collections.abc import Iterator

from sqlalchemy import Connection, text

from wangtimer.cli.doctor.findings import Finding, Part
from wangtimer.core.errors import StoreAway
from wangtimer.settings import Settings
from wangtimer.shown_url import shown_url
from wangtimer.store.sql.database import Database, missing_file
from wangtimer.store.sql.upgrade import lacks

PART = Part("sql")
# The oldest supported versions; docs/how-to/deploy-with-systemd.md says which of them were tried.
OLDEST = {"MariaDB": (10, 11), "MySQL": (8, 0)}
UPGRADE = "wangtimer schema upgrade --apply"


def check_database(settings: Settings) -> Iterator[Finding]:
    """Yield which database is checked, and a warning where none is set."""
    file = settings.unset_database
    if file is None:
        yield PART.ok(f"looked at {shown_url(settings.database_url)}")
        return
    said = f"SQLite at {file}: one machine only; WANGTIMER_DATABASE_URL is not set"
    yield PART.warning(said, "set it as for the workers; do nothing if one machine is intended")


def check_sql(url: str) -> Iterator[Finding]:
    """Yield the findings; the database is only read."""
    file = missing_file(url)
    if file is not None:
        yield PART.warning(f"there is no file {file} yet", "nothing: the service makes it when it starts")
        return
    try:
        database = Database(url, pool_size=1)
    except ImportError as missing:
        yield PART.error(f"the driver is missing: {missing}", "in a checkout: pip install '.[mysql]'")
        return
    try:
        yield from database.read(lambda sql: [*_server(sql), *_schema(sql)])
    except StoreAway as away:
        yield PART.error(str(away), "look at WANGTIMER_DATABASE_URL, the server, and the network between")
    finally:
        database.close()


def _server(sql: Connection) -> Iterator[Finding]:
    if sql.dialect.name == "sqlite":
        version = sql.execute(text("SELECT sqlite_version()")).scalar_one()
        yield PART.ok(f"SQLite {version} answers")
        return
    version = str(sql.execute(text("SELECT VERSION()")).scalar_one())
    kind = "MariaDB" if "mariadb" in version.lower() else "MySQL"
    yield _version(kind, version)
    isolation = sql.get_isolation_level()
    if isolation == "READ COMMITTED":
        yield PART.ok(f"transactions are {isolation}")
    else:
        yield PART.error(
            f"transactions are {isolation}", "let the account choose READ COMMITTED for its sessions"
        )
    yield from _variables(sql)


def _version(kind: str, version: str) -> Finding:
    found = re.match(r"(\d+)\.(\d+)", version)
    oldest = OLDEST[kind]
    if found is None or (int(found[1]), int(found[2])) < oldest:
        wanted = ".".join(map(str, oldest))
        return PART.warning(
            f"{kind} {version} answers", f"update it: {kind} {wanted} is the oldest that is meant to do"
        )
    return PART.ok(f"{kind} {version} answers")


def _variables(sql: Connection) -> Iterator[Finding]:
    is_read_only, flushes = sql.execute(
        text("SELECT @@GLOBAL.read_only, @@GLOBAL.innodb_flush_log_at_trx_commit")
    ).one()
    # MariaDB 11 and later answer in words.
    if str(is_read_only) not in ("0", "OFF"):
        yield PART.error(
            "the server takes no writes (read_only)", "point WANGTIMER_DATABASE_URL at the primary"
        )
    if int(flushes) != 1:
        yield PART.warning(
            f"innodb_flush_log_at_trx_commit is {flushes}: a crash of the server loses what it had confirmed",
            "set it to 1",
        )


def _schema(sql: Connection) -> Iterator[Finding]:
    found = lacks(sql)
    for lack in found:
        if lack.statement is None:
            yield PART.error(
                f"the schema lacks {lack.what}", "compare it with schema.sql, and alter it by hand"
            )
        else:
            yield PART.error(
                f"the schema lacks {lack.what}", f"{UPGRADE}, or run: {lack.statement.expandtabs(4)};"
            )
    if not found:
        yield PART.ok("the schema has every table, column and index")
