"""Dumps of SQL: of real servers, by the ways their programs write, and what is refused."""

import re
import sqlite3
import subprocess
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import MySQLdb
import pytest
from click.testing import CliRunner

from tests.cli.importing.imports import NOW, SHANGHAI, imported, refusals
from tests.servers.mariadb import MariaDBServer
from tests.servers.server_process import find_program
from wangtimer.cli.importing.django_beat_tables import read_django_beat
from wangtimer.cli.importing.import_commands import import_timers
from wangtimer.cli.importing.sql_dump import NO_SERVER, BadDump, Unread, read_dump
from wangtimer.cli.importing.tables import BadSource
from wangtimer.cli.importing.xxl_job_table import read_xxl_job

DUMPS = Path(__file__).with_name("dumps")
TEXT = "it's; (a), \"b\" `c` \\ \\\\ \\' 100\\% \n\r\t\x1a -- # /* 中"
BLOB = bytes(range(256))
JOBS = (
    "CREATE TABLE t (id int NOT NULL COMMENT 'x, (y; ''z\\\\', a text, b blob, c bit(1), d decimal(9,2), "
    "PRIMARY KEY (id), KEY k (a(9))) ENGINE=InnoDB"
)


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--replace",),
        ("--insert-ignore", "--skip-quote-names"),
        ("--compact", "--skip-quote-names"),
        ("--compact", "--replace", "--skip-quote-names"),
        ("--hex-blob", "--complete-insert", "--skip-extended-insert"),
        ("--compatible=ansi", "--default-character-set=utf8mb4", "--triggers", "--routines"),
        ("--skip-comments", "--single-transaction", "--delayed-insert"),
    ],
    ids=" ".join,
)
def test_a_dump_of_mariadb_holds_what_its_table_holds(
    mariadb_server: MariaDBServer, tmp_path: Path, options: tuple[str, ...]
) -> None:
    mariadb_server.create_database("dumped")
    with closing(
        MySQLdb.connect(host="127.0.0.1", port=mariadb_server.port, user="root", db="dumped")
    ) as server:
        server.set_character_set("utf8mb4")
        cursor = server.cursor()
        cursor.execute(JOBS)
        cursor.execute("CREATE TABLE other (a text)")
        cursor.execute(
            "CREATE TRIGGER r BEFORE INSERT ON other FOR EACH ROW BEGIN INSERT INTO t SET id=9; END"
        )
        cursor.execute("CREATE PROCEDURE p() BEGIN INSERT INTO t VALUES (9,'','',1,1); END")
        cursor.execute("INSERT INTO t VALUES (1, %s, %s, 1, -1.5), (2, NULL, '', 0, 0)", (TEXT, BLOB))
        server.commit()
    dump = tmp_path / "dump.sql"
    program = find_program("mariadb-dump", "mariadb-client")
    server_options = ("--no-defaults", "--host=127.0.0.1", f"--port={mariadb_server.port}", "--user=root")
    with dump.open("wb") as out:
        subprocess.run([program, *server_options, *options, "dumped"], stdout=out, check=True, timeout=60)
    rows, others = read_dump(dump.read_text("utf-8", "surrogateescape"), ["t"])
    first, second = rows["t"]
    assert (first["id"], first["a"], as_bytes(first["b"]), first["d"]) == ("1", TEXT, BLOB, "-1.50")
    assert (second["id"], second["a"], as_bytes(second["b"])) == ("2", None, b"")
    assert as_bytes(first["c"]) in (b"\x01", b"1")
    assert others == []


def as_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")


def test_a_dump_of_sqlite_holds_what_its_table_holds() -> None:
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute('CREATE TABLE "t" (a, -- the first; (\n b blob, c int)')
        base.execute("CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; INSERT INTO t VALUES (1, 2, 3); END")
        base.execute("DROP TRIGGER r")
        text = TEXT.replace("\n", "").replace("\r", "")
        base.execute("INSERT INTO t VALUES (?, ?, 8), (NULL, NULL, -1.5)", (text, BLOB))
        base.execute("CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; INSERT INTO t VALUES (1, 2, 3); END")
        base.commit()
        dump = "PRAGMA foreign_keys=OFF;\n" + "\n".join(base.iterdump())
    assert read_dump(dump, ["t"]) == (
        {"t": [{"a": text, "b": BLOB, "c": "8"}, {"a": None, "b": None, "c": "-1.5"}]},
        [],
    )


@pytest.mark.parametrize("written", ["copy", "inserts"])
def test_a_dump_of_postgresql_holds_what_its_tables_held(written: str) -> None:
    """Written by pg_dump 15.18, without its lines about owners."""
    names = ("django_celery_beat_crontabschedule", "django_celery_beat_periodictask")
    text = (DUMPS / f"pg_dump_{written}.sql").read_bytes().decode()
    rows, others = read_dump(text, names)
    assert others == ["other"]
    assert [row["timezone"] for row in rows[names[0]]] == ["Asia/Shanghai"]
    (task,) = rows[names[1]]
    assert task["args"] == r'["c:\\dir\\", "it\'s; (a), \\N"]'.replace(r"\'", "'")
    assert task["kwargs"] == '{"tab": "\t", "cr": "\r",\n "line": "\\\\n",\n\\.\n "c": "中"}'
    assert (task["queue"], task["data"]) == (None, r"\x23610d0a")


BEAT = """\
CREATE TABLE {0}django_celery_beat_crontabschedule (
  id integer NOT NULL, minute varchar(240) NOT NULL, hour varchar(96) NOT NULL, day_of_week varchar(64) NOT NULL,
  day_of_month varchar(124) NOT NULL, month_of_year varchar(64) NOT NULL, timezone varchar(63) NOT NULL
);
CREATE TABLE {0}django_celery_beat_periodictask (
  id integer NOT NULL, name varchar(200) NOT NULL, task varchar(200) NOT NULL, args text NOT NULL,
  kwargs text NOT NULL, enabled boolean NOT NULL, crontab_id integer, interval_id integer
);
"""
COPIED = (
    BEAT.format("public.") + "COPY public.django_celery_beat_crontabschedule "
    "(id, minute, hour, day_of_week, day_of_month, month_of_year, timezone) FROM stdin;\n"
    "1\t0\t9\t1\t*\t*\tAsia/Shanghai\n\\.\n"
    "COPY public.django_celery_beat_periodictask "
    "(id, name, task, args, kwargs, enabled, crontab_id, interval_id) FROM stdin;\n"
    '1\tweekly report\tshop.report\t["a\\\\nb"]\t{}\tt\t1\t\\N\n\\.\n'
)
WITH_OTHERS = (
    BEAT.format("")
    + "INSERT INTO `django_celery_beat_crontabschedule` VALUES (1,'0','9','1','*','*','Asia/Shanghai');\n"
    "CREATE TABLE `other` (`id` int, `flag` bit(1), `at` datetime);\nINSERT INTO `other` VALUES (1,b'1',now());\n"
    "INSERT INTO `django_celery_beat_periodictask` VALUES "
    "(1,'weekly report','shop.report','[\\\"a\\\\nb\\\"]','{}',1,1,NULL);\n"
)


@pytest.mark.parametrize("text", [COPIED, WITH_OTHERS], ids=["COPY", "other tables"])
def test_a_task_comes_with_its_arguments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    dump = tmp_path / "dump.sql"
    dump.write_text(text)
    found = imported(read_django_beat(str(dump), None, NOW))["weekly-report"]
    assert found.document["schedule"] == {"cron": "0 9 * * 1", "timezone": "Asia/Shanghai"}
    assert found.document["target"]["json"]["args"] == ["a\nb"]
    told = f"wangtimer: {dump}: rows of other tables are not read: other\n"
    assert capsys.readouterr().err == (told if "`other`" in text else "")


HEAD = (
    "CREATE TABLE xxl_job_info (id int, executor_handler text, executor_param text, glue_type text, "
    "schedule_conf text, trigger_status int, update_time datetime);\n"
)
NO_NEED = "concat(now(), ')', \"b)\", (1))"
ROW = "(1,'demo',{0},'BEAN','0 0 9 * * ?',1,NULL)"
ESCAPED = r"""'it\'s {\"a\": \"b\\\\c\"}\nline2'"""


@pytest.mark.parametrize(
    "how", ["INSERT INTO", "REPLACE INTO", "INSERT IGNORE INTO", "REPLACE", "insert delayed into"]
)
@pytest.mark.parametrize(
    "head",
    [
        HEAD.replace("xxl_job_info", "`xxl_job_info`"),
        HEAD.replace(");", ") ENGINE=InnoDB;"),
        f"-- MySQL dump 10.13\n{HEAD}",
    ],
)
def test_a_backslash_of_mysql_is_read_however_its_rows_are_written(
    tmp_path: Path, head: str, how: str
) -> None:
    dump = tmp_path / "xxl.sql"
    dump.write_text(f"{head}{how} xxl_job_info VALUES {ROW.format(ESCAPED)};\n")
    found = imported(read_xxl_job(str(dump), SHANGHAI, NOW))["demo"]
    assert found.document["target"]["json"]["param"] == 'it\'s {"a": "b\\\\c"}\nline2'


def test_what_only_the_server_knows_is_refused_where_it_is_asked_for(tmp_path: Path) -> None:
    """The very rows that XXL-JOB ships call now() in columns that no timer needs."""
    dump = tmp_path / "xxl.sql"
    rows = [
        ROW.format("''").replace("NULL", NO_NEED),
        ROW.format("now()").replace("1", "2", 1),
        ROW.format("'c:\\dir'").replace("1", "3", 1),
    ]
    dump.write_text(f"{HEAD}INSERT INTO xxl_job_info VALUES {rows[0]},{rows[1]},\n{rows[2]};\n")
    assert set(refusals(read_xxl_job(str(dump), SHANGHAI, NOW)).values()) == {
        "its executor_param is 'now()', which only its server works out: give the URL of the database",
        f"its executor_param {NO_SERVER}",
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("INSERT INTO `t` VALUES (1,2);", "line 1: no CREATE TABLE gives the columns of t"),
        ("CREATE TABLE t (a int);\nINSERT INTO t VALUES (1,2);", "line 2: 2 values for 1 columns of t"),
        (
            "CREATE TABLE t (a int);\nINSERT INTO t SELECT 1;",
            "line 2: 'INSERT INTO t' has no rows that can be read",
        ),
        (
            "CREATE TABLE t (a int);\nINSERT INTO t SET a=1;",
            "line 2: 'INSERT INTO t' has no rows that can be read",
        ),
        ("CREATE TABLE t (a int);\nCOPY t FROM '/tmp/t';", "line 2: 'COPY t' has no rows that can be read"),
        ("CREATE TABLE t (a int);\nCOPY t FROM stdin;\n1\n", "line 2: the rows of COPY have no end"),
        (
            "CREATE TABLE t (a int);\nCREATE TABLE t (a int);",
            "line 2: a second table t: dump one database only",
        ),
        (
            "USE `x`;\nINSERT INTO t (a) VALUES (1);\nUSE `y`;\nINSERT INTO u (a) VALUES (1);",
            "line 4: u of a second database or schema, y: dump one only",
        ),
        (
            "COPY x.t (a) FROM stdin;\n1\n\\.\nCOPY y.t (a) FROM stdin;\n1\n\\.\n",
            "line 4: t of a second .* y:",
        ),
        (
            "\\connect x\nINSERT INTO public.t (a) VALUES (1);\n\\unrestrict k\n\\connect y\n"
            "INSERT INTO public.t (a) VALUES (1);",
            "line 5: t of a second .* y.public:",
        ),
        (
            "SET search_path = x, pg_catalog;\nINSERT INTO t (a) VALUES (1);\nSET search_path = y, pg_catalog;\n"
            "INSERT INTO t (a) VALUES (1);",
            "line 4: t of a second .* y:",
        ),
        (
            "INSERT INTO `` (`a`) VALUES (1);",
            "line 1: its INSERT names no table: write the table's name there",
        ),
        ("INSERT INTO t (a) VALUES (1) GO", "line 1: ' GO' after a row"),
        ("INSERT INTO t (a) VALUES (1", "line 1: '' does not end"),
        ("SELECT 1;\nINSERT INTO `t` (a) VALUES ('1", "line 2: .*does not end"),
        ("INSERT INTO t (a) VALUES ('1\\');", "line 1: .* does not end, or has a backslash"),
        ("INSERT INTO t (a) VALUES (1);\nUPDATE t SET a=2;", "line 2: 'UPDATE t SET a=2;' changes rows"),
        ("INSERT INTO t (a) VALUES (1);\nTRUNCATE TABLE t;", "line 2: 'TRUNCATE TABLE t;' changes rows"),
        (
            "CREATE TRIGGER x BEGIN SELECT 1;\nINSERT INTO t (a) VALUES (1);",
            "line 2: a trigger or routine before",
        ),
    ],
)
def test_what_cannot_be_read_of_a_dump_is_told_by_its_line(text: str, reason: str) -> None:
    with pytest.raises(BadDump, match=reason):
        read_dump(text, ["t", "u"])


def test_one_database_may_be_named_in_each_way() -> None:
    rows, _ = read_dump(
        "USE `X`;\nINSERT INTO t (a) VALUES (1);\nINSERT INTO x.`t` (a) VALUES (2);\n"
        "USE other;\nINSERT INTO o (a) VALUES (1);\nUSE x;\nINSERT INTO u (a) VALUES (3);",
        ["t", "u"],
    )
    assert {name: [row["a"] for row in those] for name, those in rows.items()} == {
        "t": ["1", "2"],
        "u": ["3"],
    }


@pytest.mark.parametrize(
    "text", ["1.2.3.4e5", "+-1", "x'123'", "CAST('1' AS INT)", "'a' 'b'", "E'\\\\n'", "b'" + "1" * 65 + "'"]
)
def test_a_value_of_no_known_form_is_left_unread(text: str) -> None:
    rows, _ = read_dump(f"COPY o FROM stdin;\n\\.\nINSERT INTO t (a, b) VALUES ({text}, 7);", ["t"])
    assert rows["t"][0]["b"] == "7"
    assert isinstance(rows["t"][0]["a"], Unread)


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("trigger_status", "1" * 200_000, "its trigger_status '1111.*' is not a whole number"),
        ("trigger_status", "1.5", "its trigger_status '1.5' is not a whole number"),
        ("trigger_next_time", "9" * 18, "999999999999999999 is not a moment"),
        ("schedule_conf", "9" * 5_000, "its interval '999.* is not a number of seconds"),
    ],
)
def test_an_odd_number_is_a_reason_and_no_stack_trace(
    tmp_path: Path, column: str, value: str, reason: str
) -> None:
    row = {"id": "1", "executor_handler": "'h'", "glue_type": "'BEAN'", "schedule_type": "'FIX_RATE'"}
    row |= {"schedule_conf": "'30'", "trigger_status": "1", "trigger_next_time": "0"} | {column: value}
    dump = tmp_path / "xxl.sql"
    dump.write_text(f"INSERT INTO xxl_job_info ({','.join(row)}) VALUES ({','.join(row.values())});")
    (told,) = refusals(read_xxl_job(str(dump), SHANGHAI, NOW)).values()
    assert re.match(reason, told)


@pytest.mark.parametrize(
    "hostile",
    [
        "\n" * 200_000,
        " " * 200_000,
        "CREATE TABLE t (a int, b text DEFAULT '" + "\\'" * 100_000,
        "CREATE TABLE t (a int, b text DEFAULT '" + "\\'" * 100_000 + "\\",
        "-- MySQL dump\nINSERT INTO t (a) VALUES ('" + "\\'" * 100_000,
        "CREATE TABLE t (" + "(" * 100_000,
        "CREATE " + "TRIGGER " * 100_000,
        "COPY \n" * 100_000,
        "$a$ $b$" * 100_000,
        "/*" * 100_000,
        "INSERT INTO t (" + "a," * 100_000,
    ],
    ids=range(11),
)
def test_no_part_of_a_dump_is_looked_at_again_and_again(hostile: str) -> None:
    """Else one of these would take minutes to hours."""
    for text in (hostile, f"-- PostgreSQL database dump\n{hostile}"):
        with suppress(BadDump):
            assert read_dump(text, ["t"])[0] in ({}, {"t": []})


def test_a_dump_in_utf_16_is_told(tmp_path: Path) -> None:
    """As a redirection of PowerShell writes it, which spoils what is not ASCII."""
    dump = tmp_path / "xxl.sql"
    dump.write_text("SELECT 1;", encoding="utf-16")
    with pytest.raises(BadSource, match="UTF-16"):
        read_xxl_job(str(dump), SHANGHAI, NOW)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"\x1f\x8b\x08\0", "it is compressed: unpack it with gunzip"),
        (b"PGDMP\x01\x0e", "dump it as --format=plain"),
        (b"SQLite format 3\0", "sqlite:///PATH"),
        (b'<?xml version="1.0"?>\n<mysqldump>', "it is XML: dump it as SQL"),
    ],
    ids=["gzip", "pg_dump", "SQLite", "XML"],
)
def test_a_file_that_is_no_dump_of_sql_is_told_what_it_is(tmp_path: Path, raw: bytes, reason: str) -> None:
    (tmp_path / "dump.gz").write_bytes(raw)
    words = ("--target-url", "http://x", "--timezone", "UTC")
    for source in ("xxl-job", "celery-beat"):
        told = CliRunner().invoke(import_timers, [source, str(tmp_path / "dump.gz"), *words])
        assert (told.exit_code, reason in told.output) == (1, True)


@pytest.mark.parametrize(("names", "told"), [("latin1", "in latin1, with a ? for each"), ("utf8mb4", "")])
def test_a_dump_in_an_encoding_that_lacks_signs_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], names: str, told: str
) -> None:
    dump = tmp_path / "xxl.sql"
    lost = ROW.format("'??'")
    dump.write_text(f"/*!40101 SET NAMES {names} */;\n{HEAD}INSERT INTO xxl_job_info VALUES {lost};")
    assert imported(read_xxl_job(str(dump), SHANGHAI, NOW))
    err = capsys.readouterr().err
    assert (told in err, bool(err)) == (True, bool(told))


REPORTS = "'报表'"


def test_a_text_in_another_encoding_is_refused_where_it_is_asked_for(tmp_path: Path) -> None:
    dump = tmp_path / "xxl.sql"
    dump.write_bytes(f"{HEAD}INSERT INTO xxl_job_info VALUES {ROW.format(REPORTS)};".encode("gbk"))
    (told,) = refusals(read_xxl_job(str(dump), SHANGHAI, NOW)).values()
    assert told == "its executor_param is not text in UTF-8: dump it as utf8mb4 or UTF8"
