"""`wangtimer import ...`: the file it writes, the report, the exit codes; and `apply` takes the file."""

from pathlib import Path

import pytest
import yaml

from tests.cli.importing.test_quartz_tables import DDL as QUARTZ_DDL
from tests.cli.importing.test_quartz_tables import cron as quartz_trigger
from tests.cli.runs import Run, runner_of
from tests.client.served import Served

URL = "https://jobs.example/{name}"
NOWHERE = "http://127.0.0.1:1"
GOOD = "0 9 * * 1-5 close --all\n*/10 * * * * poll\n"


@pytest.fixture
def offline() -> Run:
    """Runs `wangtimer ...` where there is no service."""
    return runner_of(NOWHERE)


@pytest.fixture
def crontab(tmp_path: Path) -> Path:
    found = tmp_path / "crontab"
    found.write_text(GOOD)
    return found


def test_it_writes_a_file_and_shows_what_each_becomes(offline: Run, crontab: Path, tmp_path: Path) -> None:
    out = tmp_path / "timers.yaml"
    done = offline(
        "import", "crontab", crontab, "--timezone", "Asia/Shanghai", "--target-url", URL, "--out", out
    )
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[:3] == [
        f"close  {crontab}:1: 0 9 * * 1-5",
        "         at 09:00 from Monday to Friday (Asia/Shanghai)",
        "         POST https://jobs.example/close",
    ]
    assert lines[3].endswith("T09:00:00.000+08:00; the next 100 moments were compared")
    assert lines[-1] == "2 of 2 entries become timers"
    text = out.read_text()
    assert f"# {crontab}:1: 0 9 * * 1-5\n- key: close\n" in text
    assert [one["key"] for one in yaml.safe_load(text)] == ["close", "poll"]


def test_a_copied_system_crontab_is_asked_about(offline: Run, tmp_path: Path) -> None:
    """Its users would become the programs that are called."""
    tab = tmp_path / "crontab"
    tab.write_text("# m h dom mon dow user\tcommand\n17 * * * * root run-parts /etc/cron.hourly\n")
    words = ("import", "crontab", tab, "--timezone", "UTC", "--target-url", URL)
    done = offline(*words)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        f"wangtimer: {tab}: is this a system's crontab, with a user in each line? "
        "write --format system, or --format user\n"
    )
    keys = {
        form: [one["key"] for one in yaml.safe_load(offline(*words, "--format", form).stdout)]
        for form in ("system", "user")
    }
    assert keys == {"system": ["run-parts"], "user": ["root"]}


def test_secrets_in_a_url_are_not_in_the_report_but_in_the_file(offline: Run, crontab: Path) -> None:
    secret = "https://jobs.example/{name}?token=sesame"
    done = offline("import", "crontab", crontab, "--timezone", "UTC", "--target-url", secret)
    assert "POST https://jobs.example/poll?token=***" in done.stderr
    assert "sesame" not in done.stderr
    assert secret.replace("{name}", "poll") in done.stdout


def test_without_a_file_the_timers_are_standard_output(offline: Run, crontab: Path) -> None:
    done = offline(
        "import", "crontab", "-", "--timezone", "UTC", "--target-url", URL, "--tag", "a", input=GOOD
    )
    assert done.exit_code == 0
    assert [one["tags"] for one in yaml.safe_load(done.stdout)] == [["from=crontab", "a"]] * 2
    assert "2 of 2 entries become timers" in done.stderr


def test_some_refused_end_with_3_all_refused_with_1(offline: Run, crontab: Path) -> None:
    crontab.write_text(GOOD + "@reboot boot\n")
    some = offline("import", "crontab", crontab, "--timezone", "UTC", "--target-url", URL)
    assert some.exit_code == 3
    assert "# REFUSED" in some.stdout
    assert f"REFUSED  {crontab}:3: @reboot boot\n         @reboot is not a moment" in some.stderr
    crontab.write_text("@reboot boot\n")
    all_of_them = offline("import", "crontab", crontab, "--timezone", "UTC", "--target-url", URL)
    assert all_of_them.exit_code == 1
    assert yaml.safe_load(all_of_them.stdout) == []


def test_a_source_that_cannot_be_read_ends_with_1(offline: Run, tmp_path: Path) -> None:
    for words in (
        ("crontab", tmp_path / "no", "--timezone", "UTC"),
        ("xxl-job", tmp_path / "no.sql", "--timezone", "UTC"),
        ("quartz", f"sqlite:///{tmp_path}/empty.db"),
        ("celery-beat", "no.such.module"),
    ):
        done = offline("import", *words, "--target-url", URL)
        assert done.exit_code == 1, done.output
        assert done.stderr.startswith("wangtimer: ")


@pytest.mark.parametrize(
    "words",
    [
        ("crontab", "x", "--target-url", "http://x/{nam}"),
        ("crontab", "x", "--target-url", URL, "--timezone", "Mars"),
        ("crontab", "x", "--target-url", URL, "--header", "none"),
        ("crontab", "x", "--target-url", URL, "--target", "none"),
        ("crontab", "x"),
        ("xxl-job", "x", "--target-url", URL),
    ],
)
def test_wrong_use_ends_with_2(offline: Run, words: tuple[str, ...]) -> None:
    assert offline("import", *words).exit_code == 2


def test_a_url_that_no_timer_may_have_is_told_of_each(offline: Run, crontab: Path) -> None:
    done = offline("import", "crontab", crontab, "--timezone", "UTC", "--target-url", "ftp://x/{name}")
    assert done.exit_code == 1
    assert "target.url: it is neither http nor https" in done.stderr


def test_apply_takes_the_file(run: Run, served: Served, crontab: Path, tmp_path: Path) -> None:
    out = tmp_path / "timers.yaml"
    words = ("import", "crontab", crontab, "--timezone", "UTC", "--target-url", URL, "--out", out)
    assert run(*words).exit_code == 0
    applied = run("apply", "-f", out, "--set", "crontab", "--yes")
    assert applied.exit_code == 0, applied.output
    assert run(*words, "--force").exit_code == 0
    assert "2 unchanged" in run("apply", "-f", out, "--set", "crontab", "--dry-run").stdout


def test_a_file_that_exists_is_overwritten_only_by_force(offline: Run, crontab: Path, tmp_path: Path) -> None:
    out = tmp_path / "timers.yaml"
    out.write_text("edited by hand")
    words = ("import", "crontab", crontab, "--timezone", "UTC", "--target-url", URL, "--out", out)
    refused = offline(*words)
    assert refused.exit_code == 2
    assert f"--out: {out} exists; name another file, or overwrite it with --force" in refused.stderr
    assert out.read_text() == "edited by hand"
    assert offline(*words, "--force").exit_code == 0
    assert "- key: close" in out.read_text()


@pytest.mark.parametrize(
    ("words", "text", "nothing"),
    [
        (("crontab", "tab"), "# nothing\nMAILTO=x\n", "tab has no entry; nothing is written"),
        (("xxl-job", "tab.sql", "--timezone", "UTC"), "CREATE TABLE xxl_job_info (id int);\n", "tab.sql has no entry"),
        (("celery-beat", "tab.sql"), "", "tab.sql has no table django_celery_beat_periodictask"),
        (("celery-beat", "tab.py"), "beat_schedule = {}", "tab.py has no entry"),
        (("quartz", "tab.sql"), "CREATE TABLE qrtz_triggers (a int);", "tab.sql has no entry"),
    ],
    ids=lambda one: one[0] if isinstance(one, tuple) else None,
)  # fmt: skip
def test_nothing_found_ends_with_1_and_leaves_the_file_be(
    offline: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    text: str,
    nothing: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(words[1]).write_text(text)
    Path("timers.yaml").write_text("of yesterday")
    done = offline("import", *words, "--target-url", URL, "--out", "timers.yaml", "--force")
    assert (done.exit_code, nothing in done.stderr) == (1, True), done.output
    assert Path("timers.yaml").read_text() == "of yesterday"


@pytest.mark.parametrize("text", ["CRON_TZ=Asia/Tokyo\n0 9 * * * a\n", "0 9 * * * a\n"])
@pytest.mark.parametrize("from_stdin", [False, True])
def test_a_byte_order_mark_is_no_part_of_the_first_line(
    offline: Run, crontab: Path, text: str, from_stdin: bool
) -> None:
    crontab.write_text(text, encoding="utf-8-sig")
    source = "-" if from_stdin else str(crontab)
    given = {"input": f"\ufeff{text}"} if from_stdin else {}
    done = offline("import", "crontab", source, "--timezone", "Asia/Tokyo", "--target-url", URL, **given)
    assert done.exit_code == 0, done.output
    (made,) = yaml.safe_load(done.stdout)
    assert (made["key"], made["schedule"]["timezone"]) == ("a", "Asia/Tokyo")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("0 9 * * * a\n".encode("utf-16"), "it is text in UTF-16"),
        (b"# x\n0 9 * * * \xff\n", "not text in UTF-8 (line 2)"),
    ],
)
def test_text_that_is_not_utf_8_is_told(offline: Run, crontab: Path, raw: bytes, reason: str) -> None:
    crontab.write_bytes(raw)
    done = offline("import", "crontab", crontab, "--timezone", "UTC", "--target-url", URL)
    assert (done.exit_code, reason in done.stderr) == (1, True)


SOURCES = {
    "crontab": ("0 9 * * * close\n", "--timezone", "UTC"),
    "xxl-job": (
        "INSERT INTO xxl_job_info (id, executor_handler, trigger_status, schedule_type, schedule_conf) "
        "VALUES (1, 'close', 1, 'FIX_RATE', '60');",
        "--timezone",
        "UTC",
    ),
    "quartz": (QUARTZ_DDL + quartz_trigger("close", "0 0 9 * * ?"),),
    "celery-beat": ("beat_schedule = {'close': {'task': 'close', 'schedule': 60}}",),
}


@pytest.mark.parametrize("source", SOURCES)
def test_work_that_takes_long_is_done_once_at_a_time(offline: Run, tmp_path: Path, source: str) -> None:
    """With the usual time-out and retries, a job of 25 s would run three times at once."""
    text, *words = SOURCES[source]
    file = tmp_path / {"crontab": "tab", "celery-beat": "beat_of_long_work.py"}.get(source, "tab.sql")
    file.write_text(text)
    done = offline("import", source, file, *words, "--target-url", URL)
    (made,) = yaml.safe_load(done.stdout)
    assert (made["overlap"], made["retry"], made["target"]["timeout"]) == ("skip", {"attempts": 1}, "10m")
    options = ("--timeout", "90s", "--ack-timeout", "2h", "--attempts", "3", "--overlap", "queueOne")
    (made,) = yaml.safe_load(offline("import", source, file, *words, "--target-url", URL, *options).stdout)
    assert (made["overlap"], made["retry"]) == ("queueOne", {"attempts": 3})
    assert (made["target"]["timeout"], made["target"]["ackTimeout"]) == ("1m30s", "2h")
