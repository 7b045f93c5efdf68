"""What a check-up finds in the environment."""

from collections.abc import Iterator

from wangtimer.cli.doctor.findings import Finding, warning
from wangtimer.settings import unknown_variables


def check_variables() -> Iterator[Finding]:
    """Yield a warning for each variable that looks like a setting and is none of this version."""
    for name in unknown_variables():
        mend = "take it out, or write one that wangtimer settings lists; a setting of a newer version is ignored here"
        yield warning("settings", f"{name} is no setting of this version", mend)
