"""Numbers: a call of a numbered timer tells its own, and what was lost before it."""

from operator import attrgetter

from wangtimer.callback.request import Headers
from wangtimer.executor.request_maker import CallDraft


class NumbersStamp:
    """What is known of a firing's place among those of its timer."""

    concerns = attrgetter("form.numbered")
    is_secret = False

    def headers(self, draft: CallDraft) -> Headers:
        """Return what the call tells; nothing where its firing was planned before the timer was numbered."""
        return () if draft.continuity is None else draft.continuity.headers
