"""What a request may say of how a call is written."""

from base64 import b64decode

from wangtimer.core.errors import InvalidInput
from wangtimer.core.timers.call_options import UNTOUCHED, CallForm
from wangtimer.core.timers.secret_parts import MASK
from wangtimer.core.timers.templates import refuse_bad_placeholders
from wangtimer.core.timers.timer import Notify


def refuse_bad_form(call: Notify, form: CallForm, *, may_have_seq: bool | None = None) -> None:
    """Raise `InvalidInput` where a call cannot be written so; of masked parts nothing is asked.

    `may_have_seq`: whether `{{seq}}` may stand in it; by default where it is numbered.
    """
    if form == UNTOUCHED:
        return
    if form.body_is_base64 and call.body != MASK:
        _refuse_no_base64(call.body)
    if form.templates:
        asked = call._replace(body="") if form.body_is_base64 else call
        refuse_bad_placeholders(asked, may_have_seq=form.numbered if may_have_seq is None else may_have_seq)


def _refuse_no_base64(body: str) -> None:
    try:
        b64decode(body, validate=True)
    except ValueError as error:
        reason = f"it is no Base64 ({str(error)[:80]}), and bodyIsBase64 is true"
        mend = "give body (not json) by RFC 4648, with padding, or leave bodyIsBase64 out"
        raise InvalidInput("target.body", reason, mend) from None
