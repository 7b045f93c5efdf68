"""The machine on which the figures were measured."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

from tests.servers import mariadb, nginx, redis_server
from tests.servers.server_process import find_program


def ran_on() -> str:
    """Return the number and model of the cores, and the Python version: its builds differ by an eighth."""
    return f"{os.cpu_count()} cores ({_cpu_model()}), Python {platform.python_version()}"


def describe(directory: Path) -> dict[str, str]:
    """Return the rest of the machine and its servers; `directory` held MariaDB's data."""
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "memory": f"{gib:.0f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "file system of the data": _file_system(directory),
        "Celery": version("celery"),
        "MariaDB": _says("mariadbd", mariadb.PACKAGE),
        "Redis": _says("redis-server", redis_server.PACKAGE),
        "nginx": _says("nginx", nginx.PACKAGE, "-v"),
    }


def _cpu_model() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown"
    )


def _file_system(directory: Path) -> str:
    """Return the type of the nearest mount: on a file system in memory a durable commit costs nothing."""
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    place = directory.resolve()
    above = {str(one) for one in (place, *place.parents)}
    return max((mount for mount in mounts if mount[0] in above), key=lambda mount: len(mount[0]))[1]


def _says(program: str, package: str, option: str = "--version") -> str:
    answer = subprocess.run(
        [find_program(program, package), option], capture_output=True, text=True, check=True
    )
    first = (answer.stdout or answer.stderr).splitlines()[0].strip()
    return first.rpartition("/")[2] if program == "nginx" else _after(first, "Ver ", "v=")


def _after(text: str, *marks: str) -> str:
    for mark in marks:
        if mark in text:
            return text.partition(mark)[2].split()[0]
    return text
