"""The turns whose answers are cards of incidents."""

from __future__ import annotations

from typing import Final

from bot.domain import ChatKind
from bot.features.events.incident_store import Incident
from bot.store.connection import OPEN, Connection, sql
from bot.store.conversations import TAKE_CONVERSATION
from bot.store.new_turn import open_notice
from bot.store.web_sessions import find_chat_owner
from bot.turn import OpenedTurn, TurnKind

TOPIC: Final = "incident-"
"""Prefix of the topic of an incident's conversation."""
MARK_SHOWN = sql(
    """UPDATE incidents SET conversation_id = :conversation, card_turn = :turn, shown = :shown,
    outdated = CASE WHEN revision = :revision THEN 0 ELSE outdated END WHERE id = :id"""
)
# Change the text of a posted card, unless its turn is at work.
CHANGE_CARD = sql(
    f"""UPDATE parts SET content = :text, state = 'posted', updated_at = :now WHERE turn_id = :turn
    AND position = 0 AND state = 'final' AND EXISTS (SELECT 1 FROM turns t WHERE t.id = parts.turn_id
    AND t.state NOT IN {OPEN}) RETURNING turn_id"""
)
DELIVER_AGAIN = sql("UPDATE turns SET state = 'delivering', error = '', finished_at = 0 WHERE id = :turn")
FIND_OPEN_CARD = sql(f"SELECT 1 FROM turns WHERE id = :turn AND state IN {OPEN}")


def show_card(
    connection: Connection, incident: Incident, text: str, platform: str, thread_id: str, now: float
) -> OpenedTurn | None:
    """Store what the card of an incident shows from now on.

    Return the turn that delivers it; None if it shows the same, or an earlier version is being delivered.
    """
    turn, conversation = incident.card_turn, incident.conversation
    if turn and text != incident.shown:
        if connection.execute(FIND_OPEN_CARD, {"turn": turn}).first() is not None:
            return None
        if connection.execute(CHANGE_CARD, {"turn": turn, "text": text, "now": now}).first() is None:
            turn = 0
        else:
            connection.execute(DELIVER_AGAIN, {"turn": turn})
    if not turn:
        conversation = conversation or _open_conversation(connection, incident, platform, thread_id, now)
        turn = open_notice(connection, conversation, incident.address, platform, thread_id, text, now, size=0)
    shown = {
        "id": incident.id,
        "conversation": conversation,
        "turn": turn,
        "shown": text,
        "revision": incident.revision,
    }
    connection.execute(MARK_SHOWN, shown)
    return None if text == incident.shown else OpenedTurn(turn, conversation, TurnKind.NOTICE)


def _open_conversation(
    connection: Connection, incident: Incident, platform: str, thread_id: str, now: float
) -> int:
    address = incident.address
    is_private = address.chat_kind is ChatKind.PRIVATE
    owner = find_chat_owner(connection, address.account, address.chat) if is_private else ""
    row = connection.execute(
        TAKE_CONVERSATION,
        {
            "account": address.account,
            "chat": address.chat,
            "topic": f"{TOPIC}{incident.id}",
            "member": "",
            "platform": platform,
            "chat_kind": address.chat_kind.value,
            "thread_id": thread_id,
            "owner": owner,
            "title": incident.title[:60],
            "now": now,
        },
    ).one()
    return int(row.id)
