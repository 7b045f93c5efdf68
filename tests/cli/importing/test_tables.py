"""Tables over dumps of several servers, and folders of CSV files."""

from pathlib import Path

import pytest

from tests.cli.importing.imports import imported
from wangtimer.cli.importing.quartz_tables import read_quartz_tables
from wangtimer.cli.importing.sql_dump import BadDump, read_dump
from wangtimer.cli.importing.tables import flag_of, moment_of, number_of, shown_source


@pytest.mark.parametrize(
    ("text", "row"),
    [
        # mysqldump
        (
            "CREATE TABLE `t` (\n  `a` int NOT NULL COMMENT 'x, (y',\n  `b` text,\n  PRIMARY KEY (`a`),\n"
            "  KEY `k` (`b`(9))\n) ENGINE=InnoDB;\nINSERT INTO `t` VALUES (1,'it\\'s; (a), \\\\ \\n');\n",
            {"a": 1, "b": "it's; (a), \\ \n"},
        ),
        (
            "CREATE TABLE `t` (`a` blob, `b` blob);\nINSERT INTO `t` VALUES (_binary 'x\\0',0xACED);\n",
            {"a": "x\0", "b": b"\xac\xed"},
        ),
        # pg_dump --inserts
        (
            "CREATE TABLE public.t (\n    a character varying(9) NOT NULL,\n    b bytea\n);\n"
            "INSERT INTO public.t VALUES ('c:\\dir ''x''', '\\xaced');\n",
            {"a": "c:\\dir 'x'", "b": b"\xac\xed"},
        ),
        ("INSERT INTO public.t (a, b) VALUES (true, -1.5);\n", {"a": 1, "b": -1.5}),
        # sqlite3 .dump
        ("CREATE TABLE \"t\" (a, -- the first\n b int);\nINSERT INTO t VALUES(NULL,X'6162');\n", {"b": b"ab"}),
        ("CREATE TABLE t(a INTEGER PRIMARY KEY, b int);\nINSERT INTO \"t\" VALUES(7,+8);\n", {"a": 7, "b": 8}),
    ],
)  # fmt: skip
def test_each_dump_has_its_own_ways(text: str, row: dict[str, object]) -> None:
    found = read_dump(text)["t"]
    assert [{name: one[name] for name in row} for one in found] == [row]


def test_a_folder_has_a_csv_file_of_each_table(tmp_path: Path) -> None:
    (tmp_path / "QRTZ_TRIGGERS.csv").write_text(
        "SCHED_NAME,TRIGGER_NAME,TRIGGER_GROUP,JOB_NAME,JOB_GROUP,TRIGGER_STATE,TRIGGER_TYPE,START_TIME,END_TIME,MISFIRE_INSTR\n"
        "s,close,G,closeJob,J,WAITING,CRON,1795564800000,0,1\n"
    )
    (tmp_path / "qrtz_cron_triggers.csv").write_text(
        "\ufeffSCHED_NAME,TRIGGER_NAME,TRIGGER_GROUP,CRON_EXPRESSION,TIME_ZONE_ID\n"
        "s,close,G,0 0 18 ? * 6,Asia/Shanghai\n"
    )
    found = imported(read_quartz_tables(str(tmp_path)))["G.close"]
    assert found.document["schedule"]["cron"] == "0 0 18 ? * 6"
    # Friday, 2026-11-27.
    assert found.moments[0] == 1_795_773_600_000


def test_values_are_read_as_each_database_gives_them() -> None:
    row = {
        "n": "7.0",
        "none": "NULL",
        "t": "t",
        "f": "0",
        "at": "2026-11-25 08:00:00+08:00",
        "naive": "2026-11-25 00:00:00",
    }
    assert (number_of(row, "n"), number_of(row, "none"), number_of(row, "gone")) == (7, None, None)
    assert (flag_of(row, "t"), flag_of(row, "f")) == (True, False)
    assert moment_of(row, "at") == moment_of(row, "naive")


def test_a_url_is_shown_without_its_password() -> None:
    assert shown_source("mysql://root:a@b@host/db") == "mysql://host/db"
    assert shown_source("jobs.sql") == "jobs.sql"


@pytest.mark.parametrize("end", ["", "\\"])
def test_no_character_of_a_text_that_does_not_end_is_looked_at_twice(end: str) -> None:
    """Else this one would take an hour."""
    hostile = "'" + "\\'" * 1_000_000 + end
    assert read_dump(f"CREATE TABLE t (a int, b text DEFAULT {hostile}") == {"t": []}
    with pytest.raises(BadDump):
        read_dump(f"CREATE TABLE t (a text);\nINSERT INTO t VALUES ({hostile}")
