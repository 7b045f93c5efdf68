"""What a target is sent of a timer's headers."""

import pytest

from wangtimer.core.flow.firing import Member
from wangtimer.core.timers.timer import Notify
from wangtimer.executor.prepare import request_of

MEMBER = Member(7, 1_000, 2)


def environ_names(notify: Notify) -> list[str]:
    """The names under which a WSGI server hands the headers to its application."""
    headers = request_of(notify, "shop", MEMBER).headers
    return [f"HTTP_{name.upper().replace('-', '_')}" for name, _ in headers]


@pytest.mark.parametrize(
    "name", ["webhook_id", "X_WangTimer_App", "X-WangTimer_Timer", "X_WANGTIMER-FIRE_AT"]
)
def test_a_stored_header_that_passes_for_ours_is_not_sent(name: str) -> None:
    """Timers stored before such names were refused still have them."""
    notify = Notify("http://a/", headers=(("X-Own", "1"), (name, "forged")), body="{}")
    request = request_of(notify, "shop", MEMBER)
    assert "forged" not in {value for _, value in request.headers}
    assert b"forged" not in (request.wire or b"")
    assert ("X-Own", "1") in request.headers
    names = environ_names(notify)
    assert len(names) == len(set(names))


def test_headers_that_only_look_alike_are_sent() -> None:
    headers = (("X-Webhook-Id", "1"), ("Webhooks", "2"), ("X_Own", "3"))
    assert set(headers) <= set(request_of(Notify("http://a/", headers=headers), "shop", MEMBER).headers)
