"""How a call is written, what it tells, and what its answer may do; of a timer, or of a named target."""

from typing import NamedTuple


class CallForm(NamedTuple):
    """What is done to a call before it is sent, and to its timer once it is answered.

    `templates`        placeholders such as `{{fireAt}}` are filled in (`core/timers/templates.py`)
    `cloud_events`     it has the headers of a CloudEvent, in binary mode
    `body_is_base64`   its body is sent as the bytes that it says in Base64
    `allow_control`    its answer may stop its timer, put it off, or set its next moment
    `numbered`         it tells its number, and what was lost before it; only a timer has it: planning reads no target
    """

    templates: bool = False
    cloud_events: bool = False
    body_is_base64: bool = False
    allow_control: bool = False
    numbered: bool = False

    def beside(self, other: "CallForm", *, has_body: bool) -> "CallForm":
        """Return the form of a timer's call through a target with another form.

        `body_is_base64` is that of the side that gives the body: the timer's if `has_body`, else the other's.
        `numbered` is the timer's. The others count if either side has them.
        """
        if self == other:
            return self
        return CallForm(
            self.templates or other.templates,
            self.cloud_events or other.cloud_events,
            self.body_is_base64 if has_body else other.body_is_base64,
            self.allow_control or other.allow_control,
            self.numbered,
        )


# Their names, in their order, in requests to the rules and in stored texts.
FORM_NAMES = CallForm._fields
FORM_CHARACTERS = 64
# As its owner gave it.
UNTOUCHED = CallForm()


def form_text(form: CallForm) -> str | None:
    """Return the names of what is true, with spaces between; None where nothing is."""
    names = [name for name, is_so in zip(FORM_NAMES, form, strict=True) if is_so]
    return " ".join(names) or None


def form_from(text: str | None) -> CallForm:
    """Read back what `form_text` wrote; raises ValueError for a name that this version does not know."""
    if not text:
        return UNTOUCHED
    names = text.split()
    if unknown := set(names) - set(FORM_NAMES):
        raise ValueError(f"this version does not know how to write a call: {', '.join(sorted(unknown))}")
    return CallForm(*(name in names for name in FORM_NAMES))
