"""The order of a call: what a firing makes and where that goes, a timer and the target that it names merged once."""

from typing import NamedTuple

from wangtimer.core.alerts.alert_place import NOWHERE, AlertPlace
from wangtimer.core.flow.origin import part_of_path, part_of_target, read_url
from wangtimer.core.flow.slicing import WayKey
from wangtimer.core.messages.message_place import is_message_url
from wangtimer.core.timers.named_target import NamedTarget, form_through
from wangtimer.core.timers.timer import Definition


class Where(NamedTuple):
    """Where a call goes. `host`, with its port, and `part` name it as lanes do; a broker has no part.

    `way` is the app with the part of a host whose health the call shows; `place` is the same as rules of alerts see it.
    While the target that a timer names is not known, nobody knows the host: it is "".
    """

    host: str
    part: str
    way: WayKey
    place: AlertPlace


class CallOrder:
    """What is known of a call before its request is made. It holds no body: an answer may take minutes.

    `target` is the name of the one it goes through; "": none. What `timeouts` and `retry` (None) leave open is as the
    app has it, else the deployment. `target_version` 0: there is no target. `further` are the values of fields that
    features add.
    """

    __slots__ = (
        "_url",
        "_where",
        "app",
        "form",
        "further",
        "keep_output",
        "retry",
        "target",
        "target_version",
        "timeouts",
        "version",
    )

    def __init__(self, definition: Definition, target: NamedTarget | None) -> None:
        self.app = definition.app
        self.version = definition.version
        self.further = definition.further
        self._where: Where | None = None
        if target is None:
            self._url = definition.notify.url
            self.target = definition.notify.target
            self.target_version = 0
            self.form = definition.form
            self.timeouts = definition.timeouts
            self.keep_output = definition.keep_output
            self.retry = definition.retry
        else:
            self._url = target.call.url
            self.target = target.name
            self.target_version = target.version
            self.form = form_through(target, definition)
            self.timeouts = target.timeouts_of(definition.timeouts)
            self.keep_output = target.keep_output_of(definition.keep_output)
            self.retry = target.retry_of(definition.retry)

    @property
    def where(self) -> Where:
        """Where it goes, worked out at the first look: a plain call on time needs none."""
        where = self._where
        if where is None:
            where = self._where = self._found_where()
        return where

    def _found_where(self) -> Where:
        if self.target and not self.target_version:
            return Where("", "", (self.app, ""), AlertPlace(self.app, "", self.target))
        origin, path = read_url(self._url)
        is_message = is_message_url(self._url)
        part = part_of_target(self.target) if self.target else part_of_path(path)
        part = "" if is_message else part
        told = origin.host_port if is_message or not origin.fault else ""
        place = AlertPlace(self.app, told, self.target)
        return Where(origin.host_port, part, (self.app, origin.key + part), place)


def place_of(definition: Definition | None) -> AlertPlace:
    """Return where a timer's calls go as rules of alerts see it, where its target was not read."""
    return NOWHERE if definition is None else CallOrder(definition, None).where.place
