"""A named target, from the API to the call: a change of it counts from the next firing on."""

from wangtimer.testing import WangTimer

TIMERS = 50


def test_the_next_firing_goes_to_where_the_target_is_by_now(wangtimer: WangTimer) -> None:
    client = wangtimer.client
    client.put_target("orders", url="http://shop.example/hooks", headers={"X-Tag": "a"}, method="PUT")
    for number in range(TIMERS):
        target = {"name": "orders", "path": f"/{number}", "json": {"order": number}}
        client.create_timer(key=f"order-{number}", schedule={"every": "1m"}, target=target)  # type: ignore[typeddict-item]
    first = wangtimer.advance(minutes=1)
    client.patch_target("orders", url="http://other.example/", headers={"X-Tag": "b"})
    second = wangtimer.advance(minutes=1)
    for calls, url, tag in ((first, "http://shop.example/hooks", "a"), (second, "http://other.example", "b")):
        assert {call.url for call in calls} == {f"{url}/{number}" for number in range(TIMERS)}
        assert {(call.method, call.headers["x-tag"]) for call in calls} == {("PUT", tag)}
    assert {client.get_timer(f"key:order-{number}")["version"] for number in range(TIMERS)} == {1}
    assert client.get_target("orders")["timers"] == TIMERS


def test_a_call_through_a_target_is_shown_as_it_was_sent(wangtimer: WangTimer) -> None:
    client = wangtimer.client
    client.put_target("orders", url="http://shop.example/hooks?a=b", headers={"Content-Type": "text/x"})
    client.create_timer(
        key="a", schedule={"delay": "1m"}, target={"name": "orders", "path": "/due?c=d", "body": "x"}
    )
    (call,) = wangtimer.advance(minutes=2)
    history = client.get_firing(call.firing_id)
    assert (history["requestState"], call.url) == ("as_sent", "http://shop.example/hooks/due?a=b&c=d")
    request = history["request"]
    assert request is not None
    assert (request["url"], request["body"]) == (call.url, "x")
    client.patch_target("orders", url="http://shop.example/other")
    assert client.get_firing(call.firing_id)["requestState"] == "timer_changed"
