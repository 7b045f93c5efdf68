"""How a named target is written in SQL and Redis: JSON, its secrets sealed."""

from typing import Any

import orjson

from wangtimer.core.retry import policy_from_text
from wangtimer.core.timers.call_form import UNTOUCHED, form_from, form_text
from wangtimer.core.timers.keep_output import KeepOutput
from wangtimer.core.timers.named_target import NamedTarget
from wangtimer.core.timers.timeouts import TIMEOUT_NAMES
from wangtimer.store.call_text import notify_of, notify_text, timeouts_fields, timeouts_from

_KNOWN = frozenset({"call", *TIMEOUT_NAMES, "keep_output", "retry", "form"})


def target_text(one: NamedTarget) -> str:
    """Return the JSON of a target, without its app, name, version and moments."""
    fields: dict[str, Any] = {"call": notify_text(one.call)}
    fields |= timeouts_fields(one.timeouts)
    if one.keep_output is not KeepOutput.ALWAYS:
        fields["keep_output"] = one.keep_output.value
    if one.retry is not None:
        fields["retry"] = one.retry.text()
    if one.form != UNTOUCHED:
        fields["form"] = form_text(one.form)
    return orjson.dumps(fields).decode()


def target_from(
    app: str, name: str, version: int, text: str, created_at: int = 0, updated_at: int = 0
) -> NamedTarget:
    """Read back what `target_text` wrote.

    Raises an error for a text that this version does not know: a later one may mean that calls are made otherwise.
    """
    fields: dict[str, Any] = orjson.loads(text)
    if unknown := fields.keys() - _KNOWN:
        raise ValueError(f"this version does not know {', '.join(sorted(unknown))}")
    keep_output = KeepOutput(fields.get("keep_output", KeepOutput.ALWAYS.value))
    retry = fields.get("retry")
    return NamedTarget(
        app,
        name,
        version,
        notify_of(fields["call"]),
        timeouts_from(fields),
        keep_output,
        None if retry is None else policy_from_text(retry),
        form_from(fields.get("form")),
        created_at,
        updated_at,
    )
