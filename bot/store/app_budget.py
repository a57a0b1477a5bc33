"""Limit of the turns that apps start in a chat, which stops two bots from answering each other forever.

It is counted in the store, so a restart does not reset it. It starts over when a person writes to the bot.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain import APP_PREFIX, InboundMessage
from bot.store.audit import AuditEvent, actor_of, record_event
from bot.store.connection import Connection, sql
from bot.store.meters import INCREMENT_METER


@dataclass(frozen=True, slots=True)
class AppBudget:
    """Maximum number of turns that apps may start in a chat within `seconds`."""

    most: int
    seconds: float


# Count the turns that apps started in a chat after an instant.
COUNT_APP_TURNS = sql(
    "SELECT COALESCE(SUM(value), 0) FROM meters WHERE scope = :scope AND start > :since AND start <= :now"
)
RESTART_APP_BUDGET = sql("DELETE FROM meters WHERE scope = :scope")
LOG_ONCE = sql(
    """INSERT INTO notices (account, person, kind, told_at) VALUES (:account, :chat, 'apps', :now)
    ON CONFLICT (account, person, kind) DO UPDATE SET told_at = excluded.told_at
    WHERE notices.told_at <= :before RETURNING told_at"""
)


def scope_of_apps(account: str, chat: str) -> str:
    """Return the counter key for turns that apps start in a chat."""
    return f"apps:{account}:{chat}"


def is_app_budget_left(
    connection: Connection, budget: AppBudget, message: InboundMessage, now: float
) -> bool:
    """Check whether an app may start another turn in the message's chat."""
    scope = scope_of_apps(message.origin.account, message.origin.chat)
    period = {"scope": scope, "since": now - budget.seconds, "now": now}
    return int(connection.execute(COUNT_APP_TURNS, period).scalar_one()) < budget.most


def count_app_turn(connection: Connection, message: InboundMessage, now: float) -> None:
    """Count a turn that an app starts."""
    scope = scope_of_apps(message.origin.account, message.origin.chat)
    connection.execute(INCREMENT_METER, {"scope": scope, "start": now})


def restart_app_budget(connection: Connection, message: InboundMessage) -> None:
    """Reset the counter after a message by a person."""
    scope = scope_of_apps(message.origin.account, message.origin.chat)
    connection.execute(RESTART_APP_BUDGET, {"scope": scope})


def log_exhausted(connection: Connection, budget: AppBudget, message: InboundMessage, now: float) -> bool:
    """Record in the audit log that apps have used up their turns in a chat, once per period. Return False if
    this period already has such an event.
    """
    origin = message.origin
    once = {"account": origin.account, "chat": f"{APP_PREFIX}{origin.chat}", "now": now}
    if connection.execute(LOG_ONCE, {**once, "before": now - budget.seconds}).first() is None:
        return False
    actor = actor_of(origin, f"apps:{origin.account}:{message.event_id}")
    detail = f"{budget.most} turns in {budget.seconds / 60:g} min"
    record_event(connection, actor, AuditEvent("app limit", f"{origin.account}:{origin.chat}", detail), now)
    return True
