"""The token of a call: good for its firing and attempt, by a secret of its app that counts, and for nothing else."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wangtimer.core.flow.firing import Member
from wangtimer.core.signing.ack_token import ack_token, attempt_of
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.signing.signing_secret import SigningSecret

OLD, NEW = SigningSecret(1, b"o" * 32, 0, ends_at=1_000), SigningSecret(2, b"n" * 32, 0)
SIGNING = AppSigning("shop", 2, True, (OLD, NEW))
MEMBER = Member(7, 1_795_207_483_123, 2)


def read(
    token: str,
    signing: AppSigning = SIGNING,
    timer_id: int = 7,
    fire_at: int = MEMBER.fire_at,
    now: int = 0,
) -> int | None:
    return attempt_of(token, signing, timer_id, fire_at, now)


def test_a_token_is_of_its_attempt() -> None:
    token = ack_token(SIGNING, MEMBER)
    assert token.startswith("2.")
    assert len(token) == 45
    assert read(token) == 2


def test_it_is_good_for_no_other_firing_attempt_or_app() -> None:
    token = ack_token(SIGNING, MEMBER)
    assert read(token, timer_id=8) is None
    assert read(token, fire_at=MEMBER.fire_at + 1) is None
    assert read("3" + token[1:]) is None
    assert read(token, AppSigning("bank", 1, True, (SigningSecret(1, b"b" * 32, 0),))) is None
    assert read(token, AppSigning.unmade("shop")) is None


def test_it_is_good_while_its_secret_is() -> None:
    before = AppSigning("shop", 1, True, (replace(OLD, ends_at=None),))
    token = ack_token(before, MEMBER)
    assert read(token, now=999) == 2
    assert read(token, now=1_000) is None


def test_an_app_that_does_not_sign_has_tokens_too_and_one_without_a_secret_has_none() -> None:
    off = replace(SIGNING, is_on=False)
    assert read(ack_token(off, MEMBER), off) == 2
    assert ack_token(AppSigning.unmade("shop"), MEMBER) == ""


@given(st.text())
def test_whatever_is_sent_is_read_without_an_error(text: str) -> None:
    assert read(text) is None
    assert read(f"2.{text}") is None


@pytest.mark.parametrize("token", ["", ".", "2", "2.", "²." + "a" * 43, "999999." + "a" * 43, "2.\ud800"])
def test_what_is_no_token_is_none(token: str) -> None:
    assert read(token) is None
