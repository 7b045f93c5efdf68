"""How apps sign their callbacks, in SQL."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select, update

from wangtimer.core.apps.audited_change import Action, AuditedChange, AuditedKind
from wangtimer.core.fail_points import FailPoint
from wangtimer.core.signing.app_signing import AppSigning
from wangtimer.core.signing.signing_secret import new_key
from wangtimer.core.timers.bad_timers import Readable, reason_of
from wangtimer.store.sealed_texts import needs_sealing, signing_from, signing_text
from wangtimer.store.seals import Seals
from wangtimer.store.sql.audit import note_changes
from wangtimer.store.sql.database import Database, SqlStore
from wangtimer.store.sql.statements import by_index, insert_ignore
from wangtimer.store.sql.tables import signing
from wangtimer.store.sql.while_unchanged import changed_rows

_ROW = select(signing.c.app, signing.c.version, signing.c.content, signing.c.updated_at)
# When a row last changed (ms UTC), and its app.
ChangeKey = tuple[int, str]


class SigningStore(SqlStore):
    """One row an app; an app without one gets it, with a secret, when it is first needed."""

    def __init__(self, database: Database, seals: Seals) -> None:
        super().__init__(database)
        self._seals = seals

    def get(self, app: str) -> AppSigning:
        """Return an app's signing; version 0 where nothing is stored. Raises `StoreAway`, ValueError."""
        return self._held(app, self._row(app))

    def to_show(self, app: str) -> AppSigning:
        """Return the same, also where its secrets cannot be opened: then their keys are empty. Raises `StoreAway`."""
        return self._held(app, self._row(app), may_be_unopened=True)

    def needed(self, apps: Iterable[str], now: int) -> Readable[str, AppSigning]:
        """Return the signing of each of these apps, and make it where there is none (`now` in ms UTC).

        It is made by one statement that leaves existing rows as they are, so of two that make it one counts for both.
        Raises `StoreAway`.
        """
        asked = sorted(set(apps))
        found = self._read(asked)
        missing = [app for app in asked if app not in found and app not in found.bad]
        if missing:
            self._make([AppSigning.unmade(app).with_a_secret(new_key(), now) for app in missing], now)
            made = self._read(missing)
            found.update(made)
            found.bad |= made.bad
        return found

    def present(self, app: str, now: int) -> AppSigning:
        """Return the signing of an app by which it is called now, made as `needed`. Raises `StoreAway`, ValueError."""
        found = self.needed([app], now)
        if app in found.bad:
            raise ValueError(found.bad[app])
        return found[app]

    def change(
        self,
        app: str,
        change: Callable[[AppSigning], AppSigning],
        now: int,
        *,
        keeps_no_secret: bool = False,
    ) -> AppSigning:
        """Change an app's signing, and return what it is then (`now` in ms UTC).

        `change` may run again on its own result: after a lost answer it must return that unchanged. One that keeps no
        present secret is made even where they cannot be opened. Raises what `change` raises, `UnopenedSigning`, and
        `StoreAway`.
        """

        def work(sql: Connection) -> AppSigning:
            row = sql.execute(_ROW.where(signing.c.app == app).with_for_update()).one_or_none()
            held = self._held(app, row, may_be_unopened=keeps_no_secret)
            changed = change(held)
            if changed == held:
                return held
            note_changes(sql, now, list(_differences(held, changed)))
            if held.version:
                sql.execute(update(signing).where(signing.c.app == app).values(self._values(changed, now)))
            elif not sql.execute(
                insert_ignore(signing).values(app=app, **self._values(changed, now))
            ).rowcount:
                # Somebody made it in between.
                return work(sql)
            return changed

        return self._database.write(work, FailPoint.SQL_SIGNING)

    def seal_anew(self, app: str) -> AppSigning | None:
        """Seal an app's secrets under the first key; None where they are, or where there are none.

        Nothing else changes. Raises `StoreAway`, and ValueError where the key is missing that they are sealed under.
        """

        def work(sql: Connection) -> AppSigning | None:
            row = sql.execute(_ROW.where(signing.c.app == app).with_for_update()).one_or_none()
            if row is None or not needs_sealing(row.content, self._seals):
                return None
            held = self._held(app, row)
            content = signing_text(held, self._seals)
            sql.execute(update(signing).where(signing.c.app == app).values(content=content))
            return held

        return self._database.write(work)

    def apps_behind(self, app: str, limit: int) -> list[str]:
        """Return a page of the apps that have a row, by name, from behind one."""
        query = select(signing.c.app).where(signing.c.app > app).order_by(signing.c.app).limit(limit)
        return list(self._database.read(lambda sql: sql.execute(query).scalars().all()))

    def changed_behind(
        self, key: ChangeKey, limit: int
    ) -> tuple[Readable[str, AppSigning], ChangeKey | None]:
        """Return a page of what changed after this key, oldest first, and where to go on; None at the end."""
        columns = (signing.c.updated_at, signing.c.app)
        rows = changed_rows(self._database, by_index(_ROW, "signing_updated", signing), columns, key, limit)
        return self._read_all(rows), (rows[-1].updated_at, rows[-1].app) if len(rows) == limit else None

    def _read(self, apps: Sequence[str]) -> Readable[str, AppSigning]:
        return self._read_all(self._rows(_ROW.where(signing.c.app.in_(apps))))

    def _make(self, new: Sequence[AppSigning], now: int) -> None:
        rows = [{"app": made.app, **self._values(made, now)} for made in new]
        making = insert_ignore(signing).values(rows)
        self._database.write_alone(lambda sql: sql.execute(making), FailPoint.SQL_SIGNING)

    def _row(self, app: str) -> Any:
        return self._database.read(lambda sql: sql.execute(_ROW.where(signing.c.app == app)).one_or_none())

    def _held(self, app: str, row: Any, *, may_be_unopened: bool = False) -> AppSigning:
        if row is None:
            return AppSigning.unmade(app)
        return signing_from(app, row.version, row.content, self._seals, may_be_unopened=may_be_unopened)

    def _values(self, made: AppSigning, now: int) -> dict[str, str | int]:
        return {"content": signing_text(made, self._seals), "version": made.version, "updated_at": now}

    def _read_all(self, rows: Iterable[Row[tuple[str, int, str, int]]]) -> Readable[str, AppSigning]:
        found: Readable[str, AppSigning] = Readable()
        for row in rows:
            try:
                found[row.app] = self._held(row.app, row)
            except Exception as error:
                found.bad[row.app] = reason_of("its signing secrets cannot be read", error)
        return found


def _differences(was: AppSigning, now: AppSigning) -> Iterator[AuditedChange]:
    before, after = {secret.id for secret in was.secrets}, {secret.id for secret in now.secrets}
    made, ended = after - before, before - after
    for secret_id in sorted(made):
        yield AuditedChange(Action.CREATE, AuditedKind.SIGNING, str(secret_id), now.app)
    # A new secret takes the place of others: that is its creation.
    for secret_id in sorted(ended) if not made else ():
        yield AuditedChange(Action.REVOKE, AuditedKind.SIGNING, str(secret_id), now.app)
    if now.is_on is not was.is_on:
        yield AuditedChange(
            Action.ENABLE if now.is_on else Action.DISABLE, AuditedKind.SIGNING, now.app, now.app
        )
