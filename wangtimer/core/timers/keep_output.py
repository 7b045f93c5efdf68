"""When the start of a target's answer is kept on record."""

from enum import StrEnum


class KeepOutput(StrEnum):
    """A target's answer may hold personal data or secrets: then its owner has none of it kept."""

    ALWAYS = "always"
    ON_FAILURE = "onFailure"
    NEVER = "never"

    def keeps(self, has_succeeded: bool) -> bool:
        """Tell whether the answer of an attempt is kept."""
        return self is KeepOutput.ALWAYS or (self is KeepOutput.ON_FAILURE and not has_succeeded)
