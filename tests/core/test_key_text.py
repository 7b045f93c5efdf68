"""API keys as text: random, told from slips, and stored as their fingerprint alone."""

import string

from hypothesis import given
from hypothesis import strategies as st

from wangtimer.core.apps.key_text import KeyText

KEY = KeyText.new()


def test_a_new_key_is_read_again() -> None:
    read = KeyText.read(KEY.text)
    assert read == KEY
    assert read is not None
    assert read.has(KEY.fingerprint)


def test_a_key_has_the_form_that_scanners_look_for() -> None:
    prefix, key_id, rest = KEY.text.split("_")
    assert (prefix, key_id, len(rest)) == ("wtk", KEY.id, 49)
    assert set(key_id + rest) <= set(string.ascii_letters + string.digits)


def test_no_two_keys_are_the_same() -> None:
    assert len({KeyText.new().text for _ in range(200)}) == 200


@given(st.integers(4, len(KEY.text) - 1), st.sampled_from(string.ascii_letters + string.digits))
def test_one_wrong_letter_shows(place: int, letter: str) -> None:
    slipped = KEY.text[:place] + letter + KEY.text[place + 1 :]
    assert KeyText.read(slipped) == (KEY if slipped == KEY.text else None)


@given(st.text(max_size=80))
def test_other_text_is_no_key(text: str) -> None:
    assert KeyText.read(text) is None


def test_a_key_that_is_cut_off_or_has_more_is_none() -> None:
    assert KeyText.read(KEY.text[:-1]) is None
    assert KeyText.read(f"{KEY.text}\n") is None


def test_another_key_has_another_fingerprint() -> None:
    assert not KeyText.new().has(KEY.fingerprint)


def test_no_log_shows_a_key() -> None:
    assert KEY.text not in repr(KEY)
