"""`wangtimer-client`, built and installed where there is nothing of the service: it makes a timer with the real one."""

import ast
import json
import os
import subprocess
import sys
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from tests.client.served import Served
from tests.docs.blocks import blocks
from tests.docs.terminals import Place
from tests.in_one import in_one
from tests.linked_environment import LinkedEnvironment
from tests.stack.test_demo import up, with_keys
from wangtimer.stack.ports import free_port

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "wangtimer" / "client"
USES = """
import json, sys
from wangtimer_client import Client, NotFound
import wangtimer_client

with Client(sys.argv[1], "shop") as client:
    made = client.create_timer(key="a", schedule={"every": "90s"}, target={"url": "http://target.example/"})
    client.delete_timer(made)
    try:
        client.get_timer(made)
    except NotFound as error:
        code = error.code
print(json.dumps({
    "status": made["status"],
    "code": code,
    "place": wangtimer_client.__path__[0],
    "modules": sorted({name.partition(".")[0] for name in sys.modules}),
}))
"""


def project(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(path.read_text())["project"]
    return found


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel, and with what it says it needs, linked from here."""
    folder = tmp_path_factory.mktemp("distribution")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=SOURCES, check=True, capture_output=True, timeout=100)
    (wheel,) = folder.glob("wangtimer_client-*.whl")
    return LinkedEnvironment.of_wheel(folder / "venv", wheel).python


@pytest.mark.timeout(240)
def test_it_makes_a_timer_where_nothing_of_the_service_is(served: Served, python: Path) -> None:
    done = subprocess.run(
        [str(python), "-I", "-c", USES, served.url], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["status"], said["code"]) == ("enabled", 40401)
    installed = Path(said["place"])
    assert python.parents[1] in installed.parents
    assert not {"wangtimer", "celery", "flask", "sqlalchemy", "pydantic"} & set(said["modules"])
    assert {path.name for path in installed.iterdir()} >= {"py.typed", "LICENSE"}


@pytest.mark.timeout(240)
def test_who_uses_it_is_checked_by_its_types(python: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.py"
    page.write_text(
        "from wangtimer_client import Client\n"
        'with Client("http://127.0.0.1:5000", "shop") as client:\n'
        '    client.create_timer(schedule={"evry": "90s"}, target={"url": "http://target.example/"})\n'
        '    print(client.get_timer(7)["version"].upper())\n'
    )
    check = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python)]
    done = subprocess.run(
        [*check, "--cache-dir", str(tmp_path / "cache"), str(page)],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    faults = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [line.rpartition("[")[2] for line in faults] == ["typeddict-unknown-key]", "attr-defined]"], (
        done.stdout
    )


def test_it_is_of_the_service_s_version_and_needs_no_more() -> None:
    client, service = project(SOURCES / "pyproject.toml"), project(ROOT / "pyproject.toml")
    for name in ("version", "requires-python", "license"):
        assert client[name] == service[name], name
    needs = {Requirement(one).name for one in client["dependencies"]}
    assert needs == {"requests", "urllib3"}
    assert {one for one in client["dependencies"] if one.startswith("requests")} <= set(
        service["dependencies"]
    )


@in_one("path", sorted(SOURCES.glob("*.py")))
def test_its_sources_can_stand_under_another_name(path: Path) -> None:
    imports = [
        (node.level, node.module or "") if isinstance(node, ast.ImportFrom) else (0, node.names[0].name)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    absolute = {name.partition(".")[0] for level, name in imports if level == 0}
    assert absolute <= {*sys.stdlib_module_names, "requests", "urllib3"}
    assert {level for level, _ in imports} <= {0, 1}


@pytest.mark.processes
@pytest.mark.timeout(240)
def test_its_readme_runs_as_it_is_pasted_into_a_new_environment(tmp_path: Path) -> None:
    """The command of wangtimer/client/README.md, and then its program, beside a service that asks for keys."""
    install, program = blocks(SOURCES / "README.md")
    needs = project(SOURCES / "pyproject.toml")["dependencies"]
    environment = LinkedEnvironment.by_command(tmp_path / "venv", install.text, ROOT, *needs)
    place = Place(free_port(), free_port(), "")
    running = up(tmp_path, place.service_port, with_keys())
    answering = HTTPServer(("127.0.0.1", place.target_port), _Answers)
    threading.Thread(target=answering.serve_forever, daemon=True).start()
    try:
        running.await_line("Ctrl-C", seconds=60)
        (tmp_path / ".wangtimer").symlink_to(tmp_path / "data")
        done = subprocess.run(
            [str(environment.python), "-c", place.filled(program.text)],
            cwd=tmp_path,
            env={name: value for name, value in with_keys().items() if name != "PYTHONPATH"},
            capture_output=True,
            text=True,
            timeout=60,
        )
    finally:
        answering.shutdown()
        answering.server_close()
        running.end()
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(" succeeded\n")


class _Answers(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()
