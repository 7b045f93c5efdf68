"""Crontabs: lines, variables, commands."""

from zoneinfo import ZoneInfo

import pytest

from tests.cli.importing.imports import SHANGHAI, imported, refusals
from wangtimer.cli.importing.crontab_file import is_system_crontab, may_be_of_a_system, read_crontab_file
from wangtimer.cli.importing.entries import Entry, Found, Refusal


def read(
    text: str, *, is_system: bool = False, daemon: ZoneInfo | None = SHANGHAI, tz_of_job: bool = False
) -> list[Found]:
    return read_crontab_file(text, "tab", is_system, daemon, tz_of_job)


def bodies(text: str, is_system: bool = False) -> list[object]:
    return [one.body for one in read(text, is_system=is_system) if isinstance(one, Entry)]


def test_its_lines_become_timers() -> None:
    found = imported(
        read(
            "# m h dom mon dow command\nMAILTO=ops@example.com\n\n"
            "*/5 9-17 * * 1-5\t/usr/local/bin/close.sh --limit=3\n@daily cd /srv && ./backup\n"
        )
    )
    assert found["close.sh"].document == {
        "key": "close.sh",
        "schedule": {"cron": "*/5 9-17 * * 1-5", "timezone": "Asia/Shanghai"},
        "target": {
            "url": "https://jobs.example/close.sh",
            "json": {"command": "/usr/local/bin/close.sh --limit=3"},
            "timeout": "10m",
        },
        "tags": ["from=test"],
        "overlap": "skip",
        "retry": {"attempts": 1},
    }
    assert found["close.sh"].notes == ("the variables of its environment are not taken over: MAILTO",)
    assert found["backup"].document["schedule"]["cron"] == "@daily"
    assert found["backup"].entry.place == "tab:5"


def test_a_percent_sign_ends_the_command_and_begins_its_input() -> None:
    assert bodies("0 9 * * * mail -s 50\\% ops%Hello%World\n") == [
        {"command": "mail -s 50% ops", "input": "Hello\nWorld\n"}
    ]
    assert bodies("0 9 * * * date +\\%F\n") == [{"command": "date +%F"}]


def test_a_system_crontab_has_a_user_in_each_line() -> None:
    assert bodies("-17 * * * * root run-parts /etc/cron.hourly\n@daily www x y\n", is_system=True) == [
        {"command": "run-parts /etc/cron.hourly", "user": "root"},
        {"command": "x y", "user": "www"},
    ]
    assert is_system_crontab("/etc/crontab")
    assert is_system_crontab("/etc/cron.d/backup")
    assert not is_system_crontab("/var/spool/cron/crontabs/root")


@pytest.mark.parametrize(
    "text",
    [
        "# m h dom mon dow user\tcommand\n17 *\t* * *\troot    cd / && run-parts --report /etc/cron.hourly\n",
        "# *  *  *  *  * user-name  command to be executed\n0 1 * * * root poll.sh\n",
        "#minute\thour\tmday\tmonth\twday\twho\tcommand\n0 1 * * * root poll.sh\n",
        "PATH=/bin\n@daily www-data /srv/poll.sh\n-17 * * * * root test -x /a || b\n",
    ],
)
def test_a_system_crontab_is_known_by_its_head_or_by_the_user_in_each_line(text: str) -> None:
    assert may_be_of_a_system(text)


@pytest.mark.parametrize(
    "text",
    [
        "# m h  dom mon dow   command\n* * * * * cd /srv && php artisan schedule:run\n",
        "0 9 * * 1-5 close --all\n",
        "0 9 * * * date +\\%F\n",
        "0 9 * * * poll >> /var/log/poll 2>&1\n",
        "0 9 * * * php /srv/artisan\n0 8 * * * curl https://shop.example\n",
        "0 9 * * * root /srv/poll.sh\n0 9 * * * poll\n",
        "0 9 * * * root /srv/poll.sh\n0 9 * * * A=1 poll x\n",
        "# m h dom mon dow user command\n",
        "",
    ],
)
def test_a_command_is_not_taken_for_a_user(text: str) -> None:
    assert not may_be_of_a_system(text)


def test_the_same_program_twice_gets_a_number() -> None:
    assert set(imported(read("0 1 * * * X=1 /a/job\n0 2 * * * job -v\n"))) == {"job", "job-2"}


def test_cron_tz_is_the_zone_of_the_lines_below_it() -> None:
    found = imported(read("0 1 * * * a\nCRON_TZ='Europe/Berlin'\n0 1 * * * b\nCRON_TZ=\n0 1 * * * c\n"))
    zones = {key: one.document["schedule"]["timezone"] for key, one in found.items()}
    assert zones == {"a": "Asia/Shanghai", "b": "Europe/Berlin", "c": "Asia/Shanghai"}


def test_what_is_below_a_tz_is_refused_unless_it_is_said_whose_it_is() -> None:
    text = "TZ=Europe/Berlin\n0 1 * * * a\n"
    assert "TZ=Europe/Berlin is set above it" in refusals(read(text))["tab:2"]
    found = imported(read(text, tz_of_job=True))["a"]
    assert found.document["schedule"]["timezone"] == "Asia/Shanghai"
    assert refusals(read(text.replace("Europe/Berlin", "Asia/Shanghai"))) == {}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("@reboot /usr/bin/start", "@reboot is not a moment"),
        ("@every_minute x", "@every_minute is none of @yearly"),
        ("0 9 * * *", "it has no command"),
        ("0 9 * * 8 x", "day of week '8' is none that cron reads"),
        ("5/10 * * * * x", "crons differ in what it means"),
        ("0 0 30 2 * x", "never fires"),
    ],
)
def test_what_is_no_timer_is_refused_by_its_line(line: str, reason: str) -> None:
    assert reason in refusals(read(f"# x\n{line}\n"))["tab:2"]


def test_a_day_of_every_second_day_and_a_weekday_is_refused_with_its_first_differing_moment() -> None:
    reason = refusals(read("0 0 */2 * 1 x\n"))["tab:1"]
    assert reason == (
        "moment 1 is 2026-12-07T00:00:00.000+08:00 (Monday) there and "
        "2026-11-27T00:00:00.000+08:00 (Friday) here"
    )


def test_a_line_without_a_known_zone_is_refused() -> None:
    found = read("0 9 * * * x\nCRON_TZ=UTC\n0 9 * * * y\nCRON_TZ=Mars/Olympus\n0 9 * * * z\n", daemon=None)
    assert [type(one) for one in found] == [Refusal, Entry, Refusal]
    assert refusals(found) == {
        "tab:1": "its zone is not known; name the zone of its machine with --timezone",
        "tab:5": "'Mars/Olympus' is not an IANA time zone; write a name such as UTC, Asia/Shanghai or Europe/London",
    }


def test_a_line_ends_where_cron_ends_it() -> None:
    text = "0 9 * * * say a\u2028b\x0cc\x85d\x1ce\r\n0 10 * * *\tf"
    assert bodies(text) == [{"command": "say a\u2028b\x0cc\x85d\x1ce"}, {"command": "f"}]


@pytest.mark.parametrize("space", ["\u3000", "\x0c", "\xa0"])
def test_only_spaces_and_tabs_part_fields(space: str) -> None:
    (found,) = read(f"0 9 * * *{space}x y\n0{space}9 * * 1 x y\n"[: 13 + len(space)])
    assert isinstance(found, Refusal)


def test_odd_numbers_and_many_lines_are_read_at_once() -> None:
    """Else each of these would take minutes, or be a stack trace."""
    (found,) = read(f"{'1' * 200_000} * * * * x")
    assert isinstance(found, Refusal)
    (found,) = read(f"* * * * * {'A=1 ' * 200_000}")
    assert isinstance(found, Entry)
    keys = [one.key for one in read("* * * * * x\n" * 4_000) if isinstance(one, Entry)]
    assert len(set(keys)) == 4_000
