"""Seals: secrets of calls are encrypted, and opened only for their timer and with their key."""

from typing import Any

import pytest

from wangtimer.core.errors import InvalidInput, UnopenedSecrets
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.timer import Definition, Notify, SecretMarks, TimerStatus
from wangtimer.store.seals import NO_KEYS, Seals

OLD, NEW = {"old": b"o" * 32}, {"new": b"n" * 32}
BOTH = NEW | OLD
CALL = Notify(
    "https://shop.example/orders?token=sesame&order=7",
    "PUT",
    (("Authorization", "Bearer sesame"), ("X-Tag", "blue"), ("X-Tenant", "sesame")),
    '{"pin":"sesame"}',
    SecretMarks(("x-tenant",), body=True),
)
PLAIN = Notify("https://shop.example/", headers=(("X-Tag", "blue"),), body="x")


def of_timer(call: Notify, timer_id: int = 7, app: str = "shop") -> Definition:
    return Definition(timer_id, app, 1, TimerStatus.ENABLED, Once(0), call)


def no_check(_call: Notify, _kept_from: Notify | None) -> None:
    """Anything is allowed."""


def test_a_sealed_call_shows_no_secret_and_opens_to_what_it_was() -> None:
    seals = Seals(OLD)
    sealed = seals.seal(CALL, "shop", 7)
    assert "sesame" not in repr(sealed)
    assert sealed.url == "https://shop.example/orders?token=***&order=7"
    assert sealed.headers == (("Authorization", "***"), ("X-Tag", "blue"), ("X-Tenant", "***"))
    assert seals.open(sealed, "shop", 7) == CALL
    assert seals.seal(sealed, "shop", 7) is sealed
    assert seals.seal(CALL, "shop", 7).sealed != sealed.sealed


def test_a_call_without_secrets_stays_as_it_is() -> None:
    for seals in (NO_KEYS, Seals(OLD)):
        assert seals.seal(PLAIN, "shop", 7) is PLAIN
        assert seals.call_of(of_timer(PLAIN)) is PLAIN


@pytest.mark.parametrize(("app", "timer_id"), [("shop", 8), ("other", 7), ("shop\n7", 7)])
def test_a_seal_of_another_timer_or_app_cannot_be_opened(app: str, timer_id: int) -> None:
    sealed = Seals(OLD).seal(CALL, "shop", 7)
    with pytest.raises(UnopenedSecrets, match=f"timer {timer_id} cannot be opened"):
        Seals(OLD).open(sealed, app, timer_id)


def test_the_first_key_seals_and_each_opens() -> None:
    sealed = Seals(OLD).seal(CALL, "shop", 7)
    assert Seals(BOTH).open(sealed, "shop", 7) == CALL
    assert Seals(BOTH).seal(CALL, "shop", 7).sealed.startswith("1.new.")
    with pytest.raises(UnopenedSecrets, match="no key 'old'"):
        Seals(NEW).open(sealed, "shop", 7)
    with pytest.raises(UnopenedSecrets):
        Seals({"old": b"x" * 32}).open(sealed, "shop", 7)


@pytest.mark.parametrize("damage", ["", "1", "1.old", "1.old.", "1.old.AAAA", "2.old.AAAA", "1.old.###"])
def test_a_damaged_seal_is_told_of(damage: str) -> None:
    with pytest.raises(UnopenedSecrets):
        Seals(OLD).open(CALL._replace(sealed=damage or "x"), "shop", 7)


def test_what_is_to_be_sealed_anew_is_known() -> None:
    sealed = Seals(OLD).seal(CALL, "shop", 7)
    assert Seals(BOTH).needs_sealing(sealed)
    assert not Seals(BOTH).needs_sealing(Seals(BOTH).seal(CALL, "shop", 7))
    assert Seals(BOTH).needs_sealing(CALL)
    assert not Seals(BOTH).needs_sealing(PLAIN)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (CALL, "target.headers.Authorization"),
        (CALL._replace(headers=()), "target.url"),
        (PLAIN._replace(marks=SecretMarks(body=True)), "target.body"),
    ],
)
def test_without_a_key_a_secret_is_refused_by_its_field(call: Notify, field: str) -> None:
    for refuse in (NO_KEYS.refuse_new, lambda one: NO_KEYS.seal(one, "shop", 7)):
        with pytest.raises(InvalidInput, match="no key to encrypt") as refused:
            refuse(call)
        assert refused.value.field == field
        assert "sesame" not in str(refused.value)
    NO_KEYS.refuse_new(PLAIN)


def test_a_change_that_says_the_same_keeps_the_very_seal() -> None:
    seals = Seals(OLD)
    sealed = seals.seal(CALL, "shop", 7)
    for asked in (CALL, sealed._replace(sealed="")):
        assert seals.changed(asked, of_timer(sealed), no_check) is sealed
    changed = seals.changed(sealed._replace(method="POST", sealed=""), of_timer(sealed), no_check)
    assert seals.open(changed, "shop", 7) == CALL._replace(method="POST")


def test_secrets_that_cannot_be_opened_can_be_given_anew() -> None:
    sealed = Seals(OLD).seal(CALL, "shop", 7)
    seals = Seals(NEW)
    with pytest.raises(UnopenedSecrets):
        seals.changed(sealed._replace(sealed=""), of_timer(sealed), no_check)
    anew = seals.changed(CALL, of_timer(sealed), no_check)
    assert seals.open(anew, "shop", 7) == CALL


@pytest.mark.parametrize(
    "masked",
    [
        PLAIN._replace(url="https://shop.example/?***"),
        PLAIN._replace(url="https://***@shop.example/"),
        PLAIN._replace(headers=(("X-Tenant", "***"),)),
        PLAIN._replace(body="***"),
    ],
)
def test_while_secrets_cannot_be_opened_no_mask_takes_their_place(masked: Notify) -> None:
    # The marks are taken away: nothing says any more that these were secrets.
    sealed = Seals(OLD).seal(CALL, "shop", 7)
    for seals in (Seals(NEW), NO_KEYS):
        with pytest.raises(UnopenedSecrets):
            seals.changed(masked, of_timer(sealed), no_check)


def test_the_whole_changed_call_is_checked_with_the_one_its_kept_secrets_are_of() -> None:
    seen: list[Any] = []
    sealed = Seals(OLD).seal(CALL, "shop", 7)
    kept = sealed._replace(sealed="", url="https://other.example/", headers=CALL.headers)
    anew = kept._replace(body=CALL.body)
    for asked in (kept, anew):
        Seals(OLD).changed(asked, of_timer(sealed), lambda *checked: seen.append(checked))
    assert seen == [(anew, CALL), (anew, None)]
