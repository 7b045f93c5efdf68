"""docs/security.md has the rows of the table, all of them held, and the table leaves no operation and no risk out."""

import re

from tests.attack.attack import Section, Tried
from tests.attack.egress import SPELLINGS
from tests.attack.foreign_ids import FOREIGN_IDS, WITHOUT_ID
from tests.attack.page import page, totals
from tests.attack.table import SECTIONS
from tests.docs.blocks import ROOT
from tests.in_one import in_one
from wangtimer.api.access.rights import RIGHTS
from wangtimer.core.apps.scopes import Scope

PAGE = ROOT / "docs" / "security.md"
ATTACKS = [attack for section in SECTIONS for attack in section.attacks]


def test_the_page_has_each_row_of_the_table_and_each_is_held() -> None:
    held = {one: Tried(one, one.expected) for one in ATTACKS}
    assert PAGE.read_text(encoding="utf-8") == page(SECTIONS, held), "run make attack: it writes the page"


def test_each_operation_is_tried_with_ids_of_another_app_or_says_why_it_takes_none() -> None:
    guarded = {route for route, right in RIGHTS.items() if isinstance(right, Scope)}
    tried = {one.route for one in FOREIGN_IDS}
    assert tried | WITHOUT_ID.keys() == guarded
    assert not tried & WITHOUT_ID.keys()


def test_each_risk_of_the_top_ten_has_a_section() -> None:
    risks = {risk for section in SECTIONS for risk in section.risks}
    assert risks == {f"API{number}" for number in range(1, 11)}


@in_one("section", SECTIONS)
def test_each_row_of_a_section_says_something_else(section: Section) -> None:
    said = [one.tried for one in section.attacks]
    assert len(set(said)) == len(said)


def test_each_spelling_is_tried() -> None:
    tried = " ".join(one.tried for one in ATTACKS)
    assert [one for one in SPELLINGS if f"`http://{one}:PORT/`" not in tried] == []


def test_no_row_says_what_another_run_would_say_otherwise() -> None:
    """No ports, keys, ids of timers or moments."""
    said = " ".join(f"{one.tried} {one.expected}" for one in ATTACKS)
    assert re.findall(r"wtk_[0-9A-Za-z]{12}|127\.0\.0\.1:\d{5}|\b\d{13,15}\b", said) == []


def test_there_are_enough() -> None:
    assert len(ATTACKS) >= 150
    assert totals(SECTIONS, {one: Tried(one, one.expected) for one in ATTACKS}).startswith(f"{len(ATTACKS)} ")
