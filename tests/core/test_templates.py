"""Placeholders: what is filled in, how it is escaped where it stands, and what is refused."""

import json
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wangtimer.core.errors import InvalidInput
from wangtimer.core.timers.templates import (
    MOST_PLACEHOLDERS,
    PLACEHOLDERS,
    Filling,
    filled,
    refuse_bad_placeholders,
)
from wangtimer.core.timers.timer import Notify

FILLING = Filling("sh\"op<&'/ü", "Asia/Shanghai", 7, 1_795_207_483_123, 2, "7-1795207483123", 17)
VALUES = {
    "fireAt": "2026-11-20T20:44:43.123Z",
    "fireAtMs": "1795207483123",
    "scheduledLocal": "2026-11-21T04:44:43.123+08:00",
    "timezone": "Asia/Shanghai",
    "firingId": "7-1795207483123",
    "timerId": "7",
    "attempt": "2",
    "seq": "17",
    "app": "sh\"op<&'/ü",
}
URL = "http://a/?"


def whole(name: str) -> str:
    return f"{{{{{name}}}}}"


def body_of(body: str, content_type: str = "text/plain") -> str:
    return filled(Notify(URL, body=body), FILLING, content_type).body


@pytest.mark.parametrize("name", PLACEHOLDERS)
def test_each_placeholder_has_its_value_everywhere(name: str) -> None:
    assert VALUES.keys() == PLACEHOLDERS.keys()
    call = Notify(f"http://a/p?q={whole(name)}&r=1", headers=(("X", f"a {whole(name)}!"),), body=whole(name))
    made = filled(call, FILLING, "text/plain")
    assert parse_qs(urlsplit(made.url).query) == {"q": [VALUES[name]], "r": ["1"]}
    assert made.headers == (("X", f"a {VALUES[name]}!"),)
    assert made.body == VALUES[name]


def test_spaces_within_the_braces_do_not_count_and_text_beside_stays() -> None:
    assert body_of("a{{ attempt }}b{{attempt}}c {x} {{ other }} {{") == "a2b2c {x} {{ other }} {{"


@given(st.text())
def test_what_is_filled_in_cannot_leave_its_place(app: str) -> None:
    filling = FILLING._replace(app=app)
    made = filled(
        Notify(f"{URL}a={whole('app')}&b=2", body=json.dumps({"a": whole("app")})), filling, "a/json"
    )
    query = urlsplit(made.url).query
    assert [unquote(one, errors="surrogatepass") for one in query.split("&")] == [f"a={app}", "b=2"]
    assert json.loads(made.body) == {"a": app}


@pytest.mark.parametrize("kind", ["application/json", "application/vnd.shop+JSON; charset=utf-8"])
def test_in_json_it_is_part_of_a_string(kind: str) -> None:
    assert json.loads(body_of('{"app":"{{app}}","n":{{attempt}}}', kind)) == {"app": VALUES["app"], "n": 2}


def test_in_a_form_it_is_part_of_a_field() -> None:
    body = body_of("app={{app}}&zone={{timezone}}", "application/x-www-form-urlencoded")
    assert parse_qs(body) == {"app": [VALUES["app"]], "zone": ["Asia/Shanghai"]}


@pytest.mark.parametrize("kind", ["text/xml", "application/atom+xml"])
def test_in_xml_it_is_text(kind: str) -> None:
    root = ElementTree.fromstring(body_of('<a of="{{app}}">{{app}}</a>', kind))
    assert (root.text, root.get("of")) == (VALUES["app"], VALUES["app"])


@pytest.mark.parametrize(
    ("call", "field", "word"),
    [
        (Notify("http://a/?x={{firedAt}}"), "target.url", "did you mean {{fireAt}}?"),
        (Notify("http://a/", headers=(("X-A", "{{Attempt}}"),)), "target.headers.X-A", "{{attempt}}"),
        (Notify("http://a/", body="{{"), "target.body", "{{fireAt}}"),
        (Notify("http://a/", body="{{nothing.like.it}}"), "target.body", "leave templates out"),
        (Notify("http://a/{{attempt}}"), "target.url", "query"),
        (Notify("/x/{{attempt}}", target="shop"), "target.path", "query"),
        (Notify("http://a/", body="{{app}}" * (MOST_PLACEHOLDERS + 1)), "target.templates", "100 at most"),
    ],
    ids=["near", "case", "open", "unknown", "path", "path of a target", "many"],
)
def test_what_is_no_placeholder_is_refused_with_where_and_what_was_meant(
    call: Notify, field: str, word: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        refuse_bad_placeholders(call)
    assert refused.value.field == field
    assert word in str(refused.value)


def test_as_many_as_are_allowed_and_masks_are_taken() -> None:
    refuse_bad_placeholders(Notify("http://a/?t=***", body="{{app}}" * MOST_PLACEHOLDERS))


def test_more_than_so_many_are_not_filled_in_wherever_they_come_from() -> None:
    call = Notify(
        "http://a/?x={{app}}", headers=(("X", "{{app}}"),), body="{{app}}" * (MOST_PLACEHOLDERS - 2)
    )
    assert len(filled(call, FILLING, "text/plain").body) == (MOST_PLACEHOLDERS - 2) * len(VALUES["app"])
    with pytest.raises(ValueError, match="more than 100 placeholders"):
        filled(call._replace(body=call.body + "{{app}}"), FILLING, "text/plain")
