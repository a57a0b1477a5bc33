"""The accept transaction: deduplicate, derive conversation and reply address once, store.

What comes out of it is on disk; only then may a platform be told "received".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from bot.domain import (
    ChatKind,
    ConversationKey,
    InboundChange,
    InboundMessage,
    IsolationPolicy,
    Part,
    PartKind,
    ReplyAddress,
    TurnKind,
    TurnState,
)
from bot.store import changes, questions, rows
from bot.store import statements as sql
from bot.store.connection import Connection
from bot.store.questions import Approval

ONCE_A_DAY = 24 * 3600.0


class Verdict(StrEnum):
    """What admission decided for a message, before anything is stored."""

    CHAT = "chat"
    COMMAND = "command"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class Admission:
    """A message and what is to happen with it.

    `notice` is the text of a refusal (verdict NOTICE); `once` names a notice that a person gets at most
    once a day; `thread_id` is the id that a new thread would get; `rotate` says that a new thread begins here
    (`/new`). `hold` keeps the turn open for further parts of an album (seconds). `stale_notice` answers a
    click on a question that is no longer open. `senior` says that its author may decide approvals of others'
    work; one who may not is told `foreign_notice` for a click, `waits_notice` for a message.
    """

    message: InboundMessage
    verdict: Verdict
    policy: IsolationPolicy
    thread_id: str
    notice: str = ""
    full_notice: str = ""
    stale_notice: str = ""
    foreign_notice: str = ""
    waits_notice: str = ""
    senior: bool = False
    once: str = ""
    model: str = ""
    rotate: bool = False
    hold: float = 0.0


@dataclass(frozen=True, slots=True)
class Accepted:
    """A turn that has something to do, for the dispatcher. `refused` tells a notice from an answer."""

    turn: int
    conversation: int
    kind: TurnKind
    address: ReplyAddress
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """A click that is not its author's to make: nothing is stored. `text` is for them alone."""

    event_id: str
    text: str


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a message landed; `model` is the account's, which holds where the conversation chooses none."""

    conversation: int
    thread_id: str
    model: str
    address: ReplyAddress
    question: str = ""
    asked_by: int = 0
    approval: Approval | None = None


def accept(
    connection: Connection,
    account: str,
    admitted: Sequence[Admission | InboundChange],
    cursor: str,
    now: float,
    queue_limit: int,
) -> list[Accepted | Refusal]:
    """Store a batch in its order and the receive cursor ("" leaves it); duplicates are dropped."""
    taken: list[Accepted | Refusal] = []
    for one in admitted:
        if isinstance(one, InboundChange):
            changes.change(connection, one, now)
        elif one.message.clicked and questions.is_foreign(connection, one.message, senior=one.senior):
            taken.append(Refusal(one.message.event_id, one.foreign_notice))
        else:
            taken += _accept_one(connection, one, now, queue_limit)
    if cursor:
        connection.execute(sql.SAVE_CURSOR, {"account": account, "cursor": cursor})
    return taken


def _accept_one(connection: Connection, admission: Admission, now: float, queue_limit: int) -> list[Accepted]:
    if admission.once and not _may_tell(connection, admission, admission.once, now):
        return []
    inbound = _store(connection, admission.message, now)
    if inbound is None:
        return []
    place = _place(connection, admission, now)
    waits = False
    if admission.verdict is Verdict.CHAT and admission.message.clicked:
        turn, refused = _click(connection, admission, place, now, queue_limit)
    elif admission.verdict is Verdict.CHAT and _decides(connection, admission, place):
        turn, refused = _decide(connection, admission, place, now), False
    elif admission.verdict is Verdict.CHAT:
        turn, refused = _queue(connection, admission, place, now, queue_limit)
        waits = not refused and place.approval is not None
    elif admission.verdict is Verdict.COMMAND:
        turn, refused = _add_turn(connection, admission, place, TurnKind.COMMAND, now), False
    else:
        turn, refused = _notice(connection, admission, place, admission.notice, now), True
    connection.execute(sql.SET_INBOUND_TURN, {"turn": turn, "id": inbound})
    kind = TurnKind.NOTICE if refused else TurnKind(admission.verdict.value)
    taken = [Accepted(turn, place.conversation, kind, place.address, refused)]
    return [*taken, *_told_to_wait(connection, admission, place, now)] if waits else taken


def _store(connection: Connection, message: InboundMessage, now: float) -> int | None:
    stored: int | None = connection.execute(
        sql.ADD_INBOUND,
        {
            "account": message.origin.account,
            "event_id": message.event_id,
            # The message of a click is the bot's own: what becomes of it does not concern the answer.
            "message_id": "" if message.clicked else message.origin.message_id,
            "sender": rows.sender_out(message.origin.sender),
            "text": message.text,
            "attachments": rows.attachments_out(message.attachments),
            "group_key": message.group_key,
            "sent_at": message.sent_at,
            "now": now,
        },
    ).scalar_one_or_none()
    return stored


def _may_tell(connection: Connection, admission: Admission, kind: str, now: float) -> bool:
    """Whether a once-a-day notice of this kind is due; marks it as told."""
    origin = admission.message.origin
    told = connection.execute(
        sql.TELL_ONCE,
        {
            "account": origin.account,
            "person": origin.sender.id,
            "kind": kind,
            "now": now,
            "before": now - ONCE_A_DAY,
        },
    )
    return told.first() is not None


def _place(connection: Connection, admission: Admission, now: float) -> _Place:
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
            "title": _title(admission),
            "now": now,
        },
    ).one()
    thread_id = row.thread_id
    if admission.rotate:
        thread_id = admission.thread_id
        connection.execute(sql.ROTATE_THREAD, {"thread_id": thread_id, "id": row.id})
    if origin.chat_kind is ChatKind.GROUP and not origin.topic:
        _remember(connection, admission.message, row.id, now)
    address = ReplyAddress(
        account=origin.account,
        chat=origin.chat,
        chat_kind=origin.chat_kind,
        topic=origin.topic,
        reply_to=origin.message_id if origin.chat_kind is ChatKind.GROUP else "",
    )
    approval = questions.approval_in(row)
    return _Place(row.id, thread_id, admission.model, address, row.question, row.asked_by, approval)


def _click(
    connection: Connection, admission: Admission, place: _Place, now: float, queue_limit: int
) -> tuple[int, bool]:
    """A click answers the question that is open now, once; any other click is told that it is stale."""
    message, approval = admission.message, place.approval
    allowed = approval is None or approval.decided_by(message, senior=admission.senior)
    if not place.question or not allowed or not questions.pressed(connection, place.asked_by, message):
        return _notice(connection, admission, place, admission.stale_notice, now), True
    if approval is not None:
        return _decide(connection, admission, place, now), False
    turn, refused = _queue(connection, admission, place, now, queue_limit)
    if not refused:
        connection.execute(sql.SET_ANSWERS, {"answers": place.question, "id": turn})
        connection.execute(sql.CLOSE_QUESTION, {"id": place.conversation})
    return turn, refused


def _decides(connection: Connection, admission: Admission, place: _Place) -> bool:
    """Whether a message is the word that an open approval waits for. While the question is still on its way
    only an answer that it offers is: other words may be about something else.
    """
    approval = place.approval
    if approval is None or not approval.decided_by(admission.message, senior=admission.senior):
        return False
    return approval.offers(admission.message.text) or questions.stands(connection, place.asked_by)


def _decide(connection: Connection, admission: Admission, place: _Place, now: float) -> int:
    """A decision is a turn of its own, however many messages wait for it; the question is closed with it."""
    turn = _add_turn(connection, admission, place, TurnKind.CHAT, now)
    connection.execute(sql.SET_ANSWERS, {"answers": place.question, "id": turn})
    connection.execute(sql.CLOSE_QUESTION, {"id": place.conversation})
    return turn


def _told_to_wait(connection: Connection, admission: Admission, place: _Place, now: float) -> list[Accepted]:
    """A message waits for a decision, and its author hears so once a day."""
    if not _may_tell(connection, admission, "approval", now):
        return []
    turn = _notice(connection, admission, place, admission.waits_notice, now)
    return [Accepted(turn, place.conversation, TurnKind.NOTICE, place.address, refused=True)]


def _key(connection: Connection, admission: Admission) -> ConversationKey:
    """The conversation of a message.

    In a group without topics a reply belongs to the conversation of the message it answers; a mention opens a
    reply chain of its own; a command that answers nothing means the chat's latest conversation.
    """
    origin = admission.message.origin
    policy = admission.policy
    plain_group = origin.chat_kind is ChatKind.GROUP and not origin.topic
    if not plain_group or not policy.key(origin, chain="chain").topic:
        return policy.key(origin)
    chain = origin.reply_to or origin.message_id
    if origin.reply_to:
        known = connection.execute(
            sql.FIND_KNOWN, {"account": origin.account, "chat": origin.chat, "message_id": origin.reply_to}
        ).first()
        chain = known.topic if known is not None else chain
    elif admission.verdict is not Verdict.CHAT:
        latest = connection.execute(
            sql.LATEST_IN_CHAT, {"account": origin.account, "chat": origin.chat}
        ).first()
        chain = latest.topic if latest is not None else chain
    return policy.key(origin, chain)


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


def _queue(
    connection: Connection, admission: Admission, place: _Place, now: float, queue_limit: int
) -> tuple[int, bool]:
    """Join the turn that waits, or open one; what does not fit is refused."""
    queued = connection.execute(sql.QUEUED, {"conversation": place.conversation}).scalar_one()
    if queued >= queue_limit:
        return _notice(connection, admission, place, admission.full_notice, now), True
    joined = connection.execute(
        sql.JOIN_TURN,
        {
            "conversation": place.conversation,
            "thread_id": place.thread_id,
            "ready_at": now + admission.hold if admission.hold else 0.0,
            "address": rows.address_out(place.address),
            "limit": queue_limit,
        },
    ).scalar_one_or_none()
    if joined is not None:
        return joined, False
    return _add_turn(connection, admission, place, TurnKind.CHAT, now), False


def _add_turn(
    connection: Connection,
    admission: Admission,
    place: _Place,
    kind: TurnKind,
    now: float,
    state: TurnState = TurnState.ACCEPTED,
) -> int:
    return int(
        connection.execute(
            sql.ADD_TURN,
            {
                "conversation": place.conversation,
                "kind": kind.value,
                "state": state.value,
                "address": rows.address_out(place.address),
                "platform": admission.message.origin.platform,
                "thread_id": place.thread_id,
                "model": place.model,
                "repeats": 0,
                "checkpoint": "",
                "size": 1,
                "ready_at": now + admission.hold if admission.hold else 0.0,
                "now": now,
            },
        ).scalar_one()
    )


def _notice(connection: Connection, admission: Admission, place: _Place, text: str, now: float) -> int:
    """A refusal is a turn whose answer is known at once, so that it is delivered like any other."""
    turn = _add_turn(connection, admission, place, TurnKind.NOTICE, now, TurnState.DELIVERING)
    save_part(connection, turn, Part(0, PartKind.TEXT, text), now)
    return turn


def save_part(connection: Connection, turn: int, part: Part, now: float, category: str = "") -> None:
    """Write a part as it is now."""
    connection.execute(
        sql.SAVE_PART,
        {
            "turn": turn,
            "position": part.index,
            "kind": part.kind.value,
            "state": part.state.value,
            "content": part.content,
            "filename": part.filename,
            "platform_id": part.platform_id,
            "repeated": int(part.repeated),
            "category": category,
            "choices": rows.choices_out(part.choices),
            "now": now,
        },
    )


def migrate_chat(connection: Connection, account: str, old: str, new: str) -> None:
    """Give every conversation of a chat its new id, and every open turn its new address."""
    for row in connection.execute(sql.OPEN_ADDRESSES, {"account": account, "chat": old}).all():
        address = replace(rows.address_in(row.address), chat=new, reply_to="")
        connection.execute(sql.SET_ADDRESS, {"address": rows.address_out(address), "id": row.id})
    for statement in sql.MOVE_CHAT:
        connection.execute(statement, {"account": account, "old": old, "new": new})


def _title(admission: Admission) -> str:
    """A conversation is called after its first message until it has a title."""
    if admission.verdict is not Verdict.CHAT:
        return ""
    first = " ".join(admission.message.text.split())
    return first if len(first) <= 60 else first[:59] + "…"
