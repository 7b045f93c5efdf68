"""CloudEvents: a call may be sent as one."""

from operator import attrgetter
from urllib.parse import quote

from wangtimer.callback.request import Headers
from wangtimer.core.time.moment_text import show_moment
from wangtimer.executor.request_maker import CallDraft

# What happened: a moment of a timer has come.
EVENT_TYPE = "wangtimer.firing"


class CloudEventStamp:
    """The headers of a CloudEvent 1.0 in binary mode; the owner's own stay as they are."""

    concerns = attrgetter("form.cloud_events")
    is_secret = False

    def headers(self, draft: CallDraft) -> Headers:
        """Return its attributes, without those that the owner gives."""
        call, order, member, continuity = draft
        given = {name.lower() for name, _ in call.headers}
        attributes: Headers = (
            ("ce-specversion", "1.0"),
            ("ce-id", member.firing_id),
            # A URI, and values of these headers are percent-encoded once more (HTTP binding of CloudEvents, 3.1.3.2).
            ("ce-source", f"/apps/{quote(quote(order.app, safe=''))}/timers/{member.timer_id}"),
            ("ce-type", EVENT_TYPE),
            ("ce-time", show_moment(member.fire_at)),
        )
        sequence = None if continuity is None else continuity.event_sequence
        if sequence is not None:
            # Extension "sequence" of CloudEvents: texts that compare as what they stand for.
            attributes = (*attributes, ("ce-sequence", sequence))
        return tuple(pair for pair in attributes if pair[0] not in given)
