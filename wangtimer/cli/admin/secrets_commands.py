"""`wangtimer secrets key|rotate`: the keys that secrets of timers are encrypted with."""

import os
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import click

from wangtimer.cli.terminal.asking import Failed
from wangtimer.cli.terminal.once import OnceGroup
from wangtimer.core.errors import StoreAway, UnopenedSecrets, WangTimerError
from wangtimer.core.secret_keys import new_secret_key
from wangtimer.core.timers.bad_timers import BadTimers
from wangtimer.settings import Settings, read_settings
from wangtimer.stack.data_directory import known_directory
from wangtimer.stack.own_secret_key import own_key_setting
from wangtimer.store.redis.clock import RedisClock
from wangtimer.store.redis.connection import RedisConnection
from wangtimer.store.redis.definitions import DefinitionStore
from wangtimer.store.redis.keys import Keys
from wangtimer.store.redis.marked_copies import MarkedCopies, SigningCopies, TargetCopies
from wangtimer.store.replica import ReplicaTexts
from wangtimer.store.seals import Seals
from wangtimer.store.sql.alert_rules import AlertRuleStore
from wangtimer.store.sql.client_certificates import ClientCertificates
from wangtimer.store.sql.database import Database, missing_file
from wangtimer.store.sql.secret_rotation import RotatedPage, SecretRotation
from wangtimer.store.sql.signing_store import SigningStore
from wangtimer.store.sql.target_store import TargetStore
from wangtimer.store.sql.ways_out import WaysOutInSql
from wangtimer.store.ways_out_mark import WaysOutMark

# Timers, targets and apps named that could not be rotated.
MOST_NAMED = 20
SEALED_AT_ONCE = 1_000

One = TypeVar("One")


@click.group(cls=OnceGroup)
def secrets() -> None:
    """The keys that secrets of timers are encrypted with."""


@secrets.command()
@click.argument("key_id", default="k1")
def key(key_id: str) -> None:
    """Print a new random key, as a line of WANGTIMER_SECRET_KEYS_FILE. KEY_ID is its name: k1, 2027-01, ..."""
    try:
        click.echo(new_secret_key(key_id))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="KEY_ID") from None


@secrets.command()
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Those of the service that `wangtimer up` runs there.",
)
def rotate(data_dir: Path | None) -> None:
    """Encrypt all secrets anew with the first key, also those that were no secrets when they were stored.

    Run it with the workers' settings, while they run. Repeating it is harmless. Exits with 1 where some could not be
    done: their key is missing, or Redis is away.
    """
    try:
        if data_dir is not None:
            directory = known_directory(data_dir)
            os.environ.update(directory.settings | own_key_setting(directory.path))
        settings = read_settings()
        if not settings.secret_key_ring:
            raise Failed("WANGTIMER_SECRET_KEYS_FILE is not set: there is no key to encrypt with")
        if (file := missing_file(settings.database_url)) is not None:
            raise Failed(f"there is no database {file}: set WANGTIMER_DATABASE_URL, or name --data-dir")
        _rotate(settings)
    except WangTimerError as error:
        raise Failed(str(error)) from error


def _rotate(settings: Settings) -> None:
    with (
        closing(Database(settings.database_url, 1)) as database,
        closing(RedisConnection(settings.store_url)) as redis,
    ):
        seals, redis_keys = Seals(settings.secret_key_ring), Keys(settings.key_prefix)
        rotation = SecretRotation(database, seals)
        clock = RedisClock(redis)
        definitions = DefinitionStore(redis, redis_keys, clock, 3 * settings.step_s, BadTimers())
        count, bad, are_forgotten = 0, dict[int, str](), True
        page = RotatedPage([], {}, 0)
        while page.last_id is not None:
            page = rotation.next_page(page.last_id)
            count, bad = count + len(page.changed), bad | page.bad
            are_forgotten = _forget(definitions, page.changed) and are_forgotten
        copies = MarkedCopies(redis, redis_keys)
        signings = _seal_signings(SigningStore(database, seals), SigningCopies(copies, seals))
        targets = _seal_targets(TargetStore(database, seals), TargetCopies(copies, seals))
        ways_out = WaysOutMark(WaysOutInSql(database), ReplicaTexts(redis, redis_keys), clock)
        certificates = _seal_certificates(ClientCertificates(database, seals), ways_out)
        alerts = _seal_alert_rules(AlertRuleStore(database, seals))
    click.echo(
        f"{count} timers, {targets.count} targets and the signing secrets of {signings.count} apps written anew; "
        f"key {seals.sealing_id} encrypts"
    )
    if certificates.count:
        click.echo(f"the keys of {certificates.count} client certificates written anew")
    if alerts.count:
        click.echo(f"where the messages of {alerts.count} alert rules go written anew")
    are_told = are_forgotten and signings.are_told and targets.are_told and certificates.are_told
    _tell_what_is_left([*bad.values(), *targets.bad, *signings.bad, *certificates.bad, *alerts.bad], are_told)


@dataclass(slots=True)
class SealedCopies:
    """How many things that Redis has copies of were sealed anew, why others could not be, and whether it was told."""

    count: int = 0
    bad: list[str] = field(default_factory=list)
    are_told: bool = True

    def note(self, sealed: One | None, put: Callable[[list[One]], None]) -> None:
        """Copy what was sealed anew to Redis; None: nothing was."""
        if sealed is None:
            return
        self.count += 1
        try:
            put([sealed])
        except StoreAway:
            self.are_told = False


def _seal_certificates(store: ClientCertificates, ways_out: WaysOutMark) -> SealedCopies:
    """Seal the keys of all apps' client certificates, in SQL and in Redis."""
    done, app = SealedCopies(), ""
    while apps := store.apps_behind(app, SEALED_AT_ONCE):
        for app in apps:
            try:
                done.count += store.seal_anew(app)
            except ValueError as error:
                done.bad.append(f"the key of the client certificate of app {app!r}: {error}")
    if done.count:
        try:
            ways_out.tell()
        except StoreAway:
            done.are_told = False
    return done


def _seal_signings(store: SigningStore, copies: SigningCopies) -> SealedCopies:
    """Seal the signing secrets of all apps, in SQL and in Redis."""
    done, app = SealedCopies(), ""
    while apps := store.apps_behind(app, SEALED_AT_ONCE):
        for app in apps:
            try:
                done.note(store.seal_anew(app), copies.put)
            except ValueError as error:
                done.bad.append(f"the signing secrets of app {app!r}: {error}")
    return done


def _seal_targets(store: TargetStore, copies: TargetCopies) -> SealedCopies:
    """Seal the secrets of all named targets, in SQL and in Redis."""
    done, key = SealedCopies(), ("", "")
    while keys := store.keys_behind(key, SEALED_AT_ONCE):
        for key in keys:
            try:
                done.note(store.seal_anew(key), copies.put)
            except UnopenedSecrets as error:
                done.bad.append(f"app {key[0]!r}: {error}")
            except ValueError as error:
                done.bad.append(f"target {key[1]!r} of app {key[0]!r} cannot be read: {type(error).__name__}")
    return done


def _seal_alert_rules(store: AlertRuleStore) -> SealedCopies:
    """Seal where the messages of all alert rules go; only SQL has that."""
    done, key = SealedCopies(), ("", "")
    while keys := store.keys_behind(key, SEALED_AT_ONCE):
        for key in keys:
            try:
                done.count += store.seal_anew(key)
            except ValueError as error:
                done.bad.append(f"alert rule {key[1]!r} of app {key[0]!r}: {error}")
    return done


def _forget(definitions: DefinitionStore, timer_ids: list[int]) -> bool:
    """Have Redis forget what it has of these timers: it is read from SQL again. False if Redis is away."""
    try:
        definitions.forget(timer_ids)
    except StoreAway:
        return False
    return True


def _tell_what_is_left(bad: list[str], are_forgotten: bool) -> None:
    for reason in bad[:MOST_NAMED]:
        click.echo(f"not done: {reason}", err=True)
    if len(bad) > MOST_NAMED:
        click.echo(f"not done: {len(bad) - MOST_NAMED} more", err=True)
    if not are_forgotten:
        click.echo(
            "Redis is away: it may hold what was encrypted with older keys for three more steps "
            "(WANGTIMER_STEP_S); keep those keys for so long",
            err=True,
        )
    if bad or not are_forgotten:
        sys.exit(1)
