"""The keys of secrets as settings have them."""

import pytest

from wangtimer.core.secret_keys import KEY_BYTES, new_secret_key, read_secret_keys

ONE, TWO = new_secret_key("k1"), new_secret_key("2027-01")


def test_a_new_key_is_read_in_a_list_or_in_lines() -> None:
    for text in (f"{ONE},{TWO}", f"{ONE}\n{TWO}\n", f"# first\n {ONE} ,\n\n{TWO}"):
        keys = read_secret_keys(text)
        assert list(keys) == ["k1", "2027-01"]
        assert {len(key) for key in keys.values()} == {KEY_BYTES}
    assert read_secret_keys("") == read_secret_keys("# none yet\n") == {}
    assert new_secret_key("k1") != ONE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ONE.partition(":")[2], "key 1 is not written as id:base64"),
        (f"{ONE},k 2:AAAA", "key 2 is not written as id:base64"),
        (f"{ONE},{ONE}", "key 2 has the id of another"),
        (f"{ONE},k2:sesame", "key 2 is not 32 bytes"),
        (f"k1:{ONE[3:-8]}", "key 1 is not 32 bytes"),
        ("k1:", "key 1 is not 32 bytes"),
    ],
    ids=["no id", "a space in an id", "twice", "no base64", "cut off", "empty"],
)
def test_a_bad_key_is_told_by_its_place_and_not_shown(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as told:
        read_secret_keys(text)
    assert not any(part in str(told.value) for part in (ONE[3:], "sesame"))


@pytest.mark.parametrize("key_id", ["", "a b", "a:b", "x" * 33, "钥"])
def test_an_id_that_no_setting_could_have_is_refused(key_id: str) -> None:
    with pytest.raises(ValueError, match="an id has"):
        new_secret_key(key_id)
