"""The token of a call: good for its firing and attempt, under a key of the deployment, and for nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.secret_keys import SECRET_KEYS
from wangtimer.base.settings import Settings
from wangtimer.core.flow.firing import Member
from wangtimer.core.signing.ack_token import AckTokens
from wangtimer.store.seals import NO_KEYS, Seals

OLD, NEW = b"o" * 32, b"n" * 32
TOKENS = AckTokens((NEW, OLD))
MEMBER = Member(7, 1_795_207_483_123, 2)


def read(token: str, timer_id: int = 7, fire_at: int = MEMBER.fire_at) -> int | None:
    return TOKENS.attempt_of(token, timer_id, fire_at)


def test_a_token_is_of_its_attempt() -> None:
    token = TOKENS.token(MEMBER)
    assert token.startswith("2.")
    assert len(token) == 45
    assert read(token) == 2


def test_it_is_good_for_no_other_firing_or_attempt_and_under_no_other_key() -> None:
    token = TOKENS.token(MEMBER)
    assert read(token, timer_id=8) is None
    assert read(token, fire_at=MEMBER.fire_at + 1) is None
    assert read("3" + token[1:]) is None
    assert AckTokens((b"x" * 32,)).attempt_of(token, 7, MEMBER.fire_at) is None
    assert AckTokens(()).attempt_of(token, 7, MEMBER.fire_at) is None


def test_tokens_outlast_a_new_key_for_as_long_as_the_former_is_among_the_keys() -> None:
    former = AckTokens((OLD,)).token(MEMBER)
    assert read(former) == 2
    assert AckTokens((NEW,)).attempt_of(former, 7, MEMBER.fire_at) is None


def test_no_attempt_is_before_the_first() -> None:
    for attempt in (0, -1):
        assert read(TOKENS.token(MEMBER._replace(attempt=attempt))) is None


def test_the_key_is_derived_from_the_deployments_and_without_any_there_are_no_tokens() -> None:
    seals = Seals(Settings(secret_keys=SECRET_KEYS).secret_key_ring)
    (key,) = seals.derived(b"one purpose")
    assert len(key) == 32
    assert seals.derived(b"another") != (key,)
    assert AckTokens(NO_KEYS.derived(b"one purpose")).token(MEMBER) == ""


@given(st.text())
def test_whatever_is_sent_is_read_without_an_error(text: str) -> None:
    assert read(text) is None
    assert read(f"2.{text}") is None


@pytest.mark.parametrize(
    "token", ["", ".", "2", "2.", "²." + "a" * 43, "999999." + "a" * 43, "02." + "a" * 43, "2.\ud800"]
)
def test_what_is_no_token_is_none(token: str) -> None:
    assert read(token) is None
