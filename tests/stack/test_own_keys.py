"""The app and the keys that the embedded default makes by itself."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from wangtimer.client.api_key import found_key, key_in_file
from wangtimer.core.apps.key_text import KeyText
from wangtimer.core.errors import BadSetting
from wangtimer.stack.data_directory import DataDirectory, held_directory
from wangtimer.stack.own_keys import provide_keys
from wangtimer.store.sql.apps import ApiKeyStore, AppStore
from wangtimer.store.sql.database import Database


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[DataDirectory]:
    with held_directory(tmp_path / "data") as held:
        yield held.directory


def stored(directory: DataDirectory) -> tuple[list[str], list[str]]:
    """Return the names of the apps, and whose the keys in the files are."""
    with closing(Database(directory.database_url, pool_size=2)) as database:
        keys = ApiKeyStore(database)
        owners = []
        for file in (directory.key_file, directory.operator_key_file):
            text = KeyText.read(key_in_file(file))
            assert text is not None
            found = keys.find(text.id)
            assert found is not None
            assert text.has(found.key.fingerprint)
            owners.append(found.key.app or "an operator")
        return AppStore(database).names(), owners


def test_it_makes_an_app_and_keys_that_only_their_user_can_read(directory: DataDirectory) -> None:
    provide_keys(directory, "shop")
    assert stored(directory) == (["shop"], ["shop", "an operator"])
    for file in (directory.key_file, directory.operator_key_file):
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.read_text().startswith("Authorization: Bearer wtk_")


def test_a_second_start_keeps_the_keys(directory: DataDirectory) -> None:
    provide_keys(directory, "shop")
    before = directory.key_file.read_text(), directory.operator_key_file.read_text()
    provide_keys(directory, "shop")
    assert before == (directory.key_file.read_text(), directory.operator_key_file.read_text())


@pytest.mark.parametrize("spoilt", ["gone", "empty", "nonsense", "revoked", "of another app"])
def test_a_key_that_counts_no_more_is_made_anew(directory: DataDirectory, spoilt: str) -> None:
    provide_keys(directory, "shop")
    before, app = directory.key_file.read_text(), "shop"
    match spoilt:
        case "gone":
            directory.key_file.unlink()
        case "empty":
            directory.key_file.write_text("")
        case "nonsense":
            directory.key_file.write_bytes(b"\xff")
        case "revoked":
            with closing(Database(directory.database_url, pool_size=2)) as database:
                ApiKeyStore(database).revoke("shop", before.split("_")[1], 1)
        case "of another app":
            app = "billing"
    provide_keys(directory, app)
    assert stored(directory)[1] == [app, "an operator"]
    assert directory.key_file.read_text() != before


@pytest.mark.parametrize("app", ["", " shop", "a/b", "x" * 65, "a\tb"])
def test_a_name_that_no_app_can_have_stops_the_start(directory: DataDirectory, app: str) -> None:
    with pytest.raises(BadSetting, match="write 1 to 64 printable characters"):
        provide_keys(directory, app)


def test_the_client_finds_the_key_for_this_machine_alone(
    directory: DataDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provide_keys(directory, "shop")
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".wangtimer").symlink_to(directory.path)
    own = key_in_file(directory.key_file)
    for here in ("http://127.0.0.1:5000", "http://localhost:5000", "http://[::1]:5000"):
        assert found_key(here) == own
    for there in ("http://timers.example:5000", "http://10.0.0.7:5000"):
        assert found_key(there) is None
    monkeypatch.setenv("WANGTIMER_KEY_FILE", str(directory.operator_key_file))
    assert found_key("http://timers.example:5000") == key_in_file(directory.operator_key_file)
    monkeypatch.setenv("WANGTIMER_KEY", " wtk_other ")
    assert found_key("http://timers.example:5000") == "wtk_other"


def test_a_key_file_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WANGTIMER_KEY_FILE", str(tmp_path / "gone"))
    with pytest.raises(ValueError, match="gone cannot be read"):
        found_key("http://timers.example")
