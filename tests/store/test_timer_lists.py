"""Lists of timers: the same ones in the same order, by whichever index and in however many parts they are read."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from sqlalchemy import event

from tests.store.definitions import EVERY_MINUTE, NOTIFY
from tests.store.plain_stores import plain_timers
from tests.store.test_parts import AT
from tests.store.test_timers import near
from wangtimer.core.at_once import AtOnce
from wangtimer.core.errors import InvalidInput, TooManyAtOnce
from wangtimer.core.timers.bad_timers import BadTimers
from wangtimer.core.timers.timer import NewTimer, Notify, Timer
from wangtimer.store.sql import parts as parts_module
from wangtimer.store.sql import timer_lists as lists_module
from wangtimer.store.sql.database import Database
from wangtimer.store.sql.timer_lists import ListedStatus, Order, SortKey, TimerFilter, TimerLists
from wangtimer.testing.doubles import HandClock

SHOP = TimerFilter("shop")
LAST = "\U0010ffff"
NAMES = [
    "a",
    "ab",
    "abc",
    "Abd",
    "b",
    "ab c",
    "ab%",
    f"ab{LAST}",
    f"ab{LAST}x",
    "ac",
    "é",
    "日本",
    "\ud7ffx",
    "\ue000",
]


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three rows are many here, and four too many to sort."""
    for name, rows in (("FEW_ROWS", 3), ("FEW_COUNTED", 4), ("MOST_ROWS", 5), ("FEW_SORTED", 4)):
        monkeypatch.setattr(lists_module, name, rows)


def fill(database: Database) -> list[Timer]:
    """Make timers that were deleted, changed and of another app, and return the shop's living ones by their ids."""
    store = plain_timers(database)
    made = []
    for number, name in enumerate([*NAMES, *(f"order-{n}" for n in range(5))]):
        tags = ("few",) * (number % 7 == 0) + ("many",) * (number % 2 == 0)
        store.create(NewTimer("other", name, EVERY_MINUTE, NOTIFY, tags=tags), AT)
        gone = store.create(NewTimer("shop", name, EVERY_MINUTE, NOTIFY, tags=tags), AT)
        store.delete("shop", gone.id, AT)
        made.append(store.create(NewTimer("shop", name, EVERY_MINUTE, NOTIFY, tags=tags), AT + number))
    for number, timer in enumerate(made):
        if number % 3 == 0:
            changed_at = AT + 1_000 - number % 4
            made[number], _ = store.enable("shop", timer.id, changed_at, near(0))
    return made


def wanted_of(one: Timer, wanted: TimerFilter) -> bool:
    return all(
        (
            wanted.prefix is None or one.name.startswith(wanted.prefix),
            wanted.contains is None or wanted.contains.lower() in one.name.lower(),
            wanted.tag is None or wanted.tag in one.tags,
            wanted.names is None or one.name in wanted.names,
            wanted.status is None or one.definition.status.value == wanted.status.value,
        )
    )


FILTERS = [
    SHOP,
    *(replace(SHOP, prefix=prefix) for prefix in ("a", f"ab{LAST}", "\ud7ff", "none")),
    *(replace(SHOP, prefix=prefix, tag="many") for prefix in ("ab", "order-")),
    *(replace(SHOP, tag=tag, contains=contains) for tag in ("few", "many") for contains in (None, "B")),
    replace(SHOP, prefix="a", contains="B", status=ListedStatus.DISABLED),
    replace(SHOP, status=ListedStatus.ENABLED),
    replace(SHOP, names=("ab", "b", "none"), tag="many"),
]


ORDERS = (
    Order(),
    *(Order(key, descending=True) for key in SortKey),
    Order(SortKey.NAME),
)


@pytest.mark.test_all
def test_every_filter_in_every_order_has_the_same_timers_on_pages_as_in_one_list(
    database: Database, small_parts: None
) -> None:
    made, lists = fill(database), TimerLists(database, HandClock(), BadTimers())
    for wanted, order in product(FILTERS, ORDERS):
        expected = [one for one in made if wanted_of(one, wanted)]
        expected.sort(key=lambda one: (order.value_of(one), one.id), reverse=order.descending)
        ids = [one.id for one in expected]
        assert [one.id for one in lists.page(wanted, order, 99, AT + 2_000)] == ids, (wanted, order)
        found: list[Timer] = []
        while page := lists.page(
            wanted, order, 6, AT + 2_000, (order.value_of(found[-1]), found[-1].id) if found else None
        ):
            found += page
        assert [one.id for one in found] == ids, (wanted, order)
        if order.descending and order.key is SortKey.ID:
            skips = range(0, len(ids), 3)
            numbered = [lists.page(wanted, order, 3, AT + 2_000, skipped=skipped) for skipped in skips]
            assert [one.id for page in numbered for one in page] == ids, wanted
            assert lists.count(wanted, AT + 2_000) == len(ids)
            assert [*lists.chosen(wanted, 99, AT + 2_000, made[3].id)] == [
                one for one in reversed(ids) if one > made[3].id
            ]


CALLED = {
    "plain": "http://shop.example/x",
    "at a port": "http://shop.example:8080",
    "TLS": "https://Shop.Example?x=1",
    "TLS, its port": "https://shop.example:443#a",
    "another": "http://shop.example.org/",
    "in the path": "http://x.example/http://shop.example/",
    "as a user": "http://x.example/@shop.example/",
    "address": "http://[::1]:80/",
}


@pytest.mark.parametrize(
    ("host", "names"),
    [
        ("shop.example", ["plain", "at a port", "TLS", "TLS, its port"]),
        ("shop.example:80", ["plain"]),
        ("shop.example:443", ["TLS", "TLS, its port"]),
        ("shop.example:8080", ["at a port"]),
        ("shop.exampl_", []),
        ("[::1]", ["address"]),
        ("example", []),
    ],
)
def test_timers_are_found_by_the_host_of_their_url(
    database: Database, small_parts: None, host: str, names: list[str]
) -> None:
    store, body = plain_timers(database), '{"url":"http://shop.example/"}'
    for name, url in CALLED.items():
        store.create(NewTimer("shop", name, EVERY_MINUTE, Notify(url, body=body)), AT)
        store.create(NewTimer("other", name, EVERY_MINUTE, Notify(url)), AT)
    lists = TimerLists(database, HandClock(), BadTimers())
    wanted = replace(SHOP, host=host)
    assert [one.name for one in lists.page(wanted, Order(), 99, AT)] == names
    assert lists.count(wanted, AT) == len(names)
    assert [one.name for one in lists.chosen(wanted, 99, AT, 0).values()] == names


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ("İ", ["İstanbul", "kİ", "mixed"]),
        ("i", ["İstanbul", "kİ", "mixed"]),
        ("ΔΟΣ", ["ΟΔΟΣ", "οδος", "οδοσα"]),
        ("δος", ["ΟΔΟΣ", "οδος", "οδοσα"]),
        ("ÉT", ["été"]),
        ("_%/", ["a_%/b"]),
        ("a_%", ["a_%/b"]),
    ],
)
def test_a_text_is_found_whatever_its_case(database: Database, wanted: str, names: list[str]) -> None:
    store, lists = plain_timers(database), TimerLists(database, HandClock(), BadTimers())
    for name in ("İstanbul", "kİ", "mixed", "ΟΔΟΣ", "οδος", "οδοσα", "été", "a_%/b", "axxb"):
        store.create(NewTimer("shop", name, EVERY_MINUTE, NOTIFY), AT)
    assert [one.name for one in lists.page(replace(SHOP, contains=wanted), Order(), 9, AT)] == names


Slow = Callable[[HandClock, float], list[str]]


@pytest.fixture
def slow(database: Database) -> Iterator[Slow]:
    """Lets each list of timers take so many seconds a statement; returns the statements."""
    kept: list[Any] = []

    def let(clock: HandClock, takes_s: float) -> list[str]:
        seen: list[str] = []

        def see(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
            if "SELECT" in statement:
                seen.append(statement)
                clock.sleep(takes_s)

        for engine in database.engines:
            event.listen(engine, "before_cursor_execute", see)
        kept.append(see)
        return seen

    yield let
    for see in kept:
        for engine in database.engines:
            event.remove(engine, "before_cursor_execute", see)


def test_a_list_that_finds_nothing_in_time_is_refused_and_says_what_to_ask_for(
    database: Database, small_parts: None, slow: Slow
) -> None:
    fill(database)
    clock = HandClock()
    lists = TimerLists(database, clock, BadTimers())
    slow(clock, 1.5)
    raised = []
    for look in (
        lambda: lists.page(replace(SHOP, contains="none"), Order(), 5, AT),
        lambda: lists.count(replace(SHOP, contains="none"), AT),
        lambda: lists.chosen(replace(SHOP, contains="none"), 5, AT, 0),
    ):
        began_at = clock.monotonic()
        with pytest.raises(InvalidInput, match="tag that few have") as refused:
            look()
        assert clock.monotonic() < began_at + 11
        raised.append(refused.value)
    assert len(set(map(id, raised))) == len(raised), "one that is raised again keeps the rows of each time"


def test_one_app_has_half_of_the_long_looks_at_timers_and_its_short_ones_go_on(
    database: Database, small_parts: None, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """32 clients of one app with 100,000 timers let another app's GET wait for 8.6 s."""
    looks = AtOnce(2)
    monkeypatch.setattr(parts_module, "LONG_LOOKS", looks)
    fill(database)
    clock = HandClock()
    lists, none = TimerLists(database, clock, BadTimers()), replace(SHOP, contains="none")
    end = looks.begin("shop")
    began = slow(clock, 0.0)
    with pytest.raises(TooManyAtOnce):
        lists.page(none, Order(), 5, AT)
    assert len(began) == 2, "it may read its first part"
    assert len(lists.page(SHOP, Order(), 5, AT)) == 5
    slow(clock, 0.2)
    assert lists.page(replace(none, app="other"), Order(), 5, AT) == []
    another = looks.begin("bank")
    with pytest.raises(TooManyAtOnce):
        lists.page(replace(none, app="other"), Order(), 5, AT)
    another()
    end()
    assert lists.page(none, Order(), 5, AT) == []
