"""docs/how-to: timers-as-code.md and come-from-another-scheduler.md do what they say, against the real service."""

import re
import shlex
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path

import pytest

from tests.cli.importing.test_quartz_tables import DDL as QUARTZ_DDL
from tests.cli.importing.test_quartz_tables import cron as quartz_trigger
from tests.cli.importing.test_xxl_job import ROWS, dump
from tests.cli.runs import Run

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
BLOCK = re.compile(
    r"(?P<marker><!-- checked by: tests/cli/test_timer_file_pages.py -->\n)?```(?P<language>\w+)\n(?P<text>.*?)```\n",
    re.DOTALL,
)
FILE = re.compile(r"`([\w.-]+)`(?: a week later)?:\n\n\Z")
EXIT_CODE = re.compile(r"\s+# exit code (\d)$")


@pytest.mark.parametrize("name", ["timers-as-code.md", "come-from-another-scheduler.md"])
def test_its_examples_do_what_the_page_says(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    dump(tmp_path / "xxl_job.sql", ROWS)
    (tmp_path / "quartz.sql").write_text(QUARTZ_DDL + quartz_trigger("close", "0 0 18 ? * MON-FRI"))
    page = (HOW_TO / name).read_text()
    printed = ""
    for block in BLOCK.finditer(page):
        file = FILE.search(page, 0, block.start())
        if block["language"] == "sh":
            printed = "".join(output_of(run, line) for line in block["text"].splitlines())
        elif block["marker"]:
            assert file is not None
            (tmp_path / file[1]).write_text(block["text"])
        else:
            assert OutputChecker().check_output(block["text"], printed, ELLIPSIS), printed


def output_of(run: Run, line: str) -> str:
    program, *words = shlex.split(line, comments=True)
    assert program == "wangtimer"
    done = run(*words)
    wanted = EXIT_CODE.search(line)
    assert done.exit_code == (int(wanted[1]) if wanted else 0), done.output
    return done.output
