"""`wangtimer doctor`: a check-up of what the workers need, read from the same settings."""

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import click

from wangtimer.base.settings import read_settings, require_mail_server
from wangtimer.cli.doctor.findings import Finding, Part, asked_of_sql, is_wrong
from wangtimer.cli.doctor.server_checkups import (
    check_bind,
    check_broker,
    check_clocks,
    check_database,
    check_redis,
    check_secret_keys,
    check_sql,
    check_variables,
)
from wangtimer.cli.doctor.stored_checkups import (
    check_bad_timers,
    of_authorities,
    of_calendars,
    of_certificates,
    of_keys,
    of_pauses,
    of_queues,
    of_rules,
    of_signing_secrets,
)
from wangtimer.cli.doctor.ways_out_checkups import check_mail, check_named_brokers, check_stream
from wangtimer.cli.terminal.once import OnceCommand
from wangtimer.cli.terminal.output import show_json, show_line, show_table
from wangtimer.cli.terminal.parameter_types import DIRECTORY
from wangtimer.core.timers.bad_timers import BadTimers
from wangtimer.stack.data_directory import known_directory
from wangtimer.stack.own_secret_key import own_key_setting
from wangtimer.store.seals import NO_KEYS, Seals
from wangtimer.store.sql.apps import ApiKeyStore, AppStore
from wangtimer.store.sql.calendars import CalendarStore
from wangtimer.store.sql.pauses import PauseStore
from wangtimer.store.sql.schedule_rules import ScheduleRuleStore
from wangtimer.store.sql.signing_store import SigningStore
from wangtimer.store.sql.ways_out import ClientCertificates


@click.command(cls=OnceCommand)
@click.option("--json", "as_json", is_flag=True, help="Print a list of severity, part, text, mend.")
@click.option("--data-dir", type=DIRECTORY, help="Look at the service that `wangtimer up` runs there.")
@click.option(
    "--ways-out",
    "only_ways_out",
    is_flag=True,
    help="Only try the mail server and the message brokers, where a callback process runs.",
)
def doctor(as_json: bool, data_dir: Path | None, only_ways_out: bool) -> None:
    """Look at servers, processes, clocks, calendars and certificates, and say what is wrong and what to do.

    Run it with the workers' settings, or with --data-dir. It changes nothing. Exits with 1 where there is an error; a
    warning is none.
    """
    if data_dir is not None:
        directory = known_directory(data_dir)
        os.environ.update(directory.settings | own_key_setting(directory.path))
    findings = examine_ways_out() if only_ways_out else examine()
    if as_json:
        show_json(list(map(asdict, findings)))
    else:
        _show(findings)
    sys.exit(1 if is_wrong(findings) else 0)


def examine() -> list[Finding]:
    """Return everything found; raises `BadSetting`."""
    settings = read_settings()
    # Imported here, as the import reads the settings.
    from wangtimer.celery import app

    ask, now = partial(asked_of_sql, settings), datetime.now(UTC)
    seals = Seals(settings.secret_key_ring)
    return [
        *check_variables(),
        *check_database(settings),
        *check_bind(settings.http_bind),
        *check_secret_keys(settings),
        *check_sql(settings.database_url),
        *check_redis(settings.store_url, Part("store"), "WANGTIMER_STORE_URL", settings.store_planned_mb),
        *check_broker(settings, app),
        *ask(lambda sql: of_queues(AppStore(sql).queues(), settings.own_queues)),
        *check_stream(settings),
        *check_mail(settings),
        *check_named_brokers(settings, is_way_out=False),
        *check_clocks(settings),
        *check_bad_timers(settings),
        *ask(lambda sql: of_calendars(CalendarStore(sql), now.date())),
        *ask(lambda sql: of_rules(ScheduleRuleStore(sql, BadTimers()))),
        *of_authorities(settings, now),
        *ask(lambda sql: of_certificates(ClientCertificates(sql, NO_KEYS), now)),
        *ask(lambda sql: of_keys(ApiKeyStore(sql), now)),
        *ask(lambda sql: of_signing_secrets(SigningStore(sql, seals))),
        *ask(lambda sql: of_pauses(PauseStore(sql))),
    ]


def examine_ways_out() -> list[Finding]:
    """Return what is found of the servers that only callback processes reach; raises `BadSetting`."""
    settings = read_settings()
    require_mail_server(settings)
    findings = [*check_mail(settings), *check_named_brokers(settings, is_way_out=True)]
    return findings or [Part("ways out").ok("no mail server and no message broker is set")]


def _show(findings: Sequence[Finding]) -> None:
    show_table(map(asdict, findings), {"": "severity", "part": "part", "found": "text"})
    for finding in findings:
        if finding.mend:
            show_line(f"\n{finding.severity.value}: {finding.part}: {finding.text}\n  {finding.mend}")
