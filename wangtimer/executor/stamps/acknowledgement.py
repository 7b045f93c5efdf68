"""Acknowledgements: a target that may go on to work gets a token, by which it says later that it is done."""

from dataclasses import dataclass
from operator import attrgetter

from wangtimer.callback.request import Headers
from wangtimer.core.signing.ack_token import ACK_HEADER, AckTokens
from wangtimer.executor.request_maker import CallDraft


@dataclass(frozen=True, slots=True)
class AcknowledgementStamp:
    """The token of an attempt. A deployment without a key makes none: there this is not among the stamps."""

    tokens: AckTokens
    concerns = attrgetter("timeouts.ack_ms")
    is_secret = True

    def headers(self, draft: CallDraft) -> Headers:
        """Return the token."""
        return ((ACK_HEADER, self.tokens.token(draft.member)),)
