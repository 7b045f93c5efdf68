"""Quartz's tables of a JDBC job store."""

import re
from pathlib import Path

import pytest

from tests.cli.importing.imports import NOW, database, imported, refusals
from wangtimer.cli.importing.quartz_tables import read_properties, read_quartz_tables
from wangtimer.cli.importing.tables import BadSource

# As tables_mysql_innodb.sql of Quartz 2.3 makes them, less keys.
DDL = """\
CREATE TABLE QRTZ_JOB_DETAILS (SCHED_NAME VARCHAR(120) NOT NULL, JOB_NAME VARCHAR(190) NOT NULL,
  JOB_GROUP VARCHAR(190) NOT NULL, JOB_CLASS_NAME VARCHAR(250) NOT NULL, JOB_DATA BLOB NULL);
CREATE TABLE QRTZ_TRIGGERS (SCHED_NAME VARCHAR(120) NOT NULL, TRIGGER_NAME VARCHAR(190) NOT NULL,
  TRIGGER_GROUP VARCHAR(190) NOT NULL, JOB_NAME VARCHAR(190) NOT NULL, JOB_GROUP VARCHAR(190) NOT NULL,
  NEXT_FIRE_TIME BIGINT(13) NULL, TRIGGER_STATE VARCHAR(16) NOT NULL, TRIGGER_TYPE VARCHAR(8) NOT NULL,
  START_TIME BIGINT(13) NOT NULL, END_TIME BIGINT(13) NULL, CALENDAR_NAME VARCHAR(190) NULL,
  MISFIRE_INSTR SMALLINT(2) NULL, JOB_DATA BLOB NULL);
CREATE TABLE QRTZ_SIMPLE_TRIGGERS (SCHED_NAME VARCHAR(120) NOT NULL, TRIGGER_NAME VARCHAR(190) NOT NULL,
  TRIGGER_GROUP VARCHAR(190) NOT NULL, REPEAT_COUNT BIGINT(7) NOT NULL, REPEAT_INTERVAL BIGINT(12) NOT NULL,
  TIMES_TRIGGERED BIGINT(10) NOT NULL);
CREATE TABLE QRTZ_CRON_TRIGGERS (SCHED_NAME VARCHAR(120) NOT NULL, TRIGGER_NAME VARCHAR(190) NOT NULL,
  TRIGGER_GROUP VARCHAR(190) NOT NULL, CRON_EXPRESSION VARCHAR(120) NOT NULL, TIME_ZONE_ID VARCHAR(80));
"""
START = NOW - 3_600_000


def trigger(
    name: str,
    kind: str,
    *,
    state: str = "WAITING",
    misfire: int = 0,
    end: int = 0,
    calendar: str = "NULL",
    start: int = START,
    data: str = "NULL",
    has_job: bool = True,
) -> str:
    values = (
        f"'s','{name}','G','{name}Job','J',0,'{state}','{kind}',{start},{end},{calendar},{misfire},{data}"
    )
    job = f"INSERT INTO QRTZ_JOB_DETAILS VALUES ('s','{name}Job','J','com.example.Job',NULL);\n"
    return f"INSERT INTO QRTZ_TRIGGERS VALUES ({values});\n{job if has_job else ''}"


def cron(name: str, expression: str, zone: str = "Asia/Shanghai", **more: object) -> str:
    made = trigger(name, "CRON", **more)  # type: ignore[arg-type]
    return f"{made}INSERT INTO QRTZ_CRON_TRIGGERS VALUES ('s','{name}','G','{expression}','{zone}');\n"


def simple(name: str, count: int, interval: int, **more: object) -> str:
    made = trigger(name, "SIMPLE", **more)  # type: ignore[arg-type]
    return f"{made}INSERT INTO QRTZ_SIMPLE_TRIGGERS VALUES ('s','{name}','G',{count},{interval},3);\n"


GOOD = (
    cron(
        "close",
        "0 0 18 ? * MON-FRI",
        misfire=2,
        data="x'2354756520 4e6f760a6c696d69743d3130300a'".replace(" ", ""),
        has_job=False,
    )
    + cron("month", "0 0 2 L-1 * ?", state="PAUSED", end=NOW + 90 * 86_400_000)
    + simple("poll", -1, 90_000)
    + simple("five", 4, 1_800_000)
    + simple("until", -1, 60_000, end=NOW + 600_000)
    + simple("once", 0, 0, start=NOW + 60_000)
    + "INSERT INTO QRTZ_JOB_DETAILS VALUES ('s','closeJob','J','com.example.Close',x'aced0005');\n"
)


@pytest.fixture(params=["sql", "dump"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sql":
        return database(tmp_path / "quartz.db", DDL + GOOD)
    (tmp_path / "quartz.sql").write_text(DDL + GOOD)
    return str(tmp_path / "quartz.sql")


def test_cron_triggers_become_timers_of_the_quartz_dialect(source: str) -> None:
    found = imported(read_quartz_tables(source))
    close = found["G.close"]
    assert close.document["schedule"] == {
        "cron": "0 0 18 ? * MON-FRI",
        "dialect": "quartz",
        "timezone": "Asia/Shanghai",
        "startAt": "2026-11-24T23:00:00.000+00:00",
    }
    assert close.document["target"] == {
        "url": "https://jobs.example/closeJob",
        "json": {"job": "J.closeJob", "class": "com.example.Close", "data": {"limit": "100"}},
        "timeout": "10m",
    }
    assert close.document["misfire"] == {"policy": "skip", "grace": "1m"}
    assert close.notes == ("its job data are a Java object and are not taken over",)
    month = found["G.month"]
    assert month.document["enabled"] is False
    assert month.document["schedule"]["endAt"] == "2027-02-23T00:00:00.000+00:00"
    assert len(month.moments) == 3


@pytest.mark.parametrize("state", ["COMPLETE", "ERROR", "DELETED"])
def test_a_trigger_that_fires_no_more_becomes_a_disabled_timer(tmp_path: Path, state: str) -> None:
    made = cron("done", "0 0 9 * * ?", state=state)
    found = imported(read_quartz_tables(database(tmp_path / "quartz.db", DDL + made)))["G.done"]
    assert found.document["enabled"] is False
    assert found.notes == (f"its state is {state}: it becomes a disabled timer",)


@pytest.mark.parametrize("state", ["WAITING", "ACQUIRED", "EXECUTING", "BLOCKED"])
def test_a_trigger_that_goes_on_becomes_an_enabled_timer(tmp_path: Path, state: str) -> None:
    made = cron("on", "0 0 9 * * ?", state=state)
    found = imported(read_quartz_tables(database(tmp_path / "quartz.db", DDL + made)))["G.on"]
    assert "enabled" not in found.document
    assert found.notes == ()


@pytest.mark.parametrize(("flag", "overlap"), [("1", "queueOne"), ("0", "skip")])
def test_a_job_that_may_not_run_twice_at_once_waits(tmp_path: Path, flag: str, overlap: str) -> None:
    ddl = DDL.replace("JOB_DATA BLOB NULL)", "JOB_DATA BLOB NULL, IS_NONCONCURRENT VARCHAR(1))", 1)
    job = f"INSERT INTO QRTZ_JOB_DETAILS VALUES ('s','pollJob','J','com.example.Poll',NULL,'{flag}');\n"
    made = ddl + cron("poll", "0 0 9 * * ?", has_job=False) + job
    found = imported(read_quartz_tables(database(tmp_path / "quartz.db", made)))["G.poll"]
    assert found.document["overlap"] == overlap
    assert bool(found.notes) is (flag == "1")


def test_simple_triggers_become_intervals_and_single_moments(source: str) -> None:
    found = imported(read_quartz_tables(source))
    begin = "2026-11-24T23:00:00.000+00:00"
    assert found["G.poll"].document["schedule"] == {"every": "90000ms", "anchorAt": begin, "startAt": begin}
    assert found["G.five"].document["schedule"]["maxFirings"] == 5
    # Of its five moments from 23:00 on, 01:00 is the last.
    assert found["G.five"].moments == [NOW + 1_800_000, NOW + 3_600_000]
    assert found["G.until"].moments == [NOW + 60_000 * number for number in range(1, 10)]
    assert found["G.once"].document["schedule"] == {"at": "2026-11-25T00:01:00.000+00:00"}


def test_what_is_no_timer_is_refused(tmp_path: Path) -> None:
    bad = (
        cron("holidays", "0 0 9 * * ?", calendar="'cn'")
        + cron("nowhere", "0 0 9 * * ?", zone="Mars/Olympus")
        + trigger("daily", "DAILY_I")
        + simple("fast", -1, 500)
        + simple("past", 0, 0)
        + cron("late", "30 30 1 * * ?", zone="America/New_York", start=0)
    )
    found = refusals(read_quartz_tables(database(tmp_path / "quartz.db", DDL + bad)))
    assert "excludes the days of the Quartz calendar 'cn'" in found["trigger G.holidays"]
    assert found["trigger G.nowhere"].startswith("'Mars/Olympus' is not an IANA time zone; ")
    assert found["trigger G.daily"] == "its type is DAILY_I, and only CRON and SIMPLE can be read"
    assert found["trigger G.fast"] == "its interval is 500 ms, and the shortest here is a second"
    assert found["trigger G.past"] == "it has no future moment"
    # Within its next 100 days no clock changes in New York.
    assert "trigger G.late" not in found


def test_a_clock_change_is_refused_and_may_be_accepted(tmp_path: Path) -> None:
    entries = read_quartz_tables(
        database(
            tmp_path / "quartz.db",
            DDL
            + cron("spring", "0 30 2 8-20 3 ?", zone="Europe/Berlin", start=0)
            + cron("gap", "0 30 2 20-31 3 ?", zone="Europe/Berlin", start=0),
        )
    )
    assert refusals(entries) == {
        "trigger G.gap": "moment 9 is 2027-03-29T02:30:00.000+02:00 (Monday) there and "
        "2027-03-28T03:00:00.000+02:00 (Sunday) here; they differ only around clock changes of Europe/Berlin: "
        "--accept-clock-changes imports it with WangTimer's moments there"
    }
    taken = imported(entries, accepts_clock_changes=True)["G.gap"]
    assert taken.notes[0].startswith("around a clock change, moment 9 is 2027-03-29")


@pytest.mark.parametrize(
    "gone", [("CRON_TRIGGERS", "on"), ("SIMPLE_TRIGGERS", "each"), ("JOB_DETAILS", "on", "each")]
)
def test_a_dump_without_a_table_says_which_one_is_missing(tmp_path: Path, gone: tuple[str, ...]) -> None:
    """Whether the table itself is missing or only its rows."""
    table, *names = gone
    rows = cron("on", "0 0 9 * * ?") + simple("each", -1, 90_000)
    without = re.sub(rf"INSERT INTO QRTZ_{table} .*\n", "", rows)
    reason = f"its row of {table} is missing: dump all of that table too"
    for ddl in (DDL, re.sub(rf"CREATE TABLE QRTZ_{table} [^;]*;\n", "", DDL)):
        dump = tmp_path / "quartz.sql"
        dump.write_text(ddl + without)
        assert refusals(read_quartz_tables(str(dump))) == {f"trigger G.{name}": reason for name in names}


def test_another_prefix_may_be_named(tmp_path: Path) -> None:
    url = database(tmp_path / "quartz.db", (DDL + GOOD).replace("QRTZ_", "my_"))
    assert len(read_quartz_tables(url, "MY_")) == 6
    with pytest.raises(BadSource, match="has no table qrtz_triggers"):
        read_quartz_tables(url)


# As Properties.store of Java 17 writes it.
STORED = (
    "#\n#Sun Nov 29 12:06:58 UTC 2026\npath=C\\:\\\\data\nmy\\ key=v\nat=12\\:30\nname=\\u017C\\u00F3\\u0142w\n"
    "text=line1\\nline2\nurl=https\\://shop.example/x?a\\=b\nsmile=\\uD83D\\uDE00\nempty=\nspace=\\ a \n"
)


def test_properties_are_read_as_java_reads_them() -> None:
    assert read_properties(STORED) == {
        "path": "C:\\data",
        "my key": "v",
        "at": "12:30",
        "name": "żółw",
        "text": "line1\nline2",
        "url": "https://shop.example/x?a=b",
        "smile": "😀",
        "empty": "",
        "space": " a ",
    }
    by_hand = "! a comment \\\r\n  a : b\\\n   c\r\n\td  e\nf\n\xa0g=\x85h\n\n  # another\ni = \\\\"
    assert read_properties(by_hand) == {"a": "bc", "d": "e", "f": "", "\xa0g": "\x85h", "i": "\\"}


@pytest.mark.parametrize("written", [f"x'{STORED.encode().hex()}'", f"'\\x{STORED.encode().hex()}'"])
def test_properties_come_from_a_blob_of_any_server(tmp_path: Path, written: str) -> None:
    dump = tmp_path / "quartz.sql"
    dump.write_text(f"SET standard_conforming_strings = on;\n{DDL}{cron('t', '0 0 9 ? * MON', data=written)}")
    found = imported(read_quartz_tables(str(dump)))["G.t"]
    assert found.document["target"]["json"]["data"]["url"] == "https://shop.example/x?a=b"
    assert found.notes == ()


def test_a_fixed_zone_of_java_is_the_iana_zone_of_the_other_sign(tmp_path: Path) -> None:
    triggers = cron("t", "0 0 9 ? * MON", zone="GMT+08:00") + cron("u", "0 0 9 ? * MON", zone="GMT+05:30")
    entries = read_quartz_tables(database(tmp_path / "quartz.db", DDL + triggers))
    assert "'GMT+05:30' is not an IANA time zone; " in refusals(entries)["trigger G.u"]
    found = imported(entries[:1])["G.t"]
    assert found.document["schedule"]["timezone"] == "Etc/GMT-8"
    # Monday 2026-11-30 09:00 in Shanghai.
    assert found.moments[0] == 1_796_000_400_000
