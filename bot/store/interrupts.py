"""The open interrupt of a conversation, who may answer it, and the tools that need no approval.

Anybody in the conversation may answer a clarification. An approval is decided by the requester or an admin.
A tool grant holds for a conversation or an account.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

import orjson

from bot.domain import InboundMessage, Sender, Stopped, Turn, TurnKind
from bot.store.audit import Actor, AuditEvent, author_of, record_event
from bot.store.connection import (
    OPEN,
    Connection,
    decode_address,
    decode_choices,
    decode_senders,
    encode_senders,
    encode_words,
    sql,
)
from bot.store.conversations import APPROVAL_OF
from bot.store.new_turn import open_turn

GRANT_COLUMNS = "id, account, conversation_id, tool, person, name, given_at"
WORDS = ("approve", "reject")
"""Words that decide an approval that offers no answers of its own."""


@dataclass(frozen=True, slots=True)
class GrantOffer:
    """The answers of an approval that grant a tool: in this conversation (`here`), or on the whole account
    (`always`, for admins).
    """

    tool: str
    here: str
    always: str


@dataclass(frozen=True, slots=True)
class ToolGrant:
    """A tool that needs no approval in a conversation (0: on the whole account), and who granted it."""

    id: int
    account: str
    conversation: int
    tool: str
    person: str
    name: str
    at: float


# Insert a tool grant unless it exists.
ADD_TOOL_GRANT = sql(
    """INSERT INTO permissions (account, conversation_id, tool, person, name, given_at)
    VALUES (:account, :conversation, :tool, :person, :name, :now)
    ON CONFLICT (account, conversation_id, tool) DO NOTHING"""
)
# List the tool grants of a conversation and its account.
LIST_GRANTS_IN = sql(
    f"""SELECT {GRANT_COLUMNS} FROM permissions WHERE account = :account AND conversation_id IN (0,
    :conversation)
    ORDER BY id"""
)
DELETE_TOOL_GRANT = sql("DELETE FROM permissions WHERE id = :id RETURNING tool")


def encode_grant_offer(one: GrantOffer | None) -> str:
    """Return the column value, "" for none."""
    return orjson.dumps([one.tool, one.here, one.always]).decode() if one else ""


def decode_grant_offer(column: str) -> GrantOffer | None:
    """Return the offer of a column."""
    return GrantOffer(*orjson.loads(column)) if column else None


def record_tool_grant(
    connection: Connection, one: GrantOffer | None, words: str, conversation: int, actor: Actor, now: float
) -> None:
    """Store a tool grant if the decision of an approval was one."""
    said = words.strip().casefold()
    if one is None or said not in (one.here.casefold(), one.always.casefold()):
        return
    here = conversation if said == one.here.casefold() else 0
    values = {"account": actor.account, "conversation": here, "tool": one.tool, "now": now}
    connection.execute(ADD_TOOL_GRANT, {**values, "person": actor.person, "name": actor.name})


def list_granted_tools(connection: Connection, account: str, conversation: int) -> tuple[str, ...]:
    """Return the tools that need no approval in a conversation."""
    found = connection.execute(LIST_GRANTS_IN, {"account": account, "conversation": conversation}).all()
    return tuple(sorted({str(row.tool) for row in found}))


def list_tool_grants(connection: Connection, account: str, conversation: int) -> list[ToolGrant]:
    """Return the grants that apply in a conversation, oldest first."""
    found = connection.execute(LIST_GRANTS_IN, {"account": account, "conversation": conversation}).all()
    return [_permission(row) for row in found]


def revoke_tool_grant(connection: Connection, number: int, actor: Actor, now: float) -> bool:
    """Revoke a tool grant; returns False if it does not exist."""
    row = connection.execute(DELETE_TOOL_GRANT, {"id": number}).first()
    if row is not None:
        record_event(connection, actor, AuditEvent("permission taken back", str(row.tool)), now)
    return row is not None


def _permission(row: Any) -> ToolGrant:
    return ToolGrant(row.id, row.account, row.conversation_id, row.tool, row.person, row.name, row.given_at)


@dataclass(frozen=True, slots=True)
class Approval:
    """An open approval: the ids of the requesters (`people`), the `words` that decide it, and the grant it
    offers.
    """

    people: Collection[str]
    words: Collection[str]
    remembered: GrantOffer | None = None

    def decided_by(self, message: InboundMessage, *, is_admin: bool) -> bool:
        """Check whether a message decides: anything by a requester; a click or an offered answer by an
        admin.
        """
        if not is_admin and self.is_for_good(message.text):
            return False
        if message.origin.sender.id in self.people:
            return True
        return is_admin and (message.clicked or self.offers(message.text))

    def is_for_good(self, text: str) -> bool:
        """Check whether this text grants a tool on the whole account, which only admins may do."""
        return self.remembered is not None and text.strip().casefold() == self.remembered.always.casefold()

    def offers(self, text: str) -> bool:
        """Check whether this text is one of the offered answers."""
        return text.strip().casefold() in self.words


class DecisionWord(Enum):
    """The decision of `/approve` or `/reject`: once, for this conversation, on the whole account, or no."""

    ONCE = auto()
    HERE = auto()
    ALWAYS = auto()
    NO = auto()


class DecisionOutcome(Enum):
    """The outcome of `/approve` or `/reject`: done, reserved for admins, the requested duration not offered,
    no approval, several approvals, or not the author's to decide.
    """

    DONE = auto()
    SENIOR = auto()
    ONCE = auto()
    NONE = auto()
    SEVERAL = auto()
    FOREIGN = auto()


# Switch a conversation to another agent thread and close its interrupt.
ROTATE_THREAD = sql("UPDATE conversations SET thread_id = :thread_id, question = '' WHERE id = :id")
SET_INBOUND_TEXT = sql("UPDATE inbound SET text = :text, changed_at = :at WHERE id = :id")
# Open an interrupt in a conversation if it is still on this thread.
OPEN_INTERRUPT = sql(
    """UPDATE conversations SET question = :question, asked_by = :turn, askers = :askers,
    decisions = :decisions, remembered = :remembered, asked_at = :now
    WHERE id = :conversation AND thread_id = :thread_id RETURNING id"""
)
# Record the turn of an interrupt on an abandoned thread, once.
MARK_ASKED_ELSEWHERE = sql(
    f"""UPDATE conversations SET asked_by = :turn WHERE id = :conversation AND question = '' AND NOT EXISTS
    (SELECT 1 FROM turns t WHERE t.conversation_id = :conversation AND t.answers = :question
    AND t.stopped = {Stopped.LEFT.value}) RETURNING id"""
)
# Read who asked for the work of the newest interrupt.
REQUESTERS = sql("SELECT askers, asked_by, question FROM conversations WHERE id = :id")
# Check that a message holds the buttons of a turn's interrupt. The platform id of a new post may not be
# stored yet when its button is pressed; an older interrupt has its id.
FIND_BUTTON = sql(
    """SELECT 1 FROM parts WHERE turn_id = :turn AND choices <> '' AND (platform_id = :message_id
    OR (platform_id = '' AND NOT EXISTS (SELECT 1 FROM parts o JOIN turns t ON t.id = o.turn_id
    WHERE t.conversation_id = (SELECT a.conversation_id FROM turns a WHERE a.id = :turn)
    AND o.platform_id = :message_id)))"""
)
# List the open approvals of a chat that may have been posted as this message.
APPROVALS_OF_MESSAGE = sql(
    """SELECT c.question, c.askers, c.decisions, c.remembered FROM conversations c
    JOIN parts p ON p.turn_id = c.asked_by
    WHERE c.account = :account AND c.chat = :chat AND c.question <> '' AND c.decisions <> ''
    AND p.choices <> '' AND (p.platform_id = :message_id OR p.platform_id = '')"""
)
# Close the interrupt of a conversation.
CLOSE_INTERRUPT = sql("UPDATE conversations SET question = '' WHERE id = :id")
# Read the open interrupt of a conversation.
INTERRUPT_OF = sql(
    """SELECT id, thread_id, platform, question, asked_by, decisions FROM conversations
    WHERE id = :id AND question <> '' AND EXISTS (SELECT 1 FROM turns t WHERE t.id = asked_by)"""
)
APPROVALS_IN_CHAT = sql(
    """SELECT id, thread_id, question, asked_by, askers, decisions, remembered FROM conversations
    WHERE account = :account AND chat = :chat AND question <> '' AND decisions <> ''"""
)
# List the approvals that were opened before an instant.
APPROVALS_BEFORE = sql(
    """SELECT id, thread_id, platform, question, asked_by FROM conversations
    WHERE question <> '' AND decisions <> '' AND asked_at < :before"""
)
ADDRESS_OF = sql("SELECT address FROM turns WHERE id = :id")
# Turn a command into the chat turn that decides an approval.
MAKE_DECISION = sql(
    """UPDATE turns SET kind = 'chat', conversation_id = :conversation, thread_id = :thread_id,
    address = :address, answers = :answers WHERE id = :id AND kind = 'command' AND state = 'accepted'"""
)
# Set the interrupt that a turn answers.
SET_ANSWERS = sql("UPDATE turns SET answers = :answers WHERE id = :id")
# Check that people may have read an interrupt: its post is on its way or delivered (the receipt may come
# after an answer).
IS_INTERRUPT_READABLE = sql(
    f"""SELECT 1 FROM turns t WHERE t.id = :id AND (t.state NOT IN {OPEN} OR (t.state = 'delivering' AND
    (SELECT p.state FROM parts p WHERE p.turn_id = t.id AND p.kind = 'text' AND p.content <> ''
    ORDER BY p.position DESC LIMIT 1) IN ('intended', 'final')))"""
)
STOP_TURN = sql("UPDATE turns SET stopped = :why WHERE id = :id")


def decode_approval(row: Any) -> Approval | None:
    """Return the open approval of a conversation's row, None if there is none."""
    if not row.question or not row.decisions:
        return None
    people = [person.id for person in decode_senders(row.askers)]
    return Approval(people, decode_choices(row.decisions), decode_grant_offer(row.remembered))


def open_interrupt(
    connection: Connection,
    turn: Turn,
    question: str,
    decisions: Sequence[str] | None = None,
    now: float = 0.0,
    remembered: GrantOffer | None = None,
) -> None:
    """Open the interrupt with this id, or discard it if the conversation has left the thread.

    `decisions` are the answers of an approval, None if anybody may answer. The requesters are the authors
    of the turn's messages; for a turn that answers an interrupt, the requesters of that one.
    """
    wrote = {message.sender.id: message.sender for message in turn.messages}
    people = turn.askers or tuple(wrote.values())
    values = {
        "question": question,
        "turn": turn.id,
        "askers": encode_senders(people),
        "now": now,
        "remembered": encode_grant_offer(remembered),
        "decisions": "" if decisions is None else encode_words([word.casefold() for word in decisions]),
    }
    here = {"conversation": turn.conversation, "turn": turn.id, "question": question}
    if (
        connection.execute(OPEN_INTERRUPT, {**values, **here, "thread_id": turn.thread_id}).first()
        is not None
    ):
        return
    if connection.execute(MARK_ASKED_ELSEWHERE, here).first() is not None:
        at = (turn.conversation, TurnKind.CHAT, turn.address, turn.platform, turn.thread_id)
        opened = open_turn(connection, *at, now, size=0)
        connection.execute(SET_ANSWERS, {"answers": question, "id": opened})
        connection.execute(STOP_TURN, {"id": opened, "why": Stopped.LEFT.value})


def expire_approvals(connection: Connection, before: float, now: float) -> list[int]:
    """Close the approvals opened before an instant and open turns that continue their runs without one.

    Returns the ids of their conversations.
    """
    found = connection.execute(APPROVALS_BEFORE, {"before": before}).all()
    for row in found:
        _go_on(connection, row, now)
    return [row.id for row in found]


def give_up_approval(connection: Connection, conversation: int, now: float) -> tuple[int, int]:
    """Close the open approval of a conversation. Returns the turn that requested it and a new turn that
    continues without it; zeros if there is none.
    """
    row = connection.execute(APPROVAL_OF, {"id": conversation}).first()
    return (0, 0) if row is None else (int(row.asked_by), _go_on(connection, row, now))


def abandon_interrupt(
    connection: Connection, conversation: int, thread_id: str, actor: Actor | None, now: float
) -> None:
    """Switch a conversation to another thread. An interrupt of the old thread gets a turn that shows that
    it was abandoned; for an approval this is recorded in the audit log.
    """
    row = connection.execute(INTERRUPT_OF, {"id": conversation}).first()
    connection.execute(ROTATE_THREAD, {"thread_id": thread_id, "id": conversation})
    if row is None:
        return
    left = _go_on(connection, row, now)
    connection.execute(STOP_TURN, {"id": left, "why": Stopped.LEFT.value})
    if actor is not None and row.decisions:
        deed = AuditEvent("approval", f"turn {row.asked_by}", "left")
        record_event(connection, replace(actor, key=f"turn:{left}"), deed, now)


def _go_on(connection: Connection, row: Any, now: float) -> int:
    address = decode_address(connection.execute(ADDRESS_OF, {"id": row.asked_by}).scalar_one())
    turn = open_turn(connection, row.id, TurnKind.CHAT, address, row.platform, row.thread_id, now, size=0)
    connection.execute(SET_ANSWERS, {"answers": row.question, "id": turn})
    connection.execute(CLOSE_INTERRUPT, {"id": row.id})
    return turn


def origin_of(connection: Connection, conversation: int) -> tuple[tuple[Sender, ...], int]:
    """Return the requesters of a conversation's newest interrupt, and the turn that opened it (0 while it
    is open, since another one was answered then).
    """
    row = connection.execute(REQUESTERS, {"id": conversation}).one()
    return decode_senders(row.askers), 0 if row.question else row.asked_by


def is_button_of(connection: Connection, turn: int, message: InboundMessage) -> bool:
    """Check whether the clicked button belongs to the interrupt of a turn."""
    values = {"turn": turn, "message_id": message.origin.reply_to}
    return connection.execute(FIND_BUTTON, values).first() is not None


def is_readable(connection: Connection, turn: int) -> bool:
    """Check whether people may have read the interrupt of a turn."""
    return connection.execute(IS_INTERRUPT_READABLE, {"id": turn}).first() is not None


def is_foreign(connection: Connection, message: InboundMessage, *, is_admin: bool) -> bool:
    """Check whether a button belongs to an approval, in any conversation of the chat, that its author may
    not decide.
    """
    origin = message.origin
    values = {"account": origin.account, "chat": origin.chat, "message_id": origin.reply_to}
    open_ones = connection.execute(APPROVALS_OF_MESSAGE, values).all()
    found = [approval for row in open_ones if (approval := decode_approval(row)) is not None]
    return bool(found) and not any(approval.decided_by(message, is_admin=is_admin) for approval in found)


def decide_approval(
    connection: Connection, command: Turn, number: int, now: float, given: DecisionWord, *, is_admin: bool
) -> tuple[DecisionOutcome, int]:
    """Decide by a command: the approval of the turn `number` in this chat, or the only one (0). The
    command's turn becomes the decision. Returns the outcome and the id of its conversation.
    """
    here = {"account": command.address.account, "chat": command.address.chat}
    found = [
        row
        for row in connection.execute(APPROVALS_IN_CHAT, here).all()
        if not number or row.asked_by == number
    ]
    if len(found) != 1:
        return (DecisionOutcome.SEVERAL if found else DecisionOutcome.NONE), 0
    row, message = found[0], command.messages[-1]
    approval, words = decode_approval(row), decode_choices(row.decisions)
    if approval is None or (message.sender.id not in approval.people and not is_admin):
        return DecisionOutcome.FOREIGN, 0
    if given is DecisionWord.ALWAYS and not is_admin:
        return DecisionOutcome.SENIOR, 0
    kept = approval.remembered
    if kept is None and given in (DecisionWord.HERE, DecisionWord.ALWAYS):
        return DecisionOutcome.ONCE, 0
    word = _word(given, words, kept)
    connection.execute(SET_INBOUND_TEXT, {"text": word, "at": now, "id": message.id})
    address = connection.execute(ADDRESS_OF, {"id": row.asked_by}).scalar_one()
    turned = {"conversation": row.id, "thread_id": row.thread_id, "address": address, "answers": row.question}
    connection.execute(MAKE_DECISION, {**turned, "id": command.id})
    connection.execute(CLOSE_INTERRUPT, {"id": row.id})
    deed = AuditEvent("approval", f"turn {row.asked_by}", word)
    actor = author_of(command)
    record_event(connection, actor, deed, now)
    record_tool_grant(connection, kept, word, int(row.id), actor, now)
    return DecisionOutcome.DONE, int(row.id)


def _word(given: DecisionWord, words: Sequence[str], kept: GrantOffer | None) -> str:
    """Return the approval's own word for a decision."""
    if kept is not None and given in (DecisionWord.HERE, DecisionWord.ALWAYS):
        return kept.here if given is DecisionWord.HERE else kept.always
    yes, no = (words[0], words[-1]) if len(words) > 1 else WORDS
    return no if given is DecisionWord.NO else yes
