"""`wangtimer up` has a key for secrets of its own, unless the operator set one."""

import stat
from pathlib import Path

import pytest

from wangtimer.core.errors import BadSetting
from wangtimer.core.secret_keys import new_secret_key, read_secret_keys
from wangtimer.stack.own_secret_key import own_key_setting


def test_a_key_is_made_once_and_its_owner_alone_can_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WANGTIMER_SECRET_KEYS")
    (file,) = own_key_setting(tmp_path).values()
    text = Path(file).read_text()
    assert len(read_secret_keys(text)) == 1
    assert stat.S_IMODE(Path(file).stat().st_mode) == 0o600
    assert own_key_setting(tmp_path) == {"WANGTIMER_SECRET_KEYS_FILE": file}
    assert Path(file).read_text() == text


def test_none_is_made_for_a_database_that_had_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a restore on a new machine: all calls of all apps waited, and only the logs said why."""
    monkeypatch.delenv("WANGTIMER_SECRET_KEYS")
    database = tmp_path / "wangtimer.db"
    database.touch()
    with pytest.raises(BadSetting, match="put that file back"):
        own_key_setting(tmp_path)
    assert list(tmp_path.iterdir()) == [database]


def test_keys_that_are_set_are_used_instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANGTIMER_SECRET_KEYS", new_secret_key("mine"))
    assert own_key_setting(tmp_path) == {}
    assert list(tmp_path.iterdir()) == []
