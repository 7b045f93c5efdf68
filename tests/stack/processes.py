"""What tests see of processes from outside."""

import os
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Say whether the process runs; one that only waits for its parent to look does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def living_with(mark: str) -> list[int]:
    """Return the processes in whose environment the mark stands, this one apart."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if mark.encode() in environment and is_alive(int(entry.name)):
            found.append(int(entry.name))
    return found
