"""The call maker: opens the call of a timer, through the target that it names, to where it can be made now."""

from dataclasses import dataclass

from wangtimer.callback import Tls
from wangtimer.core.errors import UnusableTls
from wangtimer.core.flow.origin import read_url
from wangtimer.core.messages.message_place import is_message_url
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.timer import Definition, Notify
from wangtimer.executor.consumer_fallback import reachable_call
from wangtimer.store.redis.consumers import ConsumersSeen
from wangtimer.store.seals import Seals


@dataclass(slots=True)
class CallMaker:
    """Any thread may use it."""

    seals: Seals
    consumers_seen: ConsumersSeen
    tls: Tls

    def call_of(self, definition: Definition, target: NamedTarget | None) -> Notify:
        """Return the call that a firing makes; raises `UnopenedSecrets`."""
        call = self.seals.call_of(definition)
        if target is not None:
            call = target.called_by(call)
        if is_message_url(call.url):
            call = reachable_call(call, definition.app, self.consumers_seen.is_connected)
        fault = self.tls.fault_of(definition.app)
        if fault and read_url(call.url)[0].is_tls:
            raise UnusableTls(definition.timer_id, fault)
        return call
