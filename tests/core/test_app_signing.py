"""How an app's secrets change: rotation with an overlap, an early end, on and off."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wangtimer.core.errors import Conflict, UnknownSecret
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.signing.signing_secret import SigningSecret, new_key, read_key
from wangtimer.store.sealed_texts import signing_from, signing_text
from wangtimer.store.seals import NO_KEYS

NOW, DAY = 1_795_207_483_000, 86_400_000
OLD, NEW, NEWEST = b"o" * 32, b"n" * 32, b"t" * 32


def shown(key: bytes = OLD) -> AppSigning:
    return AppSigning.unmade("shop").rotated(key, DAY, NOW)


def test_the_old_secret_signs_beside_the_new_one_for_the_overlap() -> None:
    rotated = shown().rotated(NEW, DAY, NOW + 1)
    assert rotated.keys_at(NOW + 1) == (NEW, OLD)
    assert rotated.keys_at(NOW + DAY) == (NEW, OLD)
    assert rotated.keys_at(NOW + 1 + DAY) == (NEW,)


def test_without_an_overlap_the_new_secret_signs_alone() -> None:
    assert shown().rotated(NEW, 0, NOW + 1).keys_at(NOW + 1) == (NEW,)


def test_a_secret_that_nobody_has_seen_ends_with_the_first_rotation() -> None:
    unseen = AppSigning.unmade("shop").with_a_secret(OLD, NOW)
    assert unseen.keys_at(NOW) == (OLD,)
    assert unseen.rotated(NEW, DAY, NOW + 1).keys_at(NOW + 1) == (NEW,)


def test_a_third_secret_needs_the_end_of_one() -> None:
    two = shown().rotated(NEW, DAY, NOW + 1)
    with pytest.raises(Conflict, match="end secret 1 first"):
        two.rotated(NEWEST, DAY, NOW + 2)
    assert two.without(1, NOW + 2).rotated(NEWEST, DAY, NOW + 3).keys_at(NOW + 3) == (NEWEST, NEW)
    assert two.rotated(NEWEST, 0, NOW + 2).keys_at(NOW + 2) == (NEWEST,)
    assert two.rotated(NEWEST, DAY, NOW + 2 * DAY).keys_at(NOW + 2 * DAY) == (NEWEST, NEW)


def test_a_repeated_rotation_changes_nothing() -> None:
    rotated = shown().rotated(NEW, DAY, NOW + 1)
    assert rotated.rotated(NEW, DAY, NOW + 2) is rotated


def test_the_present_secret_cannot_be_ended_and_an_unknown_one_is_told() -> None:
    two = shown().rotated(NEW, DAY, NOW + 1)
    with pytest.raises(Conflict, match="secret 2 is the present one"):
        two.without(2, NOW + 2)
    with pytest.raises(UnknownSecret, match="no signing secret 3"):
        two.without(3, NOW + 2)
    with pytest.raises(UnknownSecret):
        two.without(1, NOW + 2 * DAY)


def test_off_signs_nothing_and_on_signs_with_the_same_secret() -> None:
    off = shown().switched(False, NOW + 1)
    assert off.keys_at(NOW + 1) == ()
    on = off.switched(True, NOW + 2)
    assert on.keys_at(NOW + 2) == (OLD,)
    assert on.switched(True, NOW + 3) is on


def test_each_change_has_a_higher_version_even_if_the_clock_stands() -> None:
    first = shown()
    second = first.switched(False, NOW)
    assert first.version < second.version < second.rotated(NEW, 0, NOW - 10).version


def test_an_app_that_signs_and_has_no_secret_is_not_signed_for() -> None:
    with pytest.raises(LookupError):
        AppSigning.unmade("shop").keys_at(NOW)


@given(st.binary(min_size=24, max_size=64), st.booleans(), st.none() | st.integers(0, 2**53))
def test_what_is_written_is_read_back(key: bytes, is_on: bool, ends_at: int | None) -> None:
    secrets = (SigningSecret(1, key, NOW, ends_at, True), SigningSecret(2, new_key(), NOW))
    one = AppSigning("商店", 7, is_on, secrets)
    assert signing_from("商店", 7, signing_text(one, NO_KEYS), NO_KEYS) == one


def test_what_signs_with_no_secret_or_is_of_a_later_version_is_not_read() -> None:
    for text in ('{"on":true,"secrets":[]}', '{"on":false,"secrets":[],"scheme":"v2"}'):
        with pytest.raises(ValueError, match=r"no secret|does not know scheme"):
            signing_from("shop", 1, text, NO_KEYS)


@given(st.binary(min_size=24, max_size=64))
def test_a_secret_in_text_is_read_back(key: bytes) -> None:
    assert read_key(SigningSecret(1, key, NOW).text) == key


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("c2VjcmV0", "does not begin with whsec_"),
        ("whsec_", "holds 0 bytes"),
        ("whsec_" + "QUJD" * 7, "holds 21 bytes"),
        ("whsec_" + "QUJD" * 22, "holds 66 bytes"),
        ("whsec_%%%%", "not base64"),
        ("whsec_é", "not base64"),
    ],
)
def test_a_bad_secret_is_refused_without_repeating_it(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as refused:
        read_key(text)
    assert text.removeprefix("whsec_") not in str(refused.value) or text == "whsec_"


def test_a_secret_is_not_in_its_repr() -> None:
    assert "o" * 8 not in repr(shown())
    assert "b29v" not in repr(shown())
