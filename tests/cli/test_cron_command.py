"""`wangtimer cron` says what the API's preview says, without a server."""

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner, Result

from tests.api.world import World
from wangtimer.cli.main import commands
from wangtimer.cli.timers.cron_command import preview
from wangtimer.core.cron.cron import Cron
from wangtimer.core.kinds.kinds import describe
from wangtimer.core.words.words import Language


def run(*arguments: str) -> Result:
    return CliRunner().invoke(commands, ["cron", *arguments])


def test_it_shows_moments_words_in_both_languages_and_warnings() -> None:
    schedule = Cron.read("30 2 31 * *", "America/New_York")
    shown = run("30 2 31 * *", "--tz", "America/New_York", "-n", "3").output
    assert "America/New_York" in shown
    assert shown.count("T02:30:00.000-0") == 3
    assert shown.splitlines()[:2] == [describe(schedule, language) for language in Language]
    assert "warning: 31 is not in every month (并非每个月都有 31 日)" in shown


def test_a_zone_may_be_called_timezone() -> None:
    by_name, by_short = (run("0 9 * * *", name, "Asia/Tokyo", "-n", "1") for name in ("--timezone", "--tz"))
    assert by_name.exit_code == 0, by_name.stderr
    assert "T09:00:00.000+09:00" in by_name.output
    assert by_name.output == by_short.output


@pytest.mark.parametrize(
    ("expression", "zone"),
    [
        ("0 9 * * 1-5", "Asia/Shanghai"),
        ("0 30 2 * * *", "America/New_York"),
        ("0 0 29 2 *", "UTC"),
        ("0 0 30 2 *", "UTC"),
        ("*/7 * 1,15 * 5#5", "Europe/London"),
    ],
)
def test_its_json_is_what_the_api_answers_to_a_preview(
    small_world: World, expression: str, zone: str
) -> None:
    answered = small_world.client.post(
        "/v1/schedules:preview",
        headers={"WangTimer-App": "shop"},
        json={"schedule": {"cron": expression, "timezone": zone}, "count": 7},
    )
    assert preview(Cron.read(expression, zone), small_world.clock.now, 7) == answered.json
    assert json.loads(run(expression, "--tz", zone, "--json").output).keys() == (answered.json or {}).keys()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["61 * * * *"], "wangtimer: cron: "),
        (["* * * *"], "wangtimer: cron: "),
        (
            ["0 9 * * *", "--tz", "Mars/Base"],
            "wangtimer: timezone: 'Mars/Base' is not an IANA time zone; write",
        ),
    ],
)
def test_what_cannot_be_read_is_one_line_and_exit_code_2(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(message)
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_what_was_meant_is_said_once() -> None:
    assert "; meant:" not in run("0 9 * * *", "--tz", "asia/shanghai").stderr
    assert run("0 9 * * MONDAY").stderr.endswith("; meant: 0 9 * * mon\n")


def test_a_schedule_that_never_fires_is_a_warning() -> None:
    result = run("0 0 30 2 *")
    assert result.exit_code == 0
    assert "never fires" in result.output


def test_it_asks_neither_settings_nor_a_server() -> None:
    environment = {**os.environ, "WANGTIMER_DATABASE_URL": "nonsense", "WANGTIMER_STORE_URL": "nonsense"}
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from wangtimer.cli import main; main()",
            "cron",
            "@daily",
            "-n",
            "1",
            "--json",
        ],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert len(json.loads(done.stdout)["nextMoments"]) == 1, done.stderr
