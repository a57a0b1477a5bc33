"""Transactions and queries for pending webhook deliveries. Each public function is one transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from sqlalchemy import Connection, delete, select, update

from agent.runtime.domain import WebhookDelivery
from agent.runtime.store.database import count_rows
from agent.runtime.store.schema import webhook_deliveries as deliveries
from agent.runtime.store.statements import insert_into


def add_with(
    connection: Connection, delivery: WebhookDelivery | None, end_run: Callable[[Connection], None]
) -> None:
    """Add a delivery in the transaction that ends its run. Nothing is added a second time."""
    end_run(connection)
    if delivery is not None:
        values = {name: getattr(delivery, name) for name in WebhookDelivery.__slots__}
        connection.execute(insert_into(connection, deliveries).values(values).on_conflict_do_nothing())


def list_next(
    connection: Connection, *, without: Collection[str], without_hosts: Collection[str], limit: int
) -> Sequence[WebhookDelivery]:
    """Return the next deliveries, the earliest first, except those of these runs and to these hosts."""
    other = deliveries.c.run_id.not_in(without) & deliveries.c.host.not_in(without_hosts)
    rows = connection.execute(select(deliveries).where(other).order_by(deliveries.c.next_at).limit(limit))
    return [WebhookDelivery(**row._mapping) for row in rows]


def postpone_delivery(connection: Connection, run_id: str, *, attempts: int, next_at: float) -> None:
    changes = {"attempts": attempts, "next_at": next_at}
    connection.execute(update(deliveries).where(deliveries.c.run_id == run_id).values(changes))


def delete_delivery(connection: Connection, run_id: str) -> None:
    """Delete a delivery that has succeeded or is not retried any more."""
    connection.execute(delete(deliveries).where(deliveries.c.run_id == run_id))


def count_deliveries(connection: Connection) -> int:
    return count_rows(connection, deliveries, deliveries.c.run_id != "")
