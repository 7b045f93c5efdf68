"""A service of docker-compose.yml in a real container, by runc: its user, mounts and rights, without an engine.

Its image is this machine: the programs of /usr, in a root that is otherwise empty.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.servers.server_process import find_program
from tests.stack.test_deployment import ROOT

# Of our own image.
OUR_USER = "10001:10001"
# What a container has of the machine; the last two have Python and the program.
OF_THE_MACHINE = ("/usr", "/etc/ld.so.cache", "/etc/alternatives", sys.prefix, sys.base_prefix, str(ROOT))
LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}


def run_in(
    service: Mapping[str, Any], argv: list[str], folder: Path, files: Mapping[str, Path], **variables: str
) -> "subprocess.CompletedProcess[str]":
    """Run a command in a service's place; `files` are the volumes that differ, by where they are mounted."""
    runc = find_program("runc", "runc")
    root = folder / "root"
    for name in (
        "proc",
        "dev",
        "etc",
        "var/lib",
        "var/log/nginx",
        *(one.split(":")[0][1:] for one in service["tmpfs"]),
    ):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    for name, to in LINKS.items():
        (root / name).symlink_to(to)
    # Debian's nginx puts there what the image's puts into /var/cache/nginx.
    (root / "var/lib/nginx").symlink_to("/var/cache/nginx")
    mounts = [
        _mount("/proc", "proc", "proc", "nosuid", "noexec", "nodev"),
        _mount("/dev", "tmpfs", "tmpfs", "nosuid", "mode=755"),
        *(_bind(Path(one), one, root) for one in dict.fromkeys(OF_THE_MACHINE)),
        *(
            _bind(source, at, root, is_read_only=source.is_file())
            for at, source in _volumes(service, files).items()
        ),
        # As Docker does: what the image has there is copied, with its mode and not with its owner.
        *(
            _mount(
                at, "tmpfs", "tmpfs", "nosuid", "noexec", "nodev", "tmpcopyup", *filter(None, rest.split(","))
            )
            for at, _, rest in (one.partition(":") for one in service["tmpfs"])
        ),
    ]
    user, group = map(int, service.get("user", OUR_USER).split(":"))
    environment = {"PATH": f"{sys.prefix}/bin:/usr/sbin:/usr/bin:/bin", "PYTHONPATH": str(ROOT), **variables}
    capabilities: dict[str, list[str]] = {
        one: [] for one in ("bounding", "effective", "inheritable", "permitted", "ambient")
    }
    config = {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False,
            "user": {"uid": user, "gid": group},
            "args": argv,
            "env": [f"{name}={value}" for name, value in environment.items()],
            "cwd": "/",
            "capabilities": capabilities,
            "noNewPrivileges": "no-new-privileges:true" in service["security_opt"],
        },
        "root": {"path": str(root), "readonly": service["read_only"]},
        "mounts": mounts,
        "linux": {"namespaces": [{"type": one} for one in ("pid", "network", "ipc", "uts", "mount")]},
    }
    (folder / "config.json").write_text(json.dumps(config))
    name = f"wangtimer-{uuid4().hex[:12]}"
    try:
        return subprocess.run(
            [runc, "--root", str(folder / "state"), "run", "--bundle", str(folder), name],
            capture_output=True,
            text=True,
            timeout=120,
        )
    finally:
        shutil.rmtree(folder / "state", ignore_errors=True)


def _volumes(service: Mapping[str, Any], files: Mapping[str, Path]) -> dict[str, Path]:
    """Return what is mounted, by where: of the checkout, or what the caller has in its place."""
    found = {}
    for volume in service.get("volumes", []):
        source, at, *_ = volume.split(":")
        found[at] = files.get(at, ROOT / source)
    return found


def _bind(source: Path, at: str, root: Path, is_read_only: bool = True) -> dict[str, Any]:
    place = root / at.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        place.mkdir(exist_ok=True)
    else:
        place.touch()
    return _mount(at, "bind", str(source), "rbind", "ro" if is_read_only else "rw")


def _mount(at: str, kind: str, source: str, *options: str) -> dict[str, Any]:
    return {"destination": at, "type": kind, "source": source, "options": list(options)}
