"""What v1's callers may say of a named target."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from wangtimer.api.asked.asked_notify import changed_notify, new_notify
from wangtimer.api.asked.call_forms import refuse_bad_form
from wangtimer.api.asked.terms import Url
from wangtimer.api.http.allowed_targets import check_way_out
from wangtimer.api.http.field_types import PAGE, Cursor, Given, Limit
from wangtimer.api.http.notify_rules import check_headers, check_same_origin, check_url
from wangtimer.api.v1.timers.longest_call import refuse_longer
from wangtimer.api.v1.timers.retry_models import GivenRetry
from wangtimer.api.v1.timers.timer_models import (
    CallChange,
    CallFields,
    TargetName,
    form_given,
    timeouts_given,
)
from wangtimer.core.errors import Subject
from wangtimer.core.retry import changed_policy
from wangtimer.core.timers.call_form import UNTOUCHED
from wangtimer.core.timers.fields import changed_form, changed_timeouts
from wangtimer.core.timers.keep_output import KeepOutput
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.timeouts import AS_DEPLOYED
from wangtimer.core.timers.timer import Notify
from wangtimer.store.seals import Seals

_KeepOutput = Annotated[
    Literal["always", "onFailure", "never"] | None,
    Field(
        alias="keepOutput",
        description="when the start of its answers is kept on the record of a firing: always, the default; only of "
        "attempts that failed; or never. Where a timer says otherwise, what keeps less counts",
        examples=["onFailure"],
    ),
]


class TargetPath(Given):
    """Which target."""

    named_by: ClassVar[Mapping[Subject, str]] = {Subject.TARGET: "name"}

    name: TargetName


class TargetListQuery(Given):
    """Which page."""

    limit: Limit = PAGE
    cursor: Cursor | None = None


class TargetBody(CallFields):
    """A whole target: a field that is absent gets its default."""

    is_call: ClassVar[bool] = True

    url: Url
    keep_output: _KeepOutput = None
    retry: GivenRetry = None

    def target_of(
        self, app: str, name: str, was: NamedTarget | None, seals: Seals, most_ms: int
    ) -> NamedTarget:
        """Return what the target is to be, its secrets sealed; raises `InvalidInput`, `UnopenedSecrets`."""
        asked = new_notify(self.call_to(self.url))
        check_way_out(asked.url, app)
        if was is None:
            seals.refuse_new(asked)
            call = seals.seal(asked, app, name)
        else:
            call = seals.changed(asked, was, _check)
        timeouts = changed_timeouts(AS_DEPLOYED, timeouts_given(self))
        refuse_longer(timeouts, AS_DEPLOYED if was is None else was.timeouts, most_ms)
        retry = None if self.retry is None else changed_policy(None, self.retry.of_rules())
        form = changed_form(UNTOUCHED, form_given(self))
        refuse_bad_form(asked, form)
        return NamedTarget(app, name, 0, call, timeouts, _keep_output(self.keep_output), retry, form)


class TargetPatch(CallChange):
    """Changes of a target (JSON merge patch, RFC 7396): what is absent stays, null gives it its default."""

    is_call: ClassVar[bool] = True

    keep_output: _KeepOutput = None
    retry: GivenRetry = None

    def target_of(self, was: NamedTarget, seals: Seals, most_ms: int) -> NamedTarget:
        """Return what the target is to be, its secrets sealed; raises `InvalidInput`, `UnopenedSecrets`."""
        given = self.model_fields_set
        timeouts = changed_timeouts(was.timeouts, timeouts_given(self))
        refuse_longer(timeouts, was.timeouts, most_ms)
        changed: dict[str, Any] = {"timeouts": timeouts}
        if "keep_output" in given:
            changed["keep_output"] = _keep_output(self.keep_output)
        if "retry" in given:
            changed["retry"] = (
                None if self.retry is None else changed_policy(was.retry, self.retry.of_rules())
            )
        asked = changed_notify(self.changed_call(), was.call)
        check_way_out(asked.url, was.app)
        changed["form"] = changed_form(was.form, form_given(self))
        refuse_bad_form(asked, changed["form"])
        call = seals.changed(asked, was, _check)
        return was.changed_to(call, **changed)


def _keep_output(word: str | None) -> KeepOutput:
    return KeepOutput(word or KeepOutput.ALWAYS)


def _check(call: Notify, kept_from: Notify | None) -> None:
    """Raise `Refused` for a call that is too long, and where a kept secret would go to another host."""
    check_headers(call.headers)
    check_url(call.url)
    if kept_from is not None:
        check_same_origin(call.url, kept_from.url)
