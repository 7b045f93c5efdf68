"""`wangtimer secrets key|rotate`: the keys that secrets of timers are encrypted with."""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import click

from wangtimer.base.settings import Settings, read_settings
from wangtimer.cli.terminal.asking import Failed
from wangtimer.cli.terminal.once import OnceGroup
from wangtimer.cli.terminal.parameter_types import DIRECTORY
from wangtimer.core.errors import StoreAway, UnopenedSecrets
from wangtimer.core.secret_keys import new_secret_key
from wangtimer.core.timers.bad_timers import BadTimers
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
from wangtimer.store.sql.database import Database, missing_file
from wangtimer.store.sql.secret_rotation import RotatedPage, SecretRotation
from wangtimer.store.sql.signing_store import SigningStore
from wangtimer.store.sql.target_store import TargetStore
from wangtimer.store.sql.ways_out import ClientCertificates, WaysOutInSql, WaysOutMark

# Timers, targets and apps named that could not be rotated.
MOST_NAMED = 20
SEALED_AT_ONCE = 1_000

Key = TypeVar("Key", str, tuple[str, str])
Thing = TypeVar("Thing")


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
@click.option("--data-dir", type=DIRECTORY, help="Those of the service that `wangtimer up` runs there.")
def rotate(data_dir: Path | None) -> None:
    """Encrypt all secrets anew with the first key, also those that were no secrets when they were stored.

    Run it with the workers' settings, while they run. Repeating it is harmless. Exits with 1 where some could not be
    done: their key is missing, or Redis is away.
    """
    if data_dir is not None:
        directory = known_directory(data_dir)
        os.environ.update(directory.settings | own_key_setting(directory.path))
    settings = read_settings()
    if not settings.secret_key_ring:
        raise Failed("WANGTIMER_SECRET_KEYS_FILE is not set: there is no key to encrypt with")
    if (file := missing_file(settings.database_url)) is not None:
        raise Failed(f"there is no database {file}: set WANGTIMER_DATABASE_URL, or name --data-dir")
    _rotate(settings)


def _rotate(settings: Settings) -> None:
    seals = Seals(settings.secret_key_ring)
    with (
        closing(Database(settings.database_url, 1)) as database,
        closing(RedisConnection(settings.store_url)) as redis,
    ):
        all_sealed = _seal_everything(settings, database, redis, seals)
    timers, targets, signings, certificates, alerts = all_sealed
    click.echo(
        f"{timers.count} timers, {targets.count} targets and the signing secrets of {signings.count} apps "
        f"written anew; key {seals.sealing_id} encrypts"
    )
    if certificates.count:
        click.echo(f"the keys of {certificates.count} client certificates written anew")
    if alerts.count:
        click.echo(f"where the messages of {alerts.count} alert rules go written anew")
    _tell_what_is_left(
        [reason for kind in all_sealed for reason in kind.bad], all(kind.is_told for kind in all_sealed)
    )


@dataclass(slots=True)
class Sealed:
    """How many things were sealed anew, why others could not be, and whether Redis was told."""

    count: int = 0
    bad: list[str] = field(default_factory=list)
    is_told: bool = True

    def tell(self, copy: Callable[[], object]) -> None:
        """Tell Redis."""
        try:
            copy()
        except StoreAway:
            self.is_told = False


def _seal_everything(
    settings: Settings, database: Database, redis: RedisConnection, seals: Seals
) -> tuple[Sealed, Sealed, Sealed, Sealed, Sealed]:
    keys, clock = Keys(settings.key_prefix), RedisClock(redis)
    copies = MarkedCopies(redis, keys)
    definitions = DefinitionStore(redis, keys, clock, 3 * settings.step_s, BadTimers())
    timers = _seal_timers(SecretRotation(database, seals), definitions)
    target_store, target_copies = TargetStore(database, seals), TargetCopies(copies, seals)
    targets = _seal_all(
        target_store.keys_behind,
        ("", ""),
        target_store.seal_anew,
        _why_no_target,
        lambda sealed: target_copies.put([sealed]),
    )
    signing_store, signing_copies = SigningStore(database, seals), SigningCopies(copies, seals)
    signings = _seal_all(
        signing_store.apps_behind,
        "",
        signing_store.seal_anew,
        lambda app, error: f"the signing secrets of app {app!r}: {error}",
        lambda sealed: signing_copies.put([sealed]),
    )
    certificate_store = ClientCertificates(database, seals)
    certificates = _seal_all(
        certificate_store.apps_behind,
        "",
        certificate_store.seal_anew,
        lambda app, error: f"the key of the client certificate of app {app!r}: {error}",
    )
    if certificates.count:
        certificates.tell(WaysOutMark(WaysOutInSql(database), ReplicaTexts(redis, keys), clock).tell)
    alert_store = AlertRuleStore(database, seals)
    alerts = _seal_all(
        alert_store.keys_behind,
        ("", ""),
        alert_store.seal_anew,
        lambda key, error: f"alert rule {key[1]!r} of app {key[0]!r}: {error}",
    )
    return timers, targets, signings, certificates, alerts


def _seal_timers(rotation: SecretRotation, definitions: DefinitionStore) -> Sealed:
    """Seal the secrets of all timers; Redis forgets what it has of those, and it is read from SQL again."""
    done, page = Sealed(), RotatedPage([], {}, 0)
    while page.last_id is not None:
        page = rotation.next_page(page.last_id)
        done.count += len(page.changed)
        done.bad += page.bad.values()
        done.tell(partial(definitions.forget, page.changed))
    return done


def _seal_all(
    behind: Callable[[Key, int], Sequence[Key]],
    key: Key,
    seal: Callable[[Key], Thing | None],
    why_not: Callable[[Key, Exception], str],
    copy: Callable[[Thing], object] = lambda _: None,
) -> Sealed:
    """Seal all that is stored behind a key, in SQL, and `copy` to Redis what was sealed anew."""
    done = Sealed()
    while keys := behind(key, SEALED_AT_ONCE):
        for key in keys:
            try:
                sealed = seal(key)
            except (ValueError, UnopenedSecrets) as error:
                done.bad.append(why_not(key, error))
                continue
            if sealed:
                done.count += 1
                done.tell(partial(copy, sealed))
    return done


def _why_no_target(key: tuple[str, str], error: Exception) -> str:
    if isinstance(error, UnopenedSecrets):
        return f"app {key[0]!r}: {error}"
    return f"target {key[1]!r} of app {key[0]!r} cannot be read: {type(error).__name__}"


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
