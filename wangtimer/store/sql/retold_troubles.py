"""Troubles that are told again, since their rule tells somebody else now."""

from sqlalchemy import Connection, and_, func, or_, select, update

from wangtimer.core.alerts.alert_rule import AlertRule
from wangtimer.store.sql.alert_messages import gather
from wangtimer.store.sql.keyset import by_index
from wangtimer.store.sql.tables import alert_messages, alerts
from wangtimer.store.sql.trouble_rows import read_troubles

# A message names 20 of them; so many are counted.
MOST_TOLD_AGAIN = 1_000


def tell_again(sql: Connection, rule: AlertRule, now: int) -> None:
    """Tell what is open, in the caller's transaction: all that was told went where the rule tells nobody any more.

    Messages that were not taken there go to the new destination at once, and what they tell is told by them alone.
    """
    its = and_(alert_messages.c.app == rule.app, alert_messages.c.rule == rule.name)
    waiting = select(alert_messages.c.id, alert_messages.c.created_at).where(
        its, alert_messages.c.is_test == 0
    )
    rows = sql.execute(by_index(waiting, "alert_message_of_rule", alert_messages)).all()
    if rows:
        # One that a process has in hand right now goes there once that has ended: by this moment it is known.
        moved = update(alert_messages).where(alert_messages.c.id.in_([row.id for row in rows]))
        sql.execute(moved.values(due_at=now))
        # The new one has all its attempts before it; a process that died with one in hand has it no more.
        sql.execute(
            moved.where(alert_messages.c.taken_until <= now, alert_messages.c.attempt > 0).values(attempt=0)
        )
    told_before = min((row.created_at for row in rows), default=None)
    open_ones = select(alerts).where(alerts.c.app == rule.app, alerts.c.rule == rule.name)
    # Others are told by it no more.
    has_prefix = func.substr(alerts.c.timer_name, 1, len(rule.key_prefix)) == rule.key_prefix
    told = open_ones.where(
        alerts.c.told_at.is_not(None),
        alerts.c.event.in_(sorted(event.value for event in rule.events)),
        or_(alerts.c.timer_id == 0, has_prefix),
    )
    if told_before is not None:
        told = told.where(alerts.c.told_at < told_before)
    ordered = by_index(told, "PRIMARY", alerts).order_by(alerts.c.timer_id, alerts.c.event)
    found = read_troubles(sql.execute(ordered.limit(MOST_TOLD_AGAIN)).mappings())
    gather(sql, [(rule, one.alert()) for one in found], now)
