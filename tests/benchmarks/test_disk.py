"""The disk is watched while something else is measured."""

import time
from pathlib import Path

import pytest

from benchmarks.disk import DiskWatch


def test_a_slow_disk_is_seen_and_nothing_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = iter([0.0] * 3 + [0.05])
    monkeypatch.setattr("benchmarks.disk.EVERY_S", 0.001)
    monkeypatch.setattr("os.fdatasync", lambda _file: time.sleep(next(slow, 0.0)))
    with DiskWatch(tmp_path) as disk:
        while len(disk._took_ms) < 4:
            assert disk._thread.is_alive()
            time.sleep(0.001)
    assert disk.figures()["disk_sync_max_ms"] >= 50
    assert list(tmp_path.iterdir()) == []
