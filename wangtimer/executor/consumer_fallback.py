"""Calls a target's URL instead, while no consumer of its group is connected."""

from collections.abc import Callable

from wangtimer.core.messages.consumer_group import ConsumerGroup
from wangtimer.core.messages.message_place import PlaceKind, is_message_url, place_from
from wangtimer.core.timers.timer import Notify


def reachable_call(call: Notify, app: str, is_connected: Callable[[ConsumerGroup], bool]) -> Notify:
    """Return the call as it is to be made now: by HTTP where its target has a URL for that and no consumer is there."""
    if not is_message_url(call.url):
        return call
    place = place_from(call.url)
    if place.kind is not PlaceKind.CONSUMERS or not place.fallback:
        return call
    if is_connected(ConsumerGroup(app, place.name)):
        return call
    return call._replace(url=place.fallback, method="POST")
