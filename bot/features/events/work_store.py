"""Turns in which the agent works on incidents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from bot.config.events import event_app
from bot.domain import APP_PREFIX, Quotation, QuotationKind, Sender
from bot.features.events.card_store import FIND_CARD, FIND_OPEN_CARD
from bot.features.events.incident import Incident
from bot.store.connection import Connection, encode_quotations, encode_sender, sql
from bot.store.meters import INCREMENT_METER
from bot.store.new_turn import ADD_INBOUND, SET_INBOUND_TURN, open_turn
from bot.store.turns import AgentHandoff, hand_off_to_agent
from bot.turn import OpenedTurn, Turn, TurnKind

HOUR: Final = 3_600.0
# Mark the work on an incident as started, unless another process has started it.
MARK_STARTED = sql("UPDATE incidents SET work_at = 0 WHERE id = :id AND work_at = :work_at RETURNING id")
THREAD_OF = sql("SELECT thread_id FROM conversations WHERE id = :id")
COUNT_STARTS = sql(
    "SELECT COALESCE(SUM(value), 0) FROM meters WHERE scope = :scope AND start > :since AND start <= :now"
)

REPLACE_MESSAGE = sql("UPDATE inbound SET text = :text, quotations = :quotations WHERE turn_id = :turn")


@dataclass(frozen=True, slots=True)
class WorkStart:
    """Work on an incident. `facts` is a text about the incident that is quoted to the agent."""

    incident: Incident
    facts: str
    platform: str
    model: str = ""
    in_thread: bool = False


def start_work(connection: Connection, start: WorkStart, now: float) -> OpenedTurn | None:
    """Open the turn in which the agent works on an incident, below its card.

    Return None if another process opened it, if the chat has reached its limit, or if the card is not posted.
    While the card is being delivered, the work stays due; if the card can't be posted, the work is skipped.
    """
    incident, address, work = start.incident, start.incident.address, start.incident.work
    turn = {"turn": incident.card_turn}
    card = connection.execute(FIND_CARD, turn).first()
    if card is None and connection.execute(FIND_OPEN_CARD, turn).first() is not None:
        return None
    mark = {"id": incident.id, "work_at": incident.work_at}
    if connection.execute(MARK_STARTED, mark).first() is None or card is None or work is None:
        return None
    scope = f"events:{address.account}:{address.chat}"
    counted = {"scope": scope, "since": now - HOUR, "now": now}
    if int(connection.execute(COUNT_STARTS, counted).scalar_one()) >= work.per_hour:
        return None
    connection.execute(INCREMENT_METER, {"scope": scope, "start": now})
    topic = card.platform_id if start.in_thread else address.topic
    opened = open_turn(
        connection,
        incident.conversation,
        TurnKind.CHAT,
        replace(address, reply_to=card.platform_id, topic=topic),
        start.platform,
        connection.execute(THREAD_OF, {"id": incident.conversation}).scalar_one(),
        now,
        model=start.model,
    )
    app = event_app(incident.source)
    inbound = connection.execute(
        ADD_INBOUND,
        {
            "account": address.account,
            "event_id": f"{APP_PREFIX}{app}:{incident.id}:{incident.work_at}",
            "message_id": "",
            "sender": encode_sender(Sender(app, incident.source, is_bot=True)),
            "text": work.task,
            "attachments": "",
            "quotations": encode_quotations([Quotation(QuotationKind.CARD, start.facts, incident.source)]),
            "mentions": "",
            "group_key": "",
            "sent_at": now,
            "now": now,
        },
    ).scalar_one()
    connection.execute(SET_INBOUND_TURN, {"turn": opened, "id": inbound})
    return OpenedTurn(opened, incident.conversation, TurnKind.CHAT)


def ask_about(
    connection: Connection,
    incident: Incident,
    command: Turn,
    task: str,
    facts: str,
    handoff: AgentHandoff,
    now: float,
) -> tuple[str, bool]:
    """Hand a command's turn to the agent, with a task and a quotation of facts instead of the command.

    Return the reason for a refusal ("" for none), and whether the running turn was interrupted.
    """
    refusal, interrupts = hand_off_to_agent(connection, command, handoff, now)
    if not refusal:
        quotations = encode_quotations([Quotation(QuotationKind.CARD, facts, incident.source)])
        row = {"turn": command.id, "text": task, "quotations": quotations}
        connection.execute(REPLACE_MESSAGE, row)
    return refusal, interrupts
