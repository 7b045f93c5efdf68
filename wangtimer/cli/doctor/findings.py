"""What a check-up finds."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a finding matters: an error is wrong, a warning may be intended."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact about one part; `mend` is what to do about it, "" for nothing."""

    severity: Severity
    part: str
    text: str
    mend: str = ""


def ok(part: str, text: str) -> Finding:
    """Return that something is as it should be."""
    return Finding(Severity.OK, part, text)


def warning(part: str, text: str, mend: str) -> Finding:
    """Return something to look at."""
    return Finding(Severity.WARNING, part, text, mend)


def error(part: str, text: str, mend: str) -> Finding:
    """Return something wrong."""
    return Finding(Severity.ERROR, part, text, mend)


def is_wrong(findings: Iterable[Finding]) -> bool:
    """Say whether one of them is an error."""
    return any(one.severity is Severity.ERROR for one in findings)
