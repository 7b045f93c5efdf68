"""Where a field is in a v1 request, by its dotted name in the rules that all paths share."""

from wangtimer.core.kinds.kinds import asked_fields
from wangtimer.core.timers.fields import FIELDS

# The name of the HTTP call in the shared rules.
CALL = "notifyHTTPParam"

# Names in v1 by the name in the shared rules, which is that of the compatible paths.
OWN_NAMES = {
    "name": "key",
    **{field.json_name: f"schedule.{field.place}" for field in asked_fields()},
    "timezone": "schedule.timezone",
    "startAt": "schedule.startAt",
    "endAt": "schedule.endAt",
    "maxFirings": "schedule.maxFirings",
    "jitterMs": "schedule.jitter",
    "excludeCalendar": "schedule.excludeCalendar",
    CALL: "target",
    "header": "headers",
} | {
    one.json_name: one.v1
    for field in FIELDS
    for one in field.asked
    # `misfire` is an object in v1 and only the policy elsewhere.
    if one.v1 and one.json_name != one.v1.partition(".")[0]
}


def own_name(field: str) -> str:
    """Return the dotted name in v1 of a field of the shared rules. Other names stay as they are."""
    first, _, rest = field.partition(".")
    own = OWN_NAMES.get(first, first)
    second, _, further = rest.partition(".")
    if first == CALL:
        rest = ".".join(part for part in (OWN_NAMES.get(second, second), further) if part)
    return f"{own}.{rest}" if rest else own


def pointer(field: str) -> str:
    """Return the JSON pointer (RFC 6901) of a dotted name."""
    escaped = field.replace("~", "~0").replace("/", "~1")
    return "/" + escaped.replace(".", "/")
