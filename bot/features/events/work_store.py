"""Turns in which the agent works on incidents."""

from __future__ import annotations

from typing import Final

from bot.config.events import event_app
from bot.domain import Quotation, QuotationKind, Sender
from bot.features.events.card_store import FIND_CARD, FIND_OPEN_CARD, place_below
from bot.features.events.incident import Incident
from bot.store.connection import Connection, encode_quotations, sql
from bot.store.new_turn import add_service_message, open_turn
from bot.store.turns import AgentHandoff, hand_off_to_agent
from bot.turn import INCIDENT_EVENT, OpenedTurn, Turn, TurnKind

HOUR: Final = 3_600.0
_BY_EVENTS: Final = f"""t.kind = 'chat' AND EXISTS (SELECT 1 FROM inbound i WHERE i.turn_id = t.id
    AND i.turn_id > 0 AND i.event_id LIKE '{INCIDENT_EVENT}%')"""
# Mark the work on an incident as started, unless another process has started it.
MARK_STARTED = sql("UPDATE incidents SET work_at = 0 WHERE id = :id AND work_at = :work_at RETURNING id")
# Update a conversation in which the agent starts. An agent that somebody chose there takes precedence.
USE_CONVERSATION = sql(
    """UPDATE conversations SET active_at = :now, agent = CASE agent WHEN '' THEN :agent ELSE agent END
    WHERE id = :id RETURNING thread_id"""
)
# Count another message in the turn of alerts that waits in a conversation.
JOIN_WAITING = sql(
    f"""UPDATE turns SET size = size + 1 WHERE state = 'accepted' AND id = (SELECT MAX(t.id) FROM turns t
    WHERE t.conversation_id = :id AND t.state = 'accepted' AND {_BY_EVENTS}) RETURNING id"""
)
IS_AT_WORK = sql(
    f"SELECT 1 FROM turns t WHERE t.conversation_id = :id AND t.state = 'running' AND {_BY_EVENTS}"
)
# Count the turns of alerts in a chat since a time. Alerts that joined a run have none.
COUNT_STARTS = sql(
    f"""SELECT COUNT(*) FROM conversations c JOIN turns t ON t.conversation_id = c.id
    WHERE c.account = :account AND c.chat = :chat AND c.active_at > :since AND t.created_at > :since
    AND {_BY_EVENTS}"""
)
REPLACE_MESSAGE = sql("UPDATE inbound SET text = :text, quotations = :quotations WHERE turn_id = :turn")


def start_work(
    connection: Connection,
    incident: Incident,
    facts: str,
    platform: str,
    model: str,
    now: float,
    *,
    in_thread: bool,
) -> OpenedTurn | None:
    """Open the turn in which the agent works on an incident, below its card, or add to the one that waits.

    While the agent works on the incident, the turn waits, and its messages may join the run. Return None if
    another process opened it, if the chat has reached its limit, or if the card is not posted. While the card
    is being delivered, the work stays due; if the card can't be posted, the work is skipped.
    """
    work, here = incident.work, {"id": incident.conversation}
    card = connection.execute(FIND_CARD, {"turn": incident.card_turn}).first()
    if card is None and connection.execute(FIND_OPEN_CARD, {"turn": incident.card_turn}).first() is not None:
        return None
    mark = {"id": incident.id, "work_at": incident.work_at}
    if connection.execute(MARK_STARTED, mark).first() is None or card is None or work is None:
        return None
    turn = connection.execute(JOIN_WAITING, here).scalar_one_or_none()
    if turn is None:
        counted = {"account": incident.address.account, "chat": incident.address.chat, "since": now - HOUR}
        starts = int(connection.execute(COUNT_STARTS, counted).scalar_one())
        # While the agent works, one more turn may wait. It usually starts no run, because its alerts join the
        # current one.
        if starts >= work.per_hour + int(connection.execute(IS_AT_WORK, here).first() is not None):
            return None
        address = place_below(card.platform_id, incident, in_thread=in_thread)
        use = {**here, "now": now, "agent": work.agent or ""}
        thread = connection.execute(USE_CONVERSATION, use).scalar_one()
        of = incident.conversation, TurnKind.CHAT, address, platform, thread
        turn = open_turn(connection, *of, now, model=model)
    account, event = incident.address.account, f"{INCIDENT_EVENT}{incident.id}:{incident.work_at}"
    app = Sender(event_app(incident.source), incident.source, is_bot=True)
    quoted = [_quote(incident, facts)]
    add_service_message(connection, turn, account, event, app, work.task, now, quoted)
    return OpenedTurn(turn, incident.conversation, TurnKind.CHAT)


def _quote(incident: Incident, facts: str) -> Quotation:
    return Quotation(QuotationKind.CARD, facts, incident.source)


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
        quotations = encode_quotations([_quote(incident, facts)])
        row = {"turn": command.id, "text": task, "quotations": quotations}
        connection.execute(REPLACE_MESSAGE, row)
    return refusal, interrupts
