"""The accept transaction: deduplicate, derive conversation and reply address once, store.

What comes out of it is on disk; only then may a platform be told "received".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from bot.domain import (
    Busy,
    ChatKind,
    ConversationKey,
    InboundChange,
    InboundMessage,
    IsolationPolicy,
    ReplyAddress,
    Stopped,
    TurnKind,
)
from bot.store import audit, changes, people, questions, rows
from bot.store import statements as sql
from bot.store.connection import Connection
from bot.store.opening import open_notice, open_turn
from bot.store.people import Knock, Pairing
from bot.store.questions import Approval
from bot.store.threads import thread_at

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
    once a day; `pairing` is the code that it tells a stranger, who hears `crowded_notice` where too many have
    one. `thread_id` is the id that a new thread would get; `rotate` says that a new thread begins here
    (`/new`), `resume` that the thread with this number goes on (`/resume`). `hold` keeps the turn open for
    further parts of an album (seconds). `stale_notice` answers a click on a question that is no longer open.
    `busy` is what the account does while a run is on, `busy_notice` what is said where it refuses then.
    `senior` says that its author may decide approvals of others' work; one who may not is told
    `foreign_notice` for a click, `waits_notice` for a message.
    """

    message: InboundMessage
    verdict: Verdict
    policy: IsolationPolicy
    thread_id: str
    notice: str = ""
    busy: Busy = Busy.QUEUE
    busy_notice: str = ""
    full_notice: str = ""
    stale_notice: str = ""
    foreign_notice: str = ""
    waits_notice: str = ""
    senior: bool = False
    once: str = ""
    pairing: Pairing | None = None
    crowded_notice: str = ""
    model: str = ""
    rotate: bool = False
    resume: int = 0
    hold: float = 0.0


@dataclass(frozen=True, slots=True)
class Accepted:
    """A turn that has something to do, for the dispatcher. `refused` tells a notice from an answer;
    `interrupts` says that the conversation's run is to end for it.
    """

    turn: int
    conversation: int
    kind: TurnKind
    address: ReplyAddress
    refused: bool = False
    interrupts: bool = False


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
    busy: str = ""


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
    told = _told(connection, admission, now)
    inbound = None if told is None else _store(connection, told.message, now)
    if told is None or inbound is None:
        return []
    place = _place(connection, told, now)
    opened = _open(connection, told, place, now, queue_limit)
    turn, refused = opened.turn, opened.refused
    connection.execute(sql.SET_INBOUND_TURN, {"turn": turn, "id": inbound})
    if told.pairing:
        people.answer_to(connection, told.pairing.code, place.conversation, place.address)
    kind = TurnKind.NOTICE if refused else TurnKind(told.verdict.value)
    taken = [Accepted(turn, place.conversation, kind, place.address, refused, opened.interrupts)]
    return [*taken, *_told_to_wait(connection, told, place, now)] if opened.waits else taken


def _told(connection: Connection, admission: Admission, now: float) -> Admission | None:
    """The message with what is said to it; None for a stranger's to which everything was said."""
    if admission.once:
        return admission if _may_tell(connection, admission, admission.once, now) else None
    if admission.pairing is None:
        return admission
    origin = admission.message.origin
    event = {"account": origin.account, "event_id": admission.message.event_id}
    if connection.execute(sql.KNOWN_EVENT, event).first():
        return None
    knocked = people.knock(connection, admission.pairing, origin, now)
    if knocked is Knock.NEW:
        return admission
    if knocked is Knock.KNOWN or not _may_tell(connection, admission, "crowded", now):
        return None
    return replace(admission, pairing=None, notice=admission.crowded_notice)


@dataclass(frozen=True, slots=True)
class _Opened:
    """The turn that a message is part of: whether it was refused, waits for a decision, or ends a run."""

    turn: int
    refused: bool = False
    waits: bool = False
    interrupts: bool = False


def _open(
    connection: Connection, admission: Admission, place: _Place, now: float, queue_limit: int
) -> _Opened:
    if admission.verdict is Verdict.COMMAND:
        return _Opened(_add_turn(connection, admission, place, TurnKind.COMMAND, now))
    if admission.verdict is Verdict.NOTICE:
        return _Opened(_notice(connection, admission, place, admission.notice, now), refused=True)
    if admission.message.clicked:
        return _Opened(*_click(connection, admission, place, now, queue_limit))
    if _decides(connection, admission, place):
        return _Opened(_decide(connection, admission, place, now))
    busy = Busy(place.busy) if place.busy else admission.busy
    here = {"conversation": place.conversation}
    if busy is Busy.REJECT and connection.execute(sql.IS_RUNNING, here).first():
        return _Opened(_notice(connection, admission, place, admission.busy_notice, now), refused=True)
    turn, refused = _queue(connection, admission, place, now, queue_limit)
    ended = None
    if busy is Busy.INTERRUPT and not refused:
        ended = connection.execute(sql.STOP_RUNNING, {**here, "why": Stopped.INTERRUPTED.value}).first()
    waits = not refused and place.approval is not None
    return _Opened(turn, refused, waits, interrupts=ended is not None)


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
    wanted = admission.thread_id if admission.rotate else thread_at(connection, row.id, admission.resume)
    if wanted and wanted != thread_id:
        thread_id = wanted
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
    return _Place(row.id, thread_id, admission.model, address, row.question, row.asked_by, approval, row.busy)


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
    origin = admission.message.origin
    turn = _add_turn(connection, admission, place, TurnKind.CHAT, now)
    connection.execute(sql.SET_ANSWERS, {"answers": place.question, "id": turn})
    connection.execute(sql.CLOSE_QUESTION, {"id": place.conversation})
    done = audit.Deed("approval", f"turn {place.asked_by}", admission.message.text)
    audit.note(connection, audit.by(origin, f"turn:{turn}"), done, now)
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


def _add_turn(connection: Connection, admission: Admission, place: _Place, kind: TurnKind, now: float) -> int:
    return open_turn(
        connection,
        place.conversation,
        kind,
        place.address,
        admission.message.origin.platform,
        place.thread_id,
        now,
        model=place.model,
        ready_at=now + admission.hold if admission.hold else 0.0,
    )


def _notice(connection: Connection, admission: Admission, place: _Place, text: str, now: float) -> int:
    platform = admission.message.origin.platform
    return open_notice(
        connection,
        place.conversation,
        place.address,
        platform,
        place.thread_id,
        text,
        now,
        model=place.model,
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
