"""Tables: folders of CSV files, and the values of rows."""

import csv
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.cli.importing.imports import NOW, SHANGHAI, imported
from wangtimer.cli.importing.entries import NotTaken
from wangtimer.cli.importing.quartz_tables import read_quartz_tables
from wangtimer.cli.importing.sql_dump import Unread
from wangtimer.cli.importing.tables import (
    BadSource,
    flag_of,
    moment_of,
    number_of,
    read_tables,
    shown_source,
)
from wangtimer.cli.importing.xxl_job_table import read_xxl_job


def test_a_folder_has_a_csv_file_of_each_table(tmp_path: Path) -> None:
    (tmp_path / "QRTZ_TRIGGERS.csv").write_text(
        "SCHED_NAME,TRIGGER_NAME,TRIGGER_GROUP,JOB_NAME,JOB_GROUP,TRIGGER_STATE,TRIGGER_TYPE,START_TIME,END_TIME,MISFIRE_INSTR\n"
        "s,close,G,closeJob,J,WAITING,CRON,1795564800000,0,1\n"
    )
    (tmp_path / "qrtz_cron_triggers.csv").write_text(
        "\ufeffSCHED_NAME,TRIGGER_NAME,TRIGGER_GROUP,CRON_EXPRESSION,TIME_ZONE_ID\n"
        "s,close,G,0 0 18 ? * 6,Asia/Shanghai\n"
    )
    (tmp_path / "QRTZ_JOB_DETAILS.csv").write_text(
        "SCHED_NAME,JOB_NAME,JOB_GROUP,JOB_CLASS_NAME\ns,closeJob,J,com.example.Close\n"
    )
    found = imported(read_quartz_tables(str(tmp_path)))["G.close"]
    assert found.document["schedule"]["cron"] == "0 0 18 ? * 6"
    # Friday, 2026-11-27.
    assert found.moments[0] == 1_795_773_600_000


def test_values_are_read_as_each_database_gives_them() -> None:
    row = {
        "n": "7.0",
        "none": None,
        "t": "t",
        "f": "0",
        "at": "2026-11-25 08:00:00+08:00",
        "naive": "2026-11-25 00:00:00",
    }
    assert (number_of(row, "n"), number_of(row, "none"), number_of(row, "gone")) == (7, None, None)
    assert (flag_of(row, "t"), flag_of(row, "f")) == (True, False)
    assert moment_of(row, "at", None) == moment_of(row, "naive", ZoneInfo("UTC"))


def test_a_url_is_shown_without_its_password() -> None:
    assert shown_source("mysql://root:a@b@host/db") == "mysql://host/db"
    assert shown_source("jobs.sql") == "jobs.sql"


def test_what_a_row_does_not_have_is_told() -> None:
    row = {"a": "x", "at": "soon", "unread": Unread("is now()"), "far": "0001-01-01 00:00:00+14:00"}
    for read, name, reason in (
        (number_of, "a", "its a 'x' is not a whole number"),
        (lambda row, name: moment_of(row, name, SHANGHAI), "at", "its at 'soon' is not a moment"),
        (lambda row, name: moment_of(row, name, SHANGHAI), "far", "is not a moment"),
        (flag_of, "unread", r"its unread is now\(\)"),
    ):
        with pytest.raises(NotTaken, match=reason):
            read(row, name)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("id,executor_handler\n1,a,b\n", "line 2: 3 values for 2 columns"),
        ("id,executor_handler\n1\n", "line 2: 1 values for 2 columns"),
        ("id;executor_handler\n1;a\n", "line 1 has no comma: separate values by commas"),
        ("id\texecutor_handler\n1\ta,b\n", "line 1 has no comma: separate values by commas"),
        ('id,a\n1,"b\n', "unexpected end of data"),
    ],
)
def test_a_csv_file_whose_rows_are_not_those_of_its_head_is_refused(
    tmp_path: Path, text: str, reason: str
) -> None:
    (tmp_path / "jobs.csv").write_text(text)
    with pytest.raises(BadSource, match=reason):
        read_xxl_job(str(tmp_path / "jobs.csv"), SHANGHAI, NOW)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t (id, of) VALUES (1, 'a'), (2, 'b'), ({}, 'a');",
        "INSERT INTO t (id, of) VALUES (2, 'b');\nREPLACE INTO t (id, of) VALUES (1, 'a');\n"
        "INSERT INTO t (id, of) VALUES ({}, 'a') ON DUPLICATE KEY UPDATE id=7;",
    ],
    ids=["twice", "instead"],
)
def test_a_second_row_with_the_same_primary_key_is_refused(tmp_path: Path, text: str) -> None:
    dump = tmp_path / "t.sql"
    dump.write_text(text.format(3))
    assert len(read_tables(str(dump), {"T": ("id", "of")})["t"]) > 1
    dump.write_text(text.format(1))
    with pytest.raises(BadSource, match=r"t.sql: two rows of t have the same id, of \(1, a\): "):
        read_tables(str(dump), {"T": ("id", "of")})


def test_rows_without_a_primary_key_are_no_twins(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,of\n,a\nNULL,a\n")
    assert len(read_tables(str(tmp_path / "t.csv"), {"t": ("id",)})["t"]) == 2


def test_a_text_of_a_csv_file_may_have_any_sign(tmp_path: Path) -> None:
    text = "a\u2028b\fc\r\nd"
    rows = [["id", "executor_handler", "executor_param", "trigger_status"], ["1", "h", text, r"\N"]]
    with (tmp_path / "jobs.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    assert read_tables(str(tmp_path / "jobs.csv"), {"t": ("id",)})["t"] == [
        {"id": "1", "executor_handler": "h", "executor_param": text, "trigger_status": None}
    ]
