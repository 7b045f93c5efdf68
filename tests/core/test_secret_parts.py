"""Which parts of a call are secret, and what `***` stands for when it is sent back."""

import json
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as some

from wangtimer.core.errors import InvalidInput
from wangtimer.core.timers.secret_parts import (
    MOST_LOOKED_FOR,
    has_open_secrets,
    is_secret_header,
    is_secret_name,
    masked,
    masked_url,
    parted,
    secret_texts,
    unmasked,
    whole,
    without,
)
from wangtimer.core.timers.timer import Notify, SecretMarks

URL = "https://shop.example/a"
ALL = SecretMarks(("x-tenant",), query=True, body=True)


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "COOKIE",
        "proxy-authorization",
        "X-Api-Key",
        "x_api_key",
        "X-Hub-Signature",
        "X-Password",
        "Shop-Token",
        "client_secret",
        "X-Session-Id",
        "X-Auth",
    ],
)
def test_headers_are_secret_by_their_names(name: str) -> None:
    assert is_secret_header(name)
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["Content-Type", "Accept-Encoding", "X-Author", "X-Tag", "Idempotency-Key"])
def test_other_headers_are_not(name: str) -> None:
    assert not is_secret_header(name)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (URL, URL),
        (f"{URL}?order=7", f"{URL}?order=7"),
        (f"{URL}?token=a&order=7&token=b", f"{URL}?token=***&order=7&token=***"),
        (f"{URL}?api%5Fkey=a", f"{URL}?api%5Fkey=***"),
        (f"{URL}?token=&key", f"{URL}?token=&key"),
        (f"{URL}?", f"{URL}?"),
        ("http://me:word@h:80/a@b?c=d", "http://***@h:80/a@b?c=d"),
    ],
)
def test_a_url_is_masked_by_names(url: str, shown: str) -> None:
    assert masked_url(url) == shown
    assert masked_url(shown) == shown


def test_all_of_a_query_is_masked_where_it_is_marked() -> None:
    assert masked_url(f"{URL}?order=7&x", whole_query=True) == f"{URL}?***"
    assert masked_url(URL, whole_query=True) == URL


_headers = some.lists(
    some.tuples(
        some.sampled_from(["X-Tag", "Authorization", "authorization", "X-Tenant"]), some.text(max_size=3)
    ),
    max_size=5,
).map(tuple)
_queries = some.lists(some.sampled_from(["token=a", "token=b", "order=7", "x", "***", "key=***"]), max_size=4)
_marks = some.builds(
    SecretMarks,
    some.sampled_from([(), ("x-tag",), ("x-tag", "x-tenant")]),
    some.booleans(),
    some.booleans(),
)
_calls = some.builds(
    lambda query, headers, body, marks: Notify(f"{URL}?{'&'.join(query)}", "PUT", headers, body, marks),
    _queries,
    _headers,
    some.text(max_size=3),
    _marks,
)


@given(_calls)
def test_what_is_taken_apart_is_put_together_again(call: Notify) -> None:
    hidden, secrets = parted(call)
    assert whole(hidden, secrets) == call
    assert masked(hidden) == hidden


@given(_calls)
def test_marks_that_were_lost_are_known_by_the_secrets(call: Notify) -> None:
    hidden, secrets = parted(call)
    assert secret_texts(whole(hidden._replace(marks=SecretMarks()), secrets)) == secret_texts(call)


@given(_calls)
def test_what_was_shown_and_is_sent_back_changes_nothing(call: Notify) -> None:
    assert unmasked(masked(call), call) == call


def test_each_mask_stands_for_the_value_of_its_name_and_number() -> None:
    was = Notify(
        f"{URL}?token=a&token=b&order=7", "PUT", (("X-Api-Key", "1"), ("Cookie", "c"), ("x-api-key", "2")), ""
    )
    asked = Notify(
        "http://else.example/b?order=8&token=***&token=new",
        "PUT",
        (("Cookie", "new"), ("X-API-KEY", "***"), ("X-API-KEY", "***"), ("X-Tag", "***")),
    )
    found = unmasked(asked, was)
    assert found.url == "http://else.example/b?order=8&token=a&token=new"
    assert found.headers == (("Cookie", "new"), ("X-API-KEY", "1"), ("X-API-KEY", "2"), ("X-Tag", "***"))


MASKED = [
    Notify(f"{URL}?token=***"),
    Notify(f"{URL}?***", marks=ALL),
    Notify(URL, headers=(("Authorization", "***"),)),
    Notify(URL, headers=(("X-Tenant", "***"),), marks=ALL),
    Notify(URL, body="***", marks=ALL),
]


@pytest.mark.parametrize("asked", MASKED, ids=str)
@pytest.mark.parametrize("was", [None, Notify(URL), Notify(URL, body="open")], ids=["new", "bare", "open"])
def test_a_mask_for_which_there_is_no_secret_is_refused(asked: Notify, was: Notify | None) -> None:
    with pytest.raises(InvalidInput, match="write the secret itself"):
        unmasked(asked, was)


@pytest.mark.parametrize(
    ("was", "field"),
    [
        (Notify(f"{URL}?a=b", marks=ALL), "target.url"),
        (Notify(URL, headers=(("X-Tenant", "t"),), marks=ALL), "target.headers.X-Tenant"),
        (Notify(URL, body="b", marks=ALL), "target.body"),
    ],
)
def test_a_mark_is_taken_away_only_with_the_value_given_anew(was: Notify, field: str) -> None:
    unmarked = SecretMarks()
    with pytest.raises(InvalidInput, match="would be shown") as refused:
        unmasked(masked(was)._replace(marks=unmarked), was)
    assert refused.value.field == field
    assert unmasked(was._replace(marks=unmarked), was) == was._replace(marks=unmarked)


def test_a_mask_where_nothing_is_secret_is_text() -> None:
    call = Notify(f"{URL}?order=***", headers=(("X-Tag", "***"),), body="***")
    assert unmasked(call, None) == call


def test_secrets_that_are_written_out_are_told_from_masks() -> None:
    assert has_open_secrets(Notify(f"{URL}?token=a"))
    assert not has_open_secrets(Notify(f"{URL}?token=***", headers=(("Cookie", "***"),)))
    assert not has_open_secrets(Notify(URL, body="x"))


def test_a_secret_that_is_repeated_within_json_is_hidden() -> None:
    secret = 'open "sesame" \\ 芝麻'
    texts = secret_texts(Notify(URL, headers=(("X-Api-Key", secret),)))
    for is_ascii in (True, False):
        said = json.dumps({"got": secret, "tag": "harmless"}, ensure_ascii=is_ascii)
        assert without(texts, said) == '{"got": "***", "tag": "harmless"}'


def test_basic_credentials_are_hidden_decoded() -> None:
    encoded = b64encode(b"alice:open:sesame").decode()
    texts = secret_texts(Notify(URL, headers=(("Authorization", f"basic {encoded}"),)))
    said = f"basic {encoded}|{encoded}|alice:open:sesame|wrong password open:sesame|alice"
    assert without(texts, said) == "***|***|***|wrong password ***|alice"
    assert without(secret_texts(Notify(URL, headers=(("Authorization", "Basic é!"),))), "é!") == "é!"


def test_a_secret_that_is_cut_off_at_the_end_is_hidden() -> None:
    secrets = ("canary-123456", "ary-12")
    assert without(secrets, "you said canary-1234") == "you said ***"
    assert without(secrets, "you said canary") == "you said ***"
    assert without(secrets, "you said canar") == "you said canar"  # so few characters occur by chance
    assert without(secrets, "canary-1234 is not it") == "can***34 is not it"
    assert without(("aaaabbbbbb", "bbbbbbcccc"), "x aaaabbbbbb") == "x ***"
    assert without(secrets, "canary-123456canary-123456") == "******"


def test_of_a_secret_with_placeholders_each_part_between_them_is_hidden() -> None:
    call = Notify(
        URL, headers=(("X-Api-Key", "canary-1-{{attempt}}-canary-2"),), body="at {{fireAt}}: canary-3"
    )
    texts = secret_texts(call._replace(marks=SecretMarks(body=True)))
    assert without(texts, "got canary-1-7-canary-2 at 2026: canary-3") == "got ***7*** at 2026***"


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "call",
    [
        Notify(URL, headers=(("Authorization", "Bearer canary{{1"),)),
        Notify(URL, headers=(("Authorization", "Basic " + b64encode(b"alice:canary{{1").decode()),)),
        Notify(URL, headers=(("Cookie", "canary{{1"),)),
        Notify(f"{URL}?token=canary{{{{1"),
        Notify(URL, headers=(("X-Own", "canary{{1"),), marks=SecretMarks(headers=("x-own",))),
        Notify(f"{URL}?own=canary{{{{1", marks=SecretMarks(query=True)),
        Notify(URL, body="canary{{1", marks=SecretMarks(body=True)),
    ],
)
def test_a_secret_that_begins_a_placeholder_and_ends_none_is_hidden_as_a_whole(call: Notify) -> None:
    assert without(secret_texts(call), "got canary{{1.") == "got ***."


def test_a_secret_body_in_base64_is_hidden_as_it_is_sent() -> None:
    call = Notify(URL, body=b64encode(b"canary-1\xff").decode(), marks=SecretMarks(body=True))
    assert without(secret_texts(call, True), f"got canary-1\ufffd, {call.body}") == "got ***, ***"
    assert without(secret_texts(call._replace(body="canary-1"), True), "got canary-1") == "got ***"


def test_other_letters_are_hidden_as_a_header_is_read() -> None:
    texts = secret_texts(Notify(URL, headers=(("Cookie", "sésame-1"),)))
    assert without(texts, "/" + "sésame-1".encode().decode("latin-1")) == "/***"


def test_a_secret_that_is_cut_off_before_an_ellipsis_is_hidden() -> None:
    secrets = ("canary-123456", "with… in it")
    assert without(secrets, "it points to /canary-12…, and more") == "it points to /***…, and more"
    assert without(secrets, "it points to /canar…, and more") == "it points to /canar…, and more"
    assert without(secrets, "/canary-12…/canary-123456/canary") == "/***…/***/***"
    assert without(secrets, "with… in it, with… in") == "***, ***"


def test_of_secrets_that_are_too_many_to_look_for_all_is_hidden() -> None:
    alike = tuple("aaaaaa" + "a" * number for number in range(450))
    assert without(alike, "a" * 1_024) == "***"
    assert without(("a" * 500 + "b",), "a" * 1_024) == "***"
    assert without(alike, "no such letter") == "no such letter"
    headers = tuple(("Cookie", f"sesame-{number}") for number in range(MOST_LOOKED_FOR + 1))
    texts = secret_texts(Notify(URL, headers=headers))
    assert (without(texts, "what it says"), without(texts, "")) == ("***", "")
    texts = secret_texts(Notify(URL, headers=headers[1:]))
    assert without(texts, "it says sesame-1, sesame-100") == "it says ***, ***"


def test_a_secret_that_is_repeated_is_hidden_in_each_of_its_spellings() -> None:
    call = Notify(
        f"{URL}?token=open%20sesame&order=1234567&key=short",
        headers=(("Authorization", "Bearer canary-1"), ("X-Tag", "harmless"), ("Cookie", "id=ab12cd")),
        body="the whole body",
        marks=SecretMarks(body=True),
    )
    said = (
        "Bearer canary-1|canary-1|open%20sesame|open sesame|id=ab12cd|the whole body|1234567|short|harmless"
    )
    hidden = without(secret_texts(call), said)
    assert hidden == "***|***|***|***|***|***|1234567|short|harmless"
    assert secret_texts(Notify(f"{URL}?order=1234567", body="the whole body")) == ()
    assert secret_texts(call._replace(marks=SecretMarks(query=True)))[-1] == "1234567"
