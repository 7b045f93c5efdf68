"""XXL-JOB's table: over SQL, from a dump of mysqldump, from a CSV file."""

import csv
from pathlib import Path

import pytest

from tests.cli.importing.imports import MAPPING, NOW, SHANGHAI, database, imported, refusals
from wangtimer.cli.importing.entries import Found, Refusal
from wangtimer.cli.importing.tables import BadSource
from wangtimer.cli.importing.xxl_job_table import read_xxl_job

# As XXL-JOB 2.4 makes it, less its comments and keys.
DDL = """\
CREATE TABLE `xxl_job_info` (
  `id` int(11) NOT NULL,
  `job_group` int(11) NOT NULL COMMENT '执行器主键ID',
  `job_desc` varchar(255) NOT NULL,
  `author` varchar(64) DEFAULT NULL,
  `alarm_email` varchar(255) DEFAULT NULL,
  `schedule_type` varchar(50) NOT NULL DEFAULT 'NONE',
  `schedule_conf` varchar(128) DEFAULT NULL,
  `misfire_strategy` varchar(50) NOT NULL DEFAULT 'DO_NOTHING',
  `executor_route_strategy` varchar(50) DEFAULT NULL,
  `executor_handler` varchar(255) DEFAULT NULL,
  `executor_param` varchar(512) DEFAULT NULL,
  `executor_block_strategy` varchar(50) DEFAULT NULL,
  `executor_timeout` int(11) NOT NULL DEFAULT '0',
  `executor_fail_retry_count` int(11) NOT NULL DEFAULT '0',
  `glue_type` varchar(50) NOT NULL,
  `child_jobid` varchar(255) DEFAULT NULL,
  `trigger_status` tinyint(4) NOT NULL DEFAULT '0',
  `trigger_last_time` bigint(13) NOT NULL DEFAULT '0',
  `trigger_next_time` bigint(13) NOT NULL DEFAULT '0',
  PRIMARY KEY (`id`)
)"""
ROWS = """\
(1,1,'report','x','','CRON','0 0 9 ? * 2','FIRE_ONCE_NOW','FIRST','reportHandler','{"day": 1}',\
'DISCARD_LATER',0,0,'BEAN','',1,0,0),\
(2,1,'it''s \\'quoted\\'','x',NULL,'FIX_RATE','30','DO_NOTHING','SHARDING_BROADCAST',\
'pollHandler','','SERIAL_EXECUTION',60,3,'BEAN','7,8',1,0,1795564805000),\
(3,1,'off','x','a@b','CRON','0 0/5 * * * ?','DO_NOTHING','FIRST','reportHandler','a\\nb',\
'COVER_EARLY',0,0,'BEAN','',0,0,0)"""
BAD_ROWS = """\
(4,1,'by hand','x','','NONE','','DO_NOTHING','FIRST','h','','',0,0,'BEAN','',1,0,0),\
(5,1,'script','x','','CRON','0 0 9 * * ?','DO_NOTHING','FIRST','','','',0,0,'GLUE_SHELL','',1,0,0),\
(6,1,'broken','x','','CRON','0 0 9 * * 2','DO_NOTHING','FIRST','h','','',0,0,'BEAN','',1,0,0),\
(7,1,'delay','x','','FIX_DELAY','30','DO_NOTHING','FIRST','h','','',0,0,'BEAN','',1,0,0)"""


def dump(path: Path, rows: str) -> str:
    path.write_text(
        "-- MySQL dump 10.13\nDROP TABLE IF EXISTS `xxl_job_info`;\n"
        f"{DDL} ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;\n"
        "CREATE TABLE `xxl_job_lock` (`lock_name` varchar(50) NOT NULL, PRIMARY KEY (`lock_name`));\n"
        "INSERT INTO `xxl_job_lock` VALUES ('schedule_lock');\n"
        "/*!40000 ALTER TABLE `xxl_job_info` DISABLE KEYS */;\n"
        f"INSERT INTO `xxl_job_info` VALUES {rows};\n"
    )
    return str(path)


@pytest.fixture(params=["sql", "dump", "csv"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    as_dump = dump(tmp_path / "xxl.sql", ROWS)
    if request.param == "dump":
        return as_dump
    if request.param == "sql":
        ddl = DDL.replace(" COMMENT '执行器主键ID'", "")
        rows = ROWS.replace(r"\'", "''").replace(r"a\nb", "a\nb")
        return database(
            tmp_path / "xxl.db",
            f"{ddl};\nINSERT INTO xxl_job_info VALUES {rows};\n",
        )
    from wangtimer.cli.importing.tables import read_tables

    read = read_tables(as_dump, {"xxl_job_info": ("id",)})["xxl_job_info"]
    with (tmp_path / "jobs.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(read[0]))
        writer.writeheader()
        writer.writerows(read)
    return str(tmp_path / "jobs.csv")


def test_its_jobs_become_timers(source: str) -> None:
    found = imported(read_xxl_job(source, SHANGHAI, NOW))
    assert set(found) == {"reportHandler", "pollHandler", "reportHandler-2"}
    assert found["reportHandler"].document == {
        "key": "reportHandler",
        "schedule": {"cron": "0 0 9 ? * 2", "dialect": "quartz", "timezone": "Asia/Shanghai"},
        "target": {
            "url": "https://jobs.example/reportHandler",
            "json": {"handler": "reportHandler", "param": '{"day": 1}'},
            "timeout": "10m",
        },
        "tags": ["from=test"],
        "overlap": "skip",
        "retry": {"attempts": 1},
        "misfire": {"policy": "fire_latest", "grace": "5s"},
    }
    assert found["pollHandler"].document["schedule"] == {
        "every": "30s",
        "anchorAt": "2026-11-25T00:00:05.000+00:00",
    }
    assert found["pollHandler"].document["misfire"] == {"policy": "skip", "grace": "5s"}
    assert found["reportHandler-2"].document["enabled"] is False
    assert found["reportHandler-2"].document["target"]["json"]["param"] == "a\nb"


def test_what_a_timer_does_not_have_is_noted(source: str) -> None:
    found = imported(read_xxl_job(source, SHANGHAI, NOW))
    assert found["reportHandler"].notes == ()
    assert found["reportHandler-2"].notes == (
        "not taken over: mail about failures (alarm_email a@b)",
        "executor_block_strategy COVER_EARLY breaks off the older run: cancelOlder lets a call under way end",
    )
    assert found["pollHandler"].notes == (
        "not taken over: the jobs that it starts afterwards (child_jobid 7,8)",
        "not taken over: retries by XXL-JOB (executor_fail_retry_count 3)",
        "not taken over: its timeout, in s (executor_timeout 60)",
        "not taken over: it runs on every executor; one call is made here",
        "executor_block_strategy SERIAL_EXECUTION lets any number wait: queueOne lets one wait",
    )


def test_what_becomes_of_overlapping_runs_stays(source: str) -> None:
    found = imported(read_xxl_job(source, SHANGHAI, NOW))
    assert {key: one.document["overlap"] for key, one in found.items()} == {
        "reportHandler": "skip",
        "pollHandler": "queueOne",
        "reportHandler-2": "cancelOlder",
    }


def test_an_overlap_that_is_asked_for_wins_and_is_noted(source: str) -> None:
    found = imported(read_xxl_job(source, SHANGHAI, NOW), terms={"overlap": "skip"})
    assert {one.document["overlap"] for one in found.values()} == {"skip"}
    told = {key: [note for note in one.notes if "--overlap" in note] for key, one in found.items()}
    assert told == {
        "reportHandler": [],
        "pollHandler": ["--overlap makes it skip; as it was, it would be queueOne"],
        "reportHandler-2": ["--overlap makes it skip; as it was, it would be cancelOlder"],
    }


def test_weekday_2_stays_monday(source: str) -> None:
    found = imported(read_xxl_job(source, SHANGHAI, NOW))["reportHandler"]
    # Monday 2026-11-30 09:00 in Shanghai, and each Monday from there on.
    assert found.moments[:2] == [1_796_000_400_000, 1_796_605_200_000]
    assert len(found.moments) == 100


def test_a_weekday_that_shifted_would_be_refused(source: str) -> None:
    """Were the dialect forgotten, this is what would be said."""
    from dataclasses import replace

    entry = next(one for one in read_xxl_job(source, SHANGHAI, NOW) if not isinstance(one, Refusal))
    as_unix: Found = replace(entry, schedule={"cron": "0 0 9 ? * 2", "timezone": "Asia/Shanghai"})
    assert refusals([as_unix]) == {
        "xxl_job_info 1": "moment 1 is 2026-11-30T09:00:00.000+08:00 (Monday) there and "
        "2026-12-01T09:00:00.000+08:00 (Tuesday) here"
    }


def test_what_is_no_timer_is_refused(tmp_path: Path) -> None:
    found = refusals(read_xxl_job(dump(tmp_path / "xxl.sql", BAD_ROWS), SHANGHAI, NOW))
    assert found == {
        "xxl_job_info 4": "it has no schedule: it is started by hand or by another job",
        "xxl_job_info 5": "its glue_type is GLUE_SHELL, code that XXL-JOB keeps: make it a service that can be called",
        "xxl_job_info 6": "day '*' and weekday '2': Quartz wants ? for exactly one of them",
        "xxl_job_info 7": "its schedule_type FIX_DELAY is not CRON, FIX_RATE or NONE",
    }


def test_versions_before_2_3_have_only_cron_expressions(tmp_path: Path) -> None:
    url = database(
        tmp_path / "old.db",
        "CREATE TABLE xxl_job_info (id int, job_cron varchar(128), executor_handler text, glue_type text, "
        "trigger_status int);\nINSERT INTO xxl_job_info VALUES (1, '0 0 9 * * ?', 'old', 'BEAN', 1);\n",
    )
    assert imported(read_xxl_job(url, SHANGHAI, NOW))["old"].document["schedule"]["cron"] == "0 0 9 * * ?"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("INSERT INTO `xxl_job_info` VALUES (1,2);\n", "line 1: no CREATE TABLE gives the columns"),
        (f"{DDL};\nINSERT INTO `xxl_job_info` VALUES (1,2);\n", "line 23: 2 values for 19 columns"),
        ("SELECT 1;\n", "has no table xxl_job_info"),
    ],
)
def test_a_dump_that_cannot_be_read_is_told_by_its_line(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "bad.sql").write_text(text)
    with pytest.raises(BadSource, match=reason):
        read_xxl_job(str(tmp_path / "bad.sql"), SHANGHAI, NOW)


def test_a_database_that_is_not_there_is_told_without_its_password() -> None:
    with pytest.raises(BadSource, match="localhost") as caught:
        read_xxl_job("mysql+mysqldb://root:secret@localhost:1/xxl", SHANGHAI, NOW)
    assert "secret" not in str(caught.value)


def test_a_name_may_have_a_url_of_its_own(source: str) -> None:
    from dataclasses import replace

    from wangtimer.cli.importing.imported import Imported, Importing

    mapping = replace(
        MAPPING, urls={"pollHandler": "https://poll.example/{key}"}, headers={"X-A": "b"}, method="PUT"
    )
    each = Importing("test", mapping, NOW).each(read_xxl_job(source, SHANGHAI, NOW))
    targets = {one.entry.key: one.document["target"] for one in each if isinstance(one, Imported)}
    assert targets["pollHandler"]["url"] == "https://poll.example/pollHandler"
    assert targets["reportHandler"] == {
        "url": "https://jobs.example/reportHandler",
        "method": "PUT",
        "headers": {"X-A": "b"},
        "json": {"handler": "reportHandler", "param": '{"day": 1}'},
        "timeout": "10m",
    }
