"""A wait lasts longer on a machine that has other work, and in a container that may use little of it."""

from pathlib import Path

import pytest

from tests import patience


def test_a_container_has_the_cores_of_its_quota(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(patience.os, "cpu_count", lambda: 8)
    assert patience._cores() == 8
    for quota, cores in (("max 100000", 8), ("150000 100000", 1.5), ("1600000 100000", 8)):
        (tmp_path / "cpu.max").write_text(f"{quota}\n")
        assert patience._cores() == cores
