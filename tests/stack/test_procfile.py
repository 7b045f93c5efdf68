"""The Procfile is read as written."""

from pathlib import Path

import pytest

from wangtimer.core.errors import BadSetting
from wangtimer.stack.procfile import Command, procfile_path, read_commands


def test_each_line_is_a_name_and_the_words_of_its_command(tmp_path: Path) -> None:
    procfile = tmp_path / "Procfile"
    procfile.write_text("# how to run it\nweb: serve \"an app()\"\n\nworker: sh -c 'exec $IT'\n")
    assert read_commands(procfile) == {
        "web": Command("web", ("serve", "an app()")),
        "worker": Command("worker", ("sh", "-c", "exec $IT")),
    }


def test_a_line_that_is_no_process_is_refused_by_its_number(tmp_path: Path) -> None:
    procfile = tmp_path / "Procfile"
    procfile.write_text("web: serve\njust words\n")
    with pytest.raises(BadSetting, match="line 2: 'just words'"):
        read_commands(procfile)


def test_the_repository_s_procfile_names_every_process_of_the_service() -> None:
    assert set(read_commands()) == {
        "web",
        "beat",
        "scheduler",
        "migrate",
        "trigger",
        "callback",
        "stream",
        "flower",
    }
    assert procfile_path().resolve() == Path(__file__).parents[2] / "Procfile"


def test_a_second_process_of_a_kind_has_a_node_name_of_its_own() -> None:
    second = read_commands()["trigger"].numbered(2)
    assert second.name == "trigger2"
    assert "trigger2@%h" in second.argv
    assert second.argv[second.argv.index("-Q") + 1] == "trigger"
