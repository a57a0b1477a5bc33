"""Message routing: the conversation and the reply address of a message.

In a plain group, one conversation for all would mix up their questions, and one per person would split their
common work. So with `isolation: topic` a mention starts a conversation, and a reply continues that of the
message that it replies to, whoever wrote that. A command that is no reply applies to the latest
conversation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from bot.domain import ChatKind, ConversationKey, InboundMessage, Origin, ReplyAddress, person_of
from bot.store.admission_types import Admission, Verdict
from bot.store.audit import actor_of
from bot.store.connection import Connection, decode_senders, sql
from bot.store.conversations import find_thread, take_conversation
from bot.store.interrupts import Approval, abandon_interrupt, decode_approval
from bot.store.quotations import first_words
from bot.store.turns import REMEMBER_MESSAGE
from bot.turn import INCIDENT_TOPIC, SCHEDULED_TOPIC

SERVICE_TOPICS = (SCHEDULED_TOPIC, INCIDENT_TOPIC)
"""Prefixes of topics that no platform has: replies to a message in one continue its conversation."""


@dataclass(frozen=True, slots=True)
class ConversationRoute:
    """The conversation of a message. `model` is the account's model, used if the conversation has none;
    `askers` are the keys of the people asked by the newest interrupt.
    """

    conversation: int
    thread_id: str
    model: str
    address: ReplyAddress
    question: str = ""
    asked_by: int = 0
    approval: Approval | None = None
    busy: str = ""
    askers: tuple[str, ...] = ()

    @property
    def unasked_group(self) -> str:
        """Return the group's own key while a question to specific people is open, otherwise ""."""
        is_group = self.address.chat_kind is ChatKind.GROUP and self.address.chat not in self.askers
        return self.address.chat if self.question and self.approval is None and is_group else ""

    def find_waiting_reason(self, message: InboundMessage) -> str:
        """Return the text key for the reason why a message must wait, or "" if it need not."""
        if self.approval is not None:
            return "approval_waits"
        if message.origin.sender.key == self.unasked_group:
            return "group_waits"
        return "quotation_waits" if self.question and message.says_nothing else ""


# Lock a conversation's row until the end of the transaction, so that simultaneous clicks are serialized.
LOCK_CONVERSATION_AT = sql(
    """UPDATE conversations SET active_at = active_at WHERE account = :account AND chat = :chat
    AND topic = :topic AND member = :member RETURNING id, question, asked_by, askers, decisions, remembered"""
)
# Find the conversation of a message that was posted or received in a group.
FIND_CONVERSATION_OF_MESSAGE = sql(
    """SELECT c.id, c.topic, c.member FROM known_messages k JOIN conversations c ON c.id = k.conversation_id
    WHERE k.account = :account AND k.chat = :chat AND k.message_id = :message_id"""
)
# Find the conversation with the open interrupt that was posted as this message.
FIND_CONVERSATION_OF_BUTTON = sql(
    """SELECT c.topic, c.member FROM conversations c JOIN parts p ON p.turn_id = c.asked_by
    WHERE c.account = :account AND c.chat = :chat AND c.question <> '' AND p.choices LIKE '["%'
    AND p.platform_id = :message_id"""
)
CONVERSATION_OF_TURN = sql(
    """SELECT c.topic, c.member FROM turns t JOIN conversations c ON c.id = t.conversation_id
    WHERE t.id = :turn"""
)
# Find the most recently active conversation of a chat.
LATEST_CONVERSATION = sql(
    """SELECT id, topic, member FROM conversations WHERE account = :account AND chat = :chat
    ORDER BY active_at DESC LIMIT 1"""
)


def route_message(connection: Connection, admission: Admission, now: float) -> ConversationRoute:
    """Find a message's conversation, creating it if needed."""
    origin = admission.message.origin
    key = _key(connection, admission)
    at = origin.platform, origin.chat_kind, admission.thread_id
    row = take_conversation(connection, key, *at, _owner(origin), _title(admission), now)
    thread_id = row.thread_id
    wanted = (
        admission.thread_id if admission.new_thread else find_thread(connection, row.id, admission.resume)
    )
    if wanted and wanted != thread_id:
        thread_id = wanted
        abandon_interrupt(connection, row.id, thread_id, actor_of(origin, ""), now)
    if origin.chat_kind is ChatKind.GROUP and not origin.topic:
        _remember(connection, admission.message, row.id, now)
    address = ReplyAddress(
        account=origin.account,
        chat=origin.chat,
        chat_kind=origin.chat_kind,
        topic=origin.topic,
        reply_to=origin.message_id if origin.chat_kind is ChatKind.GROUP else "",
    )
    approval = decode_approval(row, connection)
    askers = tuple(one.key for one in decode_senders(row.askers))
    return ConversationRoute(
        row.id, thread_id, admission.model, address, row.question, row.asked_by, approval, row.busy, askers
    )


def adopt_topic_command(connection: Connection, admission: Admission) -> Admission:
    """Return the admission as a command if its message is one in its conversation (see `TopicWords`)."""
    prefix, command = admission.topic_command
    key = _own(connection, admission.message) if prefix else None
    number = key.topic.removeprefix(prefix) if key is not None and key.topic.startswith(prefix) else ""
    if not number.isdecimal():
        return admission
    message = replace(admission.message, text=command.format(number=number))
    return replace(admission, message=message, verdict=Verdict.COMMAND, resume=0)


def hold_conversation(connection: Connection, admission: Admission) -> Any:
    """Lock and return a click's conversation row until the end of the transaction, or None if it does not
    exist.
    """
    key = _key(connection, admission)
    given = {"account": key.account, "chat": key.chat, "topic": key.topic, "member": key.member}
    return connection.execute(LOCK_CONVERSATION_AT, given).first()


def _owner(origin: Origin) -> str:
    """Return the owner of a private chat, or "" for a group."""
    return person_of(origin.platform, origin.sender) if origin.chat_kind is ChatKind.PRIVATE else ""


def _key(connection: Connection, admission: Admission) -> ConversationKey:
    """Return the key of a message's conversation.

    In a group without topics a reply belongs to the conversation of the message it answers; a mention opens a
    new reply chain; a command that is not a reply refers to the chat's latest conversation. A button, or a
    reply to the result of a schedule, belongs to its conversation regardless of where it is.
    """
    origin = admission.message.origin
    policy = admission.policy
    if own := _own(connection, admission.message):
        return own
    if origin.chat_kind is not ChatKind.GROUP or not policy.conversation_key(origin, chain="chain").topic:
        return policy.conversation_key(origin)
    if origin.topic:
        # Some platforms name a thread after the message that started it. If that message is the bot's, the
        # thread continues its conversation.
        known = _known(connection, origin, origin.topic)
        return (
            replace(policy.conversation_key(origin), topic=known.topic)
            if known
            else policy.conversation_key(origin)
        )
    chain = origin.reply_to or origin.message_id
    if origin.reply_to:
        known = _known(connection, origin, origin.reply_to)
        chain = known.topic if known is not None else chain
    elif admission.verdict is not Verdict.CHAT:
        latest = connection.execute(
            LATEST_CONVERSATION, {"account": origin.account, "chat": origin.chat}
        ).first()
        chain = latest.topic if latest is not None else chain
    return policy.conversation_key(origin, chain)


def _own(connection: Connection, message: InboundMessage) -> ConversationKey | None:
    origin = message.origin
    if message.pressed is not None:
        row = connection.execute(CONVERSATION_OF_TURN, {"turn": message.pressed.turn}).first()
        return ConversationKey(origin.account, origin.chat, row.topic, row.member) if row else None
    if message.clicked:
        given = {"account": origin.account, "chat": origin.chat, "message_id": origin.reply_to}
        row = connection.execute(FIND_CONVERSATION_OF_BUTTON, given).first()
        return ConversationKey(origin.account, origin.chat, row.topic, row.member) if row else None
    below = origin.topic or origin.reply_to
    known = _known(connection, origin, below) if below and origin.chat_kind is ChatKind.GROUP else None
    if known is None or not known.topic.startswith(SERVICE_TOPICS):
        return None
    return ConversationKey(origin.account, origin.chat, known.topic, known.member)


def _known(connection: Connection, origin: Origin, message_id: str) -> Any:
    given = {"account": origin.account, "chat": origin.chat, "message_id": message_id}
    return connection.execute(FIND_CONVERSATION_OF_MESSAGE, given).first()


def _remember(connection: Connection, message: InboundMessage, conversation: int, now: float) -> None:
    origin = message.origin
    connection.execute(
        REMEMBER_MESSAGE,
        {
            "account": origin.account,
            "chat": origin.chat,
            "message_id": origin.message_id,
            "conversation": conversation,
            "now": now,
        },
    )


def _title(admission: Admission) -> str:
    """Return the first words of a message as a conversation title, or "" for a command."""
    message = admission.message
    return first_words(message.text, message.quotations) if admission.verdict is Verdict.CHAT else ""
