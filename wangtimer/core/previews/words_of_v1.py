"""Says in v1's words what core says in those of the compatible paths."""

import re

from wangtimer.core.kinds.kinds import asked_fields
from wangtimer.core.timers.fields import FIELDS

_PLACES = {field.json_name: field.place for field in asked_fields()} | {
    one.json_name: one.v1 for field in FIELDS for one in field.asked if one.v1
}
# Fields whose name in v1 is another; `name`, `misfire` and the like are plain words too and stay.
_OWN = {
    name: place.rpartition(".")[2]
    for name, place in {**_PLACES, "jitterMs": "jitter", "notifyHTTPParam": "target"}.items()
    if name != name.lower() and name != place.rpartition(".")[2]
}
# What callers wrote stands in quotes, and stays as it is.
_WORD = re.compile(rf"(?<!\w)'[^']*'|\b(?:{'|'.join(_OWN)})\b")


def in_words_of_v1(text: str) -> str:
    """Return an error's or a warning's text with the names that fields have in v1, as in `every` for `everyMs`."""
    return _WORD.sub(lambda found: _OWN.get(found[0], found[0]), text)
