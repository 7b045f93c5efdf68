"""Bad input: each row says what is sent, and which field and code the answer names."""

import json
from typing import Any

import pytest

from tests.api.world import DEF, DEFS, ENABLE, RECORDS, UNABLE, URL, Answered, World, definition

SECONDS_NOT_MS = 1_795_198_611


def assert_refused(answered: Answered, status: int, code: int, field: str) -> None:
    assert (answered.status, answered.code, answered.json["field"]) == (status, code, field), answered.json
    assert answered.msg.startswith(f"{field or 'request'}: ")
    assert "; " in answered.msg, "no mend"


BAD_FIELDS: list[tuple[str, dict[str, Any], int, str]] = [
    ("no app", {"without": "app"}, 40005, "app"),
    ("no name", {"without": "name"}, 40005, "name"),
    ("no callback", {"without": "notifyHTTPParam"}, 40005, "notifyHTTPParam"),
    ("empty app", {"app": ""}, 40007, "app"),
    ("app of 65 characters", {"app": "x" * 65}, 40007, "app"),
    ("app with a line break", {"app": "a\nb"}, 40007, "app"),
    ("app with NUL", {"app": "a\0"}, 40007, "app"),
    ("app with a space at its end", {"app": "shop "}, 40007, "app"),
    ("app that is a number", {"app": 7}, 40006, "app"),
    ("app that is null", {"app": None}, 40006, "app"),
    ("app that is a list", {"app": ["shop"]}, 40006, "app"),
    ("empty name", {"name": ""}, 40007, "name"),
    ("name of 129 characters", {"name": "x" * 129}, 40007, "name"),
    ("name with a zero-width space", {"name": "a\u200bb"}, 40007, "name"),
    ("name that is true", {"name": True}, 40006, "name"),
    ("unknown field", {"crom": "* * * * *"}, 40004, "crom"),
    ("xTimer's status, enabled", {"status": 2}, 40007, "status"),
    ("xTimer's status, unknown", {"status": -1}, 40007, "status"),
    ("xTimer's other way to notify", {"notify_type": 2}, 40007, "notify_type"),
    ("unknown field with an odd name", {"\u0000\n'\"": 1}, 40004, "\u0000\n'\""),
    ("our own name of a field", {"delay_ms": 5}, 40004, "delay_ms"),
    ("creator that is a number", {"creator": 1}, 40006, "creator"),
    # when
    ("no schedule", {"cron": None}, 40008, "cron"),
    ("two schedules", {"cron": "* * * * *", "delayMs": 5}, 40008, "cron"),
    ("three schedules", {"cron": "* * * * *", "delayMs": 5, "at": 5}, 40008, "cron"),
    ("cron that is a number", {"cron": 5}, 40006, "cron"),
    ("empty cron", {"cron": ""}, 40008, "cron"),
    ("cron of 4 fields", {"cron": "* * * *"}, 40008, "cron"),
    ("cron of 8 fields", {"cron": "* * * * * * * *"}, 40008, "cron"),
    ("cron out of range", {"cron": "61 * * * *"}, 40008, "cron"),
    ("cron that never fires", {"cron": "0 0 30 2 *"}, 40008, "cron"),
    ("cron of years past", {"cron": "0 0 0 1 1 * 2001"}, 40008, "cron"),
    ("cron of random", {"cron": "R * * * *"}, 40008, "cron"),
    ("cron of a range to itself", {"cron": "5-5 * * * *"}, 40008, "cron"),
    ("cron of 10,000 characters", {"cron": "1," * 5_000 + "1 * * * *"}, 40008, "cron"),
    ("cron with NUL", {"cron": "* * * * \0"}, 40008, "cron"),
    ("cron of other scripts' digits", {"cron": "\u0663\u0669\u0669 * * * *"}, 40008, "cron"),
    ("unknown zone", {"timezone": "Mars/Base"}, 40008, "timezone"),
    ("empty zone", {"timezone": ""}, 40008, "timezone"),
    ("zone that is a path", {"timezone": "../../etc/passwd"}, 40008, "timezone"),
    ("zone of a one-shot, unknown", {"delayMs": 5, "timezone": "Mars/Base"}, 40008, "timezone"),
    ("zone that is a number", {"timezone": 8}, 40006, "timezone"),
    ("at without an offset", {"at": "2190-01-02T03:04:05"}, 40008, "at"),
    ("at as a date", {"at": "2190-01-02"}, 40008, "at"),
    ("at on 30 February", {"at": "2190-02-30T00:00:00Z"}, 40008, "at"),
    ("at of an impossible offset", {"at": "2190-01-02T03:04:05+24:00"}, 40008, "at"),
    ("at in a week's notation", {"at": "2190-W01-1T03:04:05Z"}, 40008, "at"),
    ("at in other scripts' digits", {"at": "\u0662190-01-02T03:04:05Z"}, 40008, "at"),
    ("at as digits in text", {"at": "6942683045000"}, 40008, "at"),
    ("at that is empty", {"at": ""}, 40008, "at"),
    ("at that is 10,000 characters", {"at": "2" * 10_000}, 40008, "at"),
    ("at in seconds", {"at": SECONDS_NOT_MS}, 40008, "at"),
    ("at before 1970", {"at": -1}, 40008, "at"),
    ("at in text before 1970", {"at": "0001-01-01T00:00:00+23:59"}, 40008, "at"),
    ("at in text after 2199", {"at": "9999-12-31T23:59:59-23:59"}, 40008, "at"),
    ("at after 2199", {"at": 7_258_118_400_000}, 40008, "at"),
    ("at of 2**63", {"at": 2**63}, 40008, "at"),
    ("at of 4,000 digits", {"at": 10**4_000}, 40008, "at"),
    ("at that is a fraction", {"at": 1.5e12}, 40006, "at"),
    ("at that is true", {"at": True}, 40006, "at"),
    ("at that is an object", {"at": {}}, 40006, "at"),
    ("unknown misfire policy", {"misfire": "fire_some"}, 40007, "misfire"),
    ("misfire grace under a second", {"misfireGraceMs": 999}, 40007, "misfireGraceMs"),
    ("misfire grace as text", {"misfireGraceMs": "60000"}, 40006, "misfireGraceMs"),
    ("catch-up window below 0", {"catchupWindowMs": -1}, 40007, "catchupWindowMs"),
    ("catch-up window beyond a century", {"catchupWindowMs": 10**15}, 40007, "catchupWindowMs"),
    ("delayMs below 0", {"delayMs": -1}, 40008, "delayMs"),
    ("delayMs beyond 2199", {"delayMs": 10**13}, 40008, "delayMs"),
    ("delayMs of 4,000 digits", {"delayMs": 10**4_000}, 40008, "delayMs"),
    ("delayMs as text", {"delayMs": "5"}, 40006, "delayMs"),
    ("delayMs that is a fraction", {"delayMs": 5.5}, 40006, "delayMs"),
    ("delayMs that is true", {"delayMs": True}, 40006, "delayMs"),
    # the callback
    ("callback that is text", {"notifyHTTPParam": URL}, 40006, "notifyHTTPParam"),
    ("callback that is null", {"notifyHTTPParam": None}, 40006, "notifyHTTPParam"),
    ("callback without a URL", {"notifyHTTPParam": {}}, 40005, "notifyHTTPParam.url"),
]
BAD_NOTIFY: list[tuple[str, dict[str, Any], int, str]] = [
    ("unknown field", {"headers": {}}, 40004, "headers"),
    ("URL that is null", {"url": None}, 40006, "url"),
    ("empty URL", {"url": ""}, 40009, "url"),
    ("URL without a scheme", {"url": "target.example/x"}, 40009, "url"),
    ("URL of FTP", {"url": "ftp://target.example/x"}, 40009, "url"),
    ("URL of a file", {"url": "file:///etc/passwd"}, 40009, "url"),
    ("URL of javascript", {"url": "javascript:alert(1)"}, 40009, "url"),
    ("URL without a host", {"url": "http:///x"}, 40009, "url"),
    ("URL of a port alone", {"url": "http://:80/"}, 40009, "url"),
    ("URL of a dot", {"url": "http://./"}, 40009, "url"),
    ("URL of port 0", {"url": "http://a:0/"}, 40009, "url"),
    ("URL of port 65536", {"url": "http://a:65536/"}, 40009, "url"),
    ("URL of a port in words", {"url": "http://a:http/"}, 40009, "url"),
    ("URL of half an IPv6 address", {"url": "http://[::1/"}, 40009, "url"),
    ("URL of a wrong IPv6 address", {"url": "http://[zz::1]/"}, 40009, "url"),
    ("URL of an IPv6 zone", {"url": "http://[fe80::1%25eth0]/"}, 40009, "url"),
    ("URL of an encoded host", {"url": "http://%61/"}, 40009, "url"),
    ("URL with a user", {"url": "http://user:secret@a/"}, 40009, "url"),
    ("URL with a space", {"url": "http://a/b c"}, 40009, "url"),
    ("URL with a space before it", {"url": " http://a/"}, 40009, "url"),
    ("URL with a line break", {"url": "http://a/\r\nX: y"}, 40009, "url"),
    ("URL with NUL", {"url": "http://a/\0"}, 40009, "url"),
    ("URL with a backslash", {"url": "http://a\\@b/"}, 40009, "url"),
    ("URL with a host in other scripts", {"url": "http://\u4f8b.example/"}, 40009, "url"),
    ("URL of 2,049 characters", {"url": "http://a/" + "x" * 2_040}, 40009, "url"),
    ("method HEAD", {"method": "HEAD"}, 40009, "method"),
    ("method that is empty", {"method": ""}, 40009, "method"),
    ("method with a line break", {"method": "GET\r\n"}, 40009, "method"),
    ("method that is a number", {"method": 1}, 40006, "method"),
    ("body that is an object", {"body": {"a": 1}}, 40006, "body"),
    ("header that is a list", {"header": [["a", "b"]]}, 40006, "header"),
    ("header that is text", {"header": "A: b"}, 40006, "header"),
    ("header of a number", {"header": {"A": 1}}, 40006, "header.A"),
    ("header of null", {"header": {"A": None}}, 40006, "header.A"),
    ("header of a list of numbers", {"header": {"A": ["x", 1]}}, 40006, "header.A"),
    ("header of a list of lists", {"header": {"A": [["x"]]}}, 40006, "header.A"),
    ("header with an empty name", {"header": {"": "x"}}, 40009, "header"),
    ("header with a space in its name", {"header": {"A B": "x"}}, 40009, "header.A B"),
    ("header with a colon in its name", {"header": {"A:": "x"}}, 40009, "header.A:"),
    ("header with a line break", {"header": {"A": "x\r\nB: y"}}, 40009, "header.A"),
    ("header with a lone line feed", {"header": {"A": "x\ny"}}, 40009, "header.A"),
    ("header with NUL", {"header": {"A": "\0"}}, 40009, "header.A"),
    ("header webhook-id", {"header": {"Webhook-Id": "x"}}, 40009, "header.Webhook-Id"),
    ("header X-WangTimer-App", {"header": {"x-wangtimer-app": "x"}}, 40009, "header.x-wangtimer-app"),
    ("header Content-Length", {"header": {"Content-Length": "5"}}, 40009, "header.Content-Length"),
    ("header Transfer-Encoding", {"header": {"transfer-encoding": "x"}}, 40009, "header.transfer-encoding"),
    ("header Connection", {"header": {"Connection": "close"}}, 40009, "header.Connection"),
    ("header Host", {"header": {"HOST": "b"}}, 40009, "header.HOST"),
    ("header Expect", {"header": {"Expect": "100-continue"}}, 40009, "header.Expect"),
    ("header webhook_id", {"header": {"webhook_id": "x"}}, 40009, "header.webhook_id"),
    ("header X_WangTimer_App", {"header": {"X_WangTimer_App": "x"}}, 40009, "header.X_WangTimer_App"),
    ("header X.WangTimer.App", {"header": {"X.WangTimer.App": "x"}}, 40009, "header.X.WangTimer.App"),
    ("header Transfer_Encoding", {"header": {"Transfer_Encoding": "x"}}, 40009, "header.Transfer_Encoding"),
    ("51 headers", {"header": {f"A{i}": "x" for i in range(51)}}, 40009, "header"),
    ("51 values of a header", {"header": {"A": ["x"] * 51}}, 40009, "header"),
    ("headers of over 8 KiB", {"header": {"A": "\u00e4" * 4_096}}, 40009, "header"),
]
for _title, _notify, _code, _field in BAD_NOTIFY:
    _row = {"notifyHTTPParam": {"url": URL} | _notify}
    BAD_FIELDS.append((f"callback with {_title}", _row, _code, f"notifyHTTPParam.{_field}"))


@pytest.mark.parametrize(
    ("fields", "code", "field"), [pytest.param(*row[1:], id=row[0]) for row in BAD_FIELDS]
)
def test_a_create_with_a_bad_field_is_refused_by_its_name(
    small_world: World, fields: dict[str, Any], code: int, field: str
) -> None:
    assert_refused(small_world.create(**fields), 400, code, field)
    assert small_world.stored() == (0, 0)


def test_a_moment_over_a_minute_past_is_refused_by_its_name(small_world: World) -> None:
    assert_refused(small_world.create(at=small_world.clock.now - 60_001), 400, 40008, "at")
    assert small_world.stored() == (0, 0)


def test_a_moment_in_seconds_is_told_from_one_long_past(small_world: World) -> None:
    assert "milliseconds since 1970, not seconds" in small_world.create(at=SECONDS_NOT_MS).msg


def test_an_unknown_field_is_answered_with_those_there_are(small_world: World) -> None:
    msg = small_world.create(notifyHTTPParam={"uri": URL}).msg
    assert msg == (
        "notifyHTTPParam.uri: unknown field; did you mean url? Else leave it out; there are url, method, header, body"
    )


@pytest.mark.parametrize(
    ("fields", "meant"),
    [
        ({"crom": "* * * * *"}, "cron"),
        ({"start_at": 1}, "startAt"),
        ({"timeZone": "UTC"}, "timezone"),
        ({"maxFiring": 1}, "maxFirings"),
        ({"cron_expression": "* * * * *"}, "cron"),
        ({"url": URL}, "notifyHTTPParam.url"),
        ({"callbackUrl": URL}, "notifyHTTPParam.url"),
        ({"callback": {"url": URL}}, "notifyHTTPParam"),
        ({"notifyHttpParam": {"url": URL}}, "notifyHTTPParam"),
        ({"notifyHTTPParam": {"url": URL, "headers": {}}}, "header"),
        ({"notifyHTTPParam": {"url": URL, "cron": "* * * * *"}}, "cron"),
        ({"quartz": 1}, None),
        ({"x" * 20_000: 1}, None),
        ({"": 1}, None),
    ],
    ids=lambda part: str(part)[:60],
)
def test_an_unknown_field_is_answered_with_the_one_that_was_meant(
    small_world: World, fields: dict[str, Any], meant: str | None
) -> None:
    msg = small_world.create(**fields).msg
    assert ("did you mean" in msg) == (meant is not None)
    assert meant is None or f"did you mean {meant}? Else leave it out" in msg


@pytest.mark.parametrize(
    ("query", "meant"),
    [({"statsu": "enabled"}, "status"), ({"page_index": 1}, "pageIndex"), ({"timer": 1}, None)],
)
def test_an_unknown_query_parameter_is_answered_with_the_one_that_was_meant(
    small_world: World, query: dict[str, Any], meant: str | None
) -> None:
    msg = small_world.get(DEFS, app="shop", **query).msg
    assert ("did you mean" in msg) == (meant is not None)
    assert meant is None or f"did you mean {meant}? " in msg


@pytest.mark.parametrize("schedule", [{"cron": "0 9 * * *"}, {"everyMs": 60_000}])
@pytest.mark.parametrize("zone", ["Beijing", "asia/shanghai", "Asia/Shangai"])
def test_an_unknown_zone_is_answered_with_the_one_that_was_meant(
    small_world: World, zone: str, schedule: dict[str, Any]
) -> None:
    fields = definition() | {"cron": None} | schedule | {"timezone": zone}
    refused = small_world.post(DEF, **fields)
    assert_refused(refused, 400, 40008, "timezone")
    assert f"{zone!r} is not an IANA time zone; did you mean Asia/Shanghai? write" in refused.msg


def test_no_message_repeats_a_long_text_whole(small_world: World) -> None:
    long = "x" * 20_000
    for fields in ({"timezone": long}, {long: 1}, {"at": long}, {"name": long}, {"cron": f"{long} * * * *"}):
        answered = small_world.create(**fields)
        assert answered.status == 400
        assert len(answered.msg) < 600


WHOLE = json.dumps(definition()).encode()
BAD_BODIES: list[tuple[str, bytes, int, int, str]] = [
    ("nothing", b"", 400, 40001, ""),
    ("half of it", WHOLE[:-1], 400, 40001, ""),
    ("two of it", WHOLE + WHOLE, 400, 40001, ""),
    ("single quotes", b"{'app': 1}", 400, 40001, ""),
    ("a byte order mark", b"\xef\xbb\xbf" + WHOLE, 400, 40001, ""),
    ("UTF-16", WHOLE.decode().encode("utf-16"), 400, 40001, ""),
    ("Latin-1", WHOLE.replace(b"expire", b"expir\xe9"), 400, 40001, ""),
    ("half a surrogate pair", WHOLE.replace(b"expire", b"expire\\ud800"), 400, 40001, ""),
    ("half a pair as a name", WHOLE.replace(b'"name"', b'"\\udfff"'), 400, 40001, ""),
    ("NaN", WHOLE[:-1] + b', "delayMs": NaN}', 400, 40001, ""),
    ("-Infinity", WHOLE[:-1] + b', "delayMs": -Infinity}', 400, 40001, ""),
    ("a number of 5,000 digits", WHOLE[:-1] + b', "delayMs": ' + b"9" * 5_000 + b"}", 400, 40001, ""),
    ("60,000 brackets", b"[" * 60_000, 400, 40001, ""),
    ("60,000 brackets in a field", b'{"app":' + b"[" * 60_000, 400, 40001, ""),
    ("a list", b"[" + WHOLE + b"]", 400, 40002, ""),
    ("text", json.dumps(WHOLE.decode()).encode(), 400, 40002, ""),
    ("null", b"null", 400, 40002, ""),
    ("a field twice", WHOLE[:-1] + b', "name": "b"}', 400, 40003, "name"),
    ("an inner field twice", WHOLE.replace(b'"url"', b'"url": "http://b", "url"'), 400, 40003, "url"),
    ("an object", b"{}", 400, 40005, "app"),
    ("64 KiB and a byte", WHOLE[:-1] + b" " * (65_537 - len(WHOLE)) + b"}", 413, 41301, ""),
    ("a megabyte", WHOLE[:-1] + b" " * 1_000_000 + b"}", 413, 41301, ""),
]


@pytest.mark.parametrize(
    ("body", "status", "code", "field"), [pytest.param(*row[1:], id=row[0]) for row in BAD_BODIES]
)
def test_a_body_that_is_no_definition_is_refused(
    small_world: World, body: bytes, status: int, code: int, field: str
) -> None:
    answered = small_world.call("POST", DEF, data=body, content_type="application/json")
    assert_refused(answered, status, code, field)
    assert small_world.stored() == (0, 0)


def test_64_kib_are_not_too_much(small_world: World) -> None:
    body = WHOLE[:-1] + b" " * (65_536 - len(WHOLE)) + b"}"
    assert small_world.call("POST", DEF, data=body, content_type="application/json").status == 200


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "application/json; charset=latin-1",
    ],
)
def test_a_body_of_another_content_type_is_refused(small_world: World, content_type: str | None) -> None:
    answered = small_world.call("POST", DEF, data=WHOLE, content_type=content_type)
    assert_refused(answered, 415, 41501, "")
    assert small_world.stored() == (0, 0)


@pytest.mark.parametrize("content_type", ["application/json; charset=UTF-8", "Application/JSON"])
def test_json_is_known_however_it_is_spelled(small_world: World, content_type: str) -> None:
    assert small_world.call("POST", DEF, data=WHOLE, content_type=content_type).status == 200


BAD_KEYS: list[tuple[str, dict[str, Any], int, str]] = [
    ("no app", {"id": 1}, 40005, "app"),
    ("no id", {"app": "shop"}, 40005, "id"),
    ("id as text", {"app": "shop", "id": "1"}, 40006, "id"),
    ("id that is a fraction", {"app": "shop", "id": 1.0}, 40006, "id"),
    ("id that is true", {"app": "shop", "id": True}, 40006, "id"),
    ("id that is null", {"app": "shop", "id": None}, 40005, "id"),
    ("id 0", {"app": "shop", "id": 0}, 40007, "id"),
    ("id below 0", {"app": "shop", "id": -1}, 40007, "id"),
    ("id of 2**63", {"app": "shop", "id": 2**63}, 40007, "id"),
    ("id of 4,000 digits", {"app": "shop", "id": 10**4_000}, 40007, "id"),
    ("an unknown field", {"app": "shop", "id": 1, "force": True}, 40004, "force"),
    ("an app with NUL", {"app": "\0", "id": 1}, 40007, "app"),
]


@pytest.mark.parametrize(("method", "path"), [("POST", ENABLE), ("POST", UNABLE), ("DELETE", DEF)])
@pytest.mark.parametrize(("fields", "code", "field"), [pytest.param(*row[1:], id=row[0]) for row in BAD_KEYS])
def test_a_change_that_names_no_timer_is_refused(
    small_world: World, method: str, path: str, fields: dict[str, Any], code: int, field: str
) -> None:
    timer_id = small_world.made()
    assert_refused(small_world.call(method, path, json=fields), 400, code, field)
    assert small_world.get(DEF, app="shop", id=timer_id).data["version"] == 1


BAD_QUERIES: list[tuple[str, str, int, str]] = [
    (DEF, "id=1", 40005, "app"),
    (DEF, "app=shop", 40005, "id"),
    (DEF, "app=shop&id=", 40006, "id"),
    (DEF, "app=shop&id=one", 40006, "id"),
    (DEF, "app=shop&id=1.0", 40006, "id"),
    (DEF, "app=shop&id=-1", 40007, "id"),
    (DEF, "app=shop&id=%2B1", 40006, "id"),
    (DEF, "app=shop&id=1_0", 40006, "id"),
    (DEF, "app=shop&id=%D9%A1", 40006, "id"),
    (DEF, "app=shop&id=0", 40007, "id"),
    (DEF, "app=shop&id=9223372036854775808", 40007, "id"),
    (DEF, "app=shop&id=" + "9" * 3_000, 40006, "id"),
    (DEF, "app=shop&id=1&id=2", 40003, "id"),
    (DEF, "app=shop&app=shop&id=1", 40003, "app"),
    (DEF, "app=shop&id=1&verbose=1", 40004, "verbose"),
    (DEF, "app=&id=1", 40007, "app"),
    (DEF, "app=%00&id=1", 40007, "app"),
    (DEF, "app=shop%20&id=1", 40007, "app"),
    (DEF, "app=" + "x" * 65 + "&id=1", 40007, "app"),
    (DEFS, "", 40005, "app"),
    (DEFS, "app=shop&limit=0", 40007, "limit"),
    (DEFS, "app=shop&limit=501", 40007, "limit"),
    (DEFS, "app=shop&limit=all", 40006, "limit"),
    (DEFS, "app=shop&cursor=", 40010, "cursor"),
    (DEFS, "app=shop&cursor=MTIz", 40010, "cursor"),
    (DEFS, "app=shop&cursor=%C3%A4", 40010, "cursor"),
    (DEFS, "app=shop&cursor=a", 40010, "cursor"),
    (DEFS, "app=shop&cursor=" + "x" * 1_025, 40007, "cursor"),
    (RECORDS, "app=shop", 40005, "id"),
    (RECORDS, "app=shop&id=1&timerID=1", 40003, "id"),
    (RECORDS, "app=shop&timerID=x", 40006, "timerID"),
    (RECORDS, "app=shop&id=1&pending=maybe", 40006, "pending"),
    (RECORDS, "app=shop&id=1&cursor=dGltZXJzOjE", 40010, "cursor"),
    (RECORDS, "app=shop&id=1&limit=-1", 40007, "limit"),
]


@pytest.mark.parametrize(("path", "query", "code", "field"), BAD_QUERIES)
def test_a_bad_query_is_refused_by_the_parameter_s_name(
    small_world: World, path: str, query: str, code: int, field: str
) -> None:
    assert_refused(small_world.call("GET", f"{path}?{query}"), 400, code, field)


def test_a_path_there_is_not_is_404_in_the_envelope(small_world: World) -> None:
    for path in ("/api/timer/v1/def/", "/api/timer/v2/def", "/api/timer/v1/def%00", "/%ff"):
        answered = small_world.call("GET", path)
        assert (answered.status, answered.code) == (404, 40402)


def test_a_wrong_method_is_405_and_says_which_there_are(small_world: World) -> None:
    answered = small_world.call("GET", ENABLE)
    assert (answered.status, answered.code) == (405, 40501)
    assert "POST" in answered.headers["Allow"]
