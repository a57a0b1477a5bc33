"""Open interrupts of conversations, and permissions to answer them.

Any person in the conversation may answer a clarification. An approval is decided by the requester or an
admin, unless the configuration says otherwise. A group itself decides nothing, and answers nothing that a
person was asked: several people may write in its name, such as anonymous admins.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

from bot.domain import ChatKind, InboundMessage, Sender
from bot.store.approval_rules import ApprovalRules, Approvers, is_question, refusal_of
from bot.store.audit import Actor, AuditEvent, author_of, record_event
from bot.store.connection import (
    OPEN,
    Connection,
    decode_address,
    decode_choices,
    decode_sender,
    decode_senders,
    encode_senders,
    encode_words,
    sql,
)
from bot.store.new_turn import open_turn
from bot.store.tool_grants import GrantOffer, decode_grant_offer, encode_grant_offer, record_tool_grant
from bot.turn import Stopped, Turn, TurnKind

WORDS = ("approve", "reject")
"""Words that decide an approval that offers no answers of its own."""


@dataclass(frozen=True, slots=True)
class Approval:
    """An open approval: its requesters (`askers`), the `words` that decide it, the tool grant it offers, and
    the topic of the request.
    """

    askers: Sequence[Sender]
    words: Collection[str]
    remembered: GrantOffer | None = None
    topic: str = ""

    def decided_by(self, message: InboundMessage, *, is_admin: bool, rules: ApprovalRules) -> bool:
        """Check whether a message decides: any message by an authorized requester, or an admin's click or
        offered answer. A question never does.
        """
        if not self.may_decide(message, is_admin=is_admin, rules=rules):
            return False
        clear = message.clicked or self.offers(message.text)
        if not is_admin and (
            self.is_for_good(message.text) or (rules.here_admins and self.is_for_here(message.text))
        ):
            return False
        return clear or (self.is_requested_by(message) and not is_question(message.text))

    def may_decide(self, message: InboundMessage, *, is_admin: bool, rules: ApprovalRules) -> bool:
        """Check whether a message's author may decide."""
        origin = message.origin
        if is_group_itself(origin.sender, origin.chat, origin.chat_kind):
            return False
        is_requester = self.is_requested_by(message)
        return rules.may_decide(self.approvers(rules), is_requester=is_requester, is_admin=is_admin)

    def approvers(self, rules: ApprovalRules) -> Approvers:
        """Return the lists of people who may decide."""
        return rules.approvers(self.askers, self.topic)

    def is_requested_by(self, message: InboundMessage) -> bool:
        """Check whether a message's author requested the work, also when using the console through a sign-in
        link of another account on the platform.
        """
        sender, platform = message.origin.sender, message.origin.platform
        known = sender.id.removeprefix(f"{platform}:") if sender.account else sender.key
        return not {sender.key, known}.isdisjoint(one.key for one in self.askers)

    def is_for_here(self, text: str) -> bool:
        """Check whether a decision grants the tool for the conversation."""
        return self.remembered is not None and text.strip().casefold() == self.remembered.here.casefold()

    def is_for_good(self, text: str) -> bool:
        """Check whether a decision grants the tool on the whole account, which only admins may do."""
        return self.remembered is not None and text.strip().casefold() == self.remembered.always.casefold()

    def offers(self, text: str) -> bool:
        """Check whether a text is one of the offered answers."""
        return text.strip().casefold() in self.words


class DecisionWord(Enum):
    """The decision of `/approve` or `/reject`: once, for this conversation, on the whole account, or
    rejected.
    """

    ONCE = auto()
    HERE = auto()
    ALWAYS = auto()
    NO = auto()


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision by command; `days` is the duration of an approval for a conversation (0: the default)."""

    word: DecisionWord
    days: int = 0


class DecisionOutcome(Enum):
    """The outcome of `/approve` or `/reject`: decided, restricted to admins (for the account or a
    conversation), duration not offered, no approval, several approvals, or not permitted for the author.
    """

    DONE = auto()
    SENIOR = auto()
    HERE_ADMINS = auto()
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
    decisions = :decisions, remembered = :remembered, covers = :covers, asked_at = :now
    WHERE id = :conversation AND thread_id = :thread_id RETURNING id"""
)
# Record the turn of an interrupt on an abandoned thread, once.
MARK_ASKED_ELSEWHERE = sql(
    f"""UPDATE conversations SET asked_by = :turn WHERE id = :conversation AND question = '' AND NOT EXISTS
    (SELECT 1 FROM turns t WHERE t.conversation_id = :conversation AND t.answers = :question
    AND t.stopped = {Stopped.LEFT.value}) RETURNING id"""
)
# Read who asked for the work of the newest interrupt.
REQUESTERS = sql("SELECT askers, asked_by, question, covers FROM conversations WHERE id = :id")
# Check that a message contains the buttons of a turn's interrupt. The platform id of a new post may not be
# stored yet when its button is pressed; an older interrupt has its id. Buttons of commands are pairs.
FIND_BUTTON = sql(
    """SELECT 1 FROM parts WHERE turn_id = :turn AND choices LIKE '["%' AND (platform_id = :message_id
    OR (platform_id = '' AND NOT EXISTS (SELECT 1 FROM parts o JOIN turns t ON t.id = o.turn_id
    WHERE t.conversation_id = (SELECT a.conversation_id FROM turns a WHERE a.id = :turn)
    AND o.platform_id = :message_id)))"""
)
# List the open approvals of a chat that may have been posted as this message.
APPROVALS_OF_MESSAGE = sql(
    """SELECT c.question, c.askers, c.asked_by, c.decisions, c.remembered FROM conversations c
    JOIN parts p ON p.turn_id = c.asked_by
    WHERE c.account = :account AND c.chat = :chat AND c.question <> '' AND c.decisions <> ''
    AND p.choices LIKE '["%' AND (p.platform_id = :message_id OR p.platform_id = '')"""
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
SENDERS_OF = sql("SELECT sender FROM inbound WHERE id IN :ids ORDER BY id", "ids")
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
# Mark the turn of a closed interrupt as stopped by a person.
STOP_INTERRUPT = sql(
    "UPDATE turns SET stopped = :why, stopper = :stopper, stopper_name = :name WHERE id = :id"
)


def decode_approval(row: Any, connection: Connection | None = None) -> Approval | None:
    """Return a conversation's open approval (without a connection, its topic is missing), or None."""
    if not row.question or not row.decisions:
        return None
    askers, words = decode_senders(row.askers), decode_choices(row.decisions)
    address = connection and connection.execute(ADDRESS_OF, {"id": row.asked_by}).scalar_one_or_none()
    topic = decode_address(address).topic if address else ""
    return Approval(askers, words, decode_grant_offer(row.remembered), topic)


def open_interrupt(
    connection: Connection,
    turn: Turn,
    question: str,
    decisions: Sequence[str] | None = None,
    now: float = 0.0,
    remembered: GrantOffer | None = None,
    covers: str = "",
    joined: Sequence[int] = (),
) -> None:
    """Open an interrupt with this id, or discard it if the conversation has moved to another thread.

    `decisions` are the answers of an approval, None if anybody may answer; `covers` is the call that it
    allows. The requesters are the authors
    of the turn's messages; for a turn that answers an interrupt, the requesters of that one. Those of the
    messages that `joined` its run are included.
    """
    rows = connection.execute(SENDERS_OF, {"ids": joined}).all() if joined else ()
    own = turn.askers or tuple(message.sender for message in turn.messages)
    wrote = {sender.key: sender for sender in (*own, *(decode_sender(row.sender) for row in rows))}
    people = tuple(wrote.values())
    values = {
        "question": question,
        "turn": turn.id,
        "askers": encode_senders(people),
        "now": now,
        "remembered": encode_grant_offer(remembered),
        "covers": covers,
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
    """Close approvals opened before a time, and open turns that continue their runs without approval.

    Returns the ids of their conversations.
    """
    found = connection.execute(APPROVALS_BEFORE, {"before": before}).all()
    for row in found:
        _go_on(connection, row, now)
    return [row.id for row in found]


def stop_interrupt(connection: Connection, conversation: int, actor: Actor | None, now: float) -> int:
    """Close a conversation's open question or approval, so that no later message answers it.

    Return the new turn that shows who stopped it, or 0 if nothing was open.
    """
    row = connection.execute(INTERRUPT_OF, {"id": conversation}).first()
    if row is None:
        return 0
    turn = _go_on(connection, row, now)
    by = {"stopper": actor.person if actor else "", "name": actor.name if actor else ""}
    connection.execute(STOP_INTERRUPT, {"id": turn, "why": Stopped.ASKED.value, **by})
    if actor is not None and row.decisions:
        record_event(connection, actor, AuditEvent("approval", f"turn {row.asked_by}", "stopped"), now)
    return turn


def abandon_interrupt(
    connection: Connection, conversation: int, thread_id: str, actor: Actor | None, now: float
) -> None:
    """Switch a conversation to another thread. An open interrupt of the old thread gets a turn that shows it
    as abandoned; an abandoned approval is also recorded in the audit log.
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


def abandon_question(connection: Connection, conversation: int, now: float) -> None:
    """Close a conversation's open question without changing threads; the next run continues without an
    answer. The question gets a turn that shows it as abandoned.
    """
    row = connection.execute(INTERRUPT_OF, {"id": conversation}).first()
    connection.execute(CLOSE_INTERRUPT, {"id": conversation})
    if row is not None:
        connection.execute(STOP_TURN, {"id": _go_on(connection, row, now), "why": Stopped.LEFT.value})


def _go_on(connection: Connection, row: Any, now: float) -> int:
    address = decode_address(connection.execute(ADDRESS_OF, {"id": row.asked_by}).scalar_one())
    turn = open_turn(connection, row.id, TurnKind.CHAT, address, row.platform, row.thread_id, now, size=0)
    connection.execute(SET_ANSWERS, {"answers": row.question, "id": turn})
    connection.execute(CLOSE_INTERRUPT, {"id": row.id})
    return turn


def origin_of(connection: Connection, conversation: int) -> tuple[tuple[Sender, ...], int, str]:
    """Return the requesters of a conversation's newest interrupt, the turn that opened it (0 while it is
    open, since another one was answered then), and the call that it covers ("" for none).
    """
    row = connection.execute(REQUESTERS, {"id": conversation}).one()
    return decode_senders(row.askers), 0 if row.question else row.asked_by, row.covers


def is_button_of(connection: Connection, turn: int, message: InboundMessage) -> bool:
    """Check whether a clicked button belongs to the interrupt opened by a turn."""
    values = {"turn": turn, "message_id": message.origin.reply_to}
    return connection.execute(FIND_BUTTON, values).first() is not None


def is_readable(connection: Connection, turn: int) -> bool:
    """Check whether people may have read the interrupt opened by a turn."""
    return connection.execute(IS_INTERRUPT_READABLE, {"id": turn}).first() is not None


def find_refusal(
    connection: Connection, message: InboundMessage, *, is_admin: bool, rules: ApprovalRules
) -> str:
    """Return the text key of the refusal if a button belongs to an approval in this chat that the message's
    author may not decide, otherwise "".
    """
    origin = message.origin
    values = {"account": origin.account, "chat": origin.chat, "message_id": origin.reply_to}
    open_ones = connection.execute(APPROVALS_OF_MESSAGE, values).all()
    found = [approval for row in open_ones if (approval := decode_approval(row, connection)) is not None]
    if not found or any(one.decided_by(message, is_admin=is_admin, rules=rules) for one in found):
        return ""
    return refusal_of(found[0].approvers(rules))


def decide_approval(
    connection: Connection,
    command: Turn,
    number: int,
    now: float,
    given: Decision,
    *,
    is_admin: bool,
    rules: ApprovalRules,
) -> tuple[DecisionOutcome, int]:
    """Decide an approval by command: that of turn `number` in this chat, or the only one (0). The command's
    turn becomes the decision. Return the outcome and the conversation's id.
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
    approval, words = decode_approval(row, connection), decode_choices(row.decisions)
    if approval is None or is_group_itself(message.sender, command.address.chat, command.address.chat_kind):
        return DecisionOutcome.FOREIGN, 0
    is_requester = message.sender.key in {one.key for one in approval.askers}
    if not rules.may_decide(approval.approvers(rules), is_requester=is_requester, is_admin=is_admin):
        return DecisionOutcome.FOREIGN, 0
    refusal = _refuse_word(given.word, approval, is_admin=is_admin, rules=rules)
    if refusal is not None:
        return refusal, 0
    kept = approval.remembered
    word = _word(given.word, words, kept)
    connection.execute(SET_INBOUND_TEXT, {"text": word, "at": now, "id": message.id})
    address = connection.execute(ADDRESS_OF, {"id": row.asked_by}).scalar_one()
    turned = {"conversation": row.id, "thread_id": row.thread_id, "address": address, "answers": row.question}
    connection.execute(MAKE_DECISION, {**turned, "id": command.id})
    connection.execute(CLOSE_INTERRUPT, {"id": row.id})
    actor = author_of(command)
    record_event(connection, actor, AuditEvent("approval", f"turn {row.asked_by}", word), now)
    own = rules.may_decide_own(message.sender, approval.topic, is_admin=is_admin)
    where = int(row.id), actor, now
    record_tool_grant(connection, kept, word, *where, rules, given.days, may_decide_own=own)
    return DecisionOutcome.DONE, int(row.id)


def is_group_itself(sender: Sender, chat: str, kind: ChatKind) -> bool:
    """Check whether a sender wrote on behalf of the group, under its id."""
    return kind is ChatKind.GROUP and sender.id == chat


def is_from_nobody_asked(sender: Sender, askers: Collection[str], chat: str, kind: ChatKind) -> bool:
    """Check whether a sender wrote on behalf of the group while specific people (`askers`, by key) were
    asked.
    """
    return is_group_itself(sender, chat, kind) and sender.key not in askers


def _refuse_word(
    word: DecisionWord, approval: Approval, *, is_admin: bool, rules: ApprovalRules
) -> DecisionOutcome | None:
    """Return why a decision is not possible, or None if it is."""
    if word is DecisionWord.ALWAYS and not is_admin:
        return DecisionOutcome.SENIOR
    if word is DecisionWord.HERE and rules.here_admins and not is_admin:
        return DecisionOutcome.HERE_ADMINS
    if approval.remembered is None and word in (DecisionWord.HERE, DecisionWord.ALWAYS):
        return DecisionOutcome.ONCE
    return None


def _word(given: DecisionWord, words: Sequence[str], kept: GrantOffer | None) -> str:
    """Return the approval's own word for a decision."""
    if kept is not None and given in (DecisionWord.HERE, DecisionWord.ALWAYS):
        return kept.here if given is DecisionWord.HERE else kept.always
    yes, no = (words[0], words[-1]) if len(words) > 1 else WORDS
    return no if given is DecisionWord.NO else yes
