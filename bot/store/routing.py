"""Which conversation a message belongs to, and where its answer goes: derived here, once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from bot.domain import ChatKind, ConversationKey, InboundMessage, Origin, ReplyAddress, person_of
from bot.store import statements as sql
from bot.store.admission_types import Admission, Verdict
from bot.store.audit import actor_of
from bot.store.connection import Connection
from bot.store.conversations import find_thread
from bot.store.interrupts import Approval, abandon_interrupt, approval_in
from bot.store.schedules import SCHEDULED


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message landed; `model` is the account's, which holds where the conversation chooses none."""

    conversation: int
    thread_id: str
    model: str
    address: ReplyAddress
    question: str = ""
    asked_by: int = 0
    approval: Approval | None = None
    busy: str = ""


def route_message(connection: Connection, admission: Admission, now: float) -> Place:
    """The conversation of a message, made if need be, and where it is answered."""
    origin = admission.message.origin
    key = _key(connection, admission)
    row = connection.execute(
        sql.TAKE_CONVERSATION,
        {
            "account": key.account,
            "chat": key.chat,
            "topic": key.topic,
            "member": key.member,
            "platform": origin.platform,
            "chat_kind": origin.chat_kind.value,
            "thread_id": admission.thread_id,
            "owner": _owner(origin),
            "title": _title(admission),
            "now": now,
        },
    ).one()
    thread_id = row.thread_id
    wanted = admission.thread_id if admission.rotate else find_thread(connection, row.id, admission.resume)
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
    approval = approval_in(row)
    return Place(row.id, thread_id, admission.model, address, row.question, row.asked_by, approval, row.busy)


def hold_conversation(connection: Connection, admission: Admission) -> Any:
    """The row of the conversation that a click belongs to, which nothing else changes until the end of the
    transaction; None for none.
    """
    key = _key(connection, admission)
    given = {"account": key.account, "chat": key.chat, "topic": key.topic, "member": key.member}
    return connection.execute(sql.HOLD_AT, given).first()


def _owner(origin: Origin) -> str:
    """Whose conversation it is; a group's is nobody's."""
    return person_of(origin.platform, origin.sender) if origin.chat_kind is ChatKind.PRIVATE else ""


def _key(connection: Connection, admission: Admission) -> ConversationKey:
    """The conversation of a message.

    In a group without topics a reply belongs to the conversation of the message it answers; a mention opens a
    reply chain of its own; a command that answers nothing means the chat's latest conversation. A button, and
    what answers the result of a schedule, belong to its conversation wherever that is.
    """
    origin = admission.message.origin
    policy = admission.policy
    if own := _own(connection, admission.message):
        return own
    if origin.chat_kind is not ChatKind.GROUP or not policy.key(origin, chain="chain").topic:
        return policy.key(origin)
    if origin.topic:
        # A thread below a message of ours is named after it on Slack and Discord, and goes on with what that
        # message was part of.
        known = _known(connection, origin, origin.topic)
        return replace(policy.key(origin), topic=known.topic) if known else policy.key(origin)
    chain = origin.reply_to or origin.message_id
    if origin.reply_to:
        known = _known(connection, origin, origin.reply_to)
        chain = known.topic if known is not None else chain
    elif admission.verdict is not Verdict.CHAT:
        latest = connection.execute(
            sql.LATEST_IN_CHAT, {"account": origin.account, "chat": origin.chat}
        ).first()
        chain = latest.topic if latest is not None else chain
    return policy.key(origin, chain)


def _own(connection: Connection, message: InboundMessage) -> ConversationKey | None:
    origin = message.origin
    if message.clicked:
        given = {"account": origin.account, "chat": origin.chat, "message_id": origin.reply_to}
        row = connection.execute(sql.ASKED_BY_MESSAGE, given).first()
        return ConversationKey(origin.account, origin.chat, row.topic, row.member) if row else None
    below = origin.topic or origin.reply_to
    known = _known(connection, origin, below) if below and origin.chat_kind is ChatKind.GROUP else None
    if known is None or not known.topic.startswith(SCHEDULED):
        return None
    return ConversationKey(origin.account, origin.chat, known.topic, known.member)


def _known(connection: Connection, origin: Origin, message_id: str) -> Any:
    given = {"account": origin.account, "chat": origin.chat, "message_id": message_id}
    return connection.execute(sql.FIND_KNOWN, given).first()


def _remember(connection: Connection, message: InboundMessage, conversation: int, now: float) -> None:
    origin = message.origin
    connection.execute(
        sql.REMEMBER,
        {
            "account": origin.account,
            "chat": origin.chat,
            "message_id": origin.message_id,
            "conversation": conversation,
            "now": now,
        },
    )


def _title(admission: Admission) -> str:
    """A conversation is called after its first message until it has a title."""
    if admission.verdict is not Verdict.CHAT:
        return ""
    first = " ".join(admission.message.text.split())
    return first if len(first) <= 60 else first[:59] + "…"
