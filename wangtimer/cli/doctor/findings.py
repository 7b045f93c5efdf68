"""What a check-up finds, and what it asks SQL."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy.exc import SQLAlchemyError

from wangtimer.base.settings import Settings
from wangtimer.core.errors import StoreAway
from wangtimer.store.sql.database import Database, missing_file


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


@dataclass(frozen=True, slots=True)
class Part:
    """A part that is looked at; what is found of it."""

    name: str

    def ok(self, text: str) -> Finding:
        """Return that something is as it should be."""
        return Finding(Severity.OK, self.name, text)

    def warning(self, text: str, mend: str) -> Finding:
        """Return something to look at."""
        return Finding(Severity.WARNING, self.name, text, mend)

    def error(self, text: str, mend: str) -> Finding:
        """Return something wrong."""
        return Finding(Severity.ERROR, self.name, text, mend)


def is_wrong(findings: Iterable[Finding]) -> bool:
    """Say whether one of them is an error."""
    return any(finding.severity is Severity.ERROR for finding in findings)


def asked_of_sql(settings: Settings, ask: Callable[[Database], Iterator[Finding]]) -> Iterator[Finding]:
    """Yield what is asked; nothing where SQL is away or lacks the tables, as its own check-up tells that."""
    if missing_file(settings.database_url) is not None:
        return
    try:
        database = Database(settings.database_url, pool_size=1)
    except ImportError:
        return
    with closing(database):
        try:
            yield from ask(database)
        except (StoreAway, SQLAlchemyError):
            return
