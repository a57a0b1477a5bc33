"""The turns whose answers are cards of incidents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.commands.registry import Button
from bot.domain import ChatKind, ConversationKey, Part, PartKind, PartState, ReplyAddress
from bot.features.events.incident import Incident
from bot.store.connection import OPEN, Connection, encode_choices, sql
from bot.store.conversations import take_conversation
from bot.store.new_turn import open_notice, save_part
from bot.store.web_sessions import find_chat_owner
from bot.turn import INCIDENT_TOPIC, OpenedTurn, TurnKind

MARK_SHOWN = sql(
    """UPDATE incidents SET conversation = :conversation, card_turn = :turn,
    announced = CASE WHEN card_turn = :turn THEN announced ELSE status END,
    outdated = CASE WHEN revision = :revision THEN 0 ELSE outdated END WHERE id = :id"""
)
# Change the text of a posted card, unless its turn is in progress.
CHANGE_CARD = sql(
    f"""UPDATE parts SET content = :text, choices = :choices, state = 'posted', updated_at = :now
    WHERE turn_id = :turn AND position = 0 AND state = 'final' AND EXISTS (SELECT 1 FROM turns t
    WHERE t.id = parts.turn_id AND t.state NOT IN {OPEN}) RETURNING turn_id"""
)
FIND_CARD = sql("SELECT platform_id FROM parts WHERE turn_id = :turn AND position = 0 AND platform_id <> ''")
# Mark a state as announced, unless another process has announced it.
MARK_ANNOUNCED = sql(
    """UPDATE incidents SET announced = :status, announce_at = 0 WHERE id = :id AND announce_at = :announce_at
    RETURNING id"""
)
DELIVER_AGAIN = sql("UPDATE turns SET state = 'delivering', error = '', finished_at = 0 WHERE id = :turn")
# Find the delivery state of the card of a chat that was updated last.
LAST_CARD = sql(
    """SELECT p.state, p.category FROM incidents i JOIN parts p ON p.turn_id = i.card_turn AND p.position = 0
    WHERE i.account = :account AND i.chat = :chat AND i.topic = :topic AND p.updated_at >= :since
    ORDER BY p.updated_at DESC LIMIT 1"""
)
FIND_OPEN_CARD = sql(f"SELECT 1 FROM turns WHERE id = :turn AND state IN {OPEN}")


def show_card(
    connection: Connection,
    incident: Incident,
    text: str,
    buttons: Sequence[Button],
    platform: str,
    thread_id: str,
    now: float,
) -> OpenedTurn | None:
    """Store the new contents of an incident's card.

    Return the turn that delivers it, or None while an earlier version is being delivered.
    """
    turn, conversation = incident.card_turn, incident.conversation
    labels, commands = tuple(one.label for one in buttons), tuple(one.command for one in buttons)
    if connection.execute(FIND_OPEN_CARD, {"turn": turn}).first() is not None:
        return None
    change = {"turn": turn, "text": text, "choices": encode_choices(labels, commands), "now": now}
    if connection.execute(CHANGE_CARD, change).first() is not None:
        connection.execute(DELIVER_AGAIN, {"turn": turn})
    else:
        conversation = conversation or _open_conversation(connection, incident, platform, thread_id, now)
        turn = open_notice(connection, conversation, incident.address, platform, thread_id, text, now, size=0)
        part = Part(0, PartKind.TEXT, text, choices=labels, commands=commands)
        save_part(connection, turn, part, now)
    shown = {"id": incident.id, "turn": turn, "revision": incident.revision}
    connection.execute(MARK_SHOWN, {**shown, "conversation": conversation})
    return OpenedTurn(turn, conversation, TurnKind.NOTICE)


def announce_state(
    connection: Connection, incident: Incident, text: str, platform: str, *, in_thread: bool, now: float
) -> OpenedTurn | None:
    """Announce the state of an incident once, below its card or (`in_thread`) in the card's thread.

    Return the turn that delivers it, or None if it has been announced, or the chat has no card.
    """
    told = {"id": incident.id, "status": incident.status.value, "announce_at": incident.announce_at}
    if connection.execute(MARK_ANNOUNCED, told).first() is None:
        return None
    card = connection.execute(FIND_CARD, {"turn": incident.card_turn}).first()
    if card is None or incident.status is incident.announced:
        return None
    address = place_below(card.platform_id, incident, in_thread=in_thread)
    turn = open_notice(connection, incident.conversation, address, platform, "", text, now, size=0)
    return OpenedTurn(turn, incident.conversation, TurnKind.NOTICE)


def place_below(card: str, incident: Incident, *, in_thread: bool) -> ReplyAddress:
    """Return the place of messages about an incident: a reply to its card or (`in_thread`) in its thread."""
    topic = card if in_thread else incident.address.topic
    return replace(incident.address, reply_to=card, topic=topic)


def find_outcome(
    connection: Connection, account: str, chat: str, topic: str, since: float = 0.0
) -> str | None:
    """Return the reason why the latest update of a card in a chat since a time (s) could not be posted (a
    `DeliveryCategory`), "" if it was posted, or None if there is none or it is being delivered.
    """
    where = {"account": account, "chat": chat, "topic": topic, "since": since}
    row = connection.execute(LAST_CARD, where).first()
    if row is None or row.state not in (PartState.UNDELIVERED.value, PartState.FINAL.value):
        return None
    return str(row.category or "unknown") if row.state == PartState.UNDELIVERED.value else ""


def _open_conversation(
    connection: Connection, incident: Incident, platform: str, thread_id: str, now: float
) -> int:
    address = incident.address
    is_private = address.chat_kind is ChatKind.PRIVATE
    owner = find_chat_owner(connection, address.account, address.chat) if is_private else ""
    key = ConversationKey(address.account, address.chat, f"{INCIDENT_TOPIC}{incident.id}")
    of = platform, address.chat_kind, thread_id, owner
    row = take_conversation(connection, key, *of, incident.title[:60], now)
    return int(row.id)
