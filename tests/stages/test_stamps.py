"""Stamps write into requests that are not plain, and what the API shows of a plain one has none either."""

from wangtimer.callback.request import Headers
from wangtimer.core.flow.call_order import CallOrder
from wangtimer.core.flow.firing import Member
from wangtimer.core.schedules.schedule import Once
from wangtimer.core.timers.call_options import CallForm
from wangtimer.core.timers.timer import Definition, Notify, TimerStatus
from wangtimer.executor.request_maker import UNSTAMPED, CallDraft, Stamped, stamped_by

CALL, MEMBER = Notify("http://target.example/"), Member(1, 1_795_207_483_123, 1)
PLAIN = Definition(1, "shop", 1, TimerStatus.ENABLED, Once(0), CALL)


class EachStamp:
    concerns = bool
    is_secret = True

    def headers(self, _: CallDraft) -> Headers:
        return (("X-Each", "call"),)


def stamped(definition: Definition) -> Stamped:
    return stamped_by([EachStamp()], CallDraft(CALL, CallOrder(definition, None), MEMBER, None))


def test_nothing_is_stamped_into_a_plain_request() -> None:
    assert stamped(PLAIN) is UNSTAMPED
    numbered = PLAIN._replace(form=CallForm(numbered=True))
    assert stamped(numbered) == Stamped(b"X-Each: call\r\n", ("call",))
