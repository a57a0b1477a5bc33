"""The threads that a conversation has had, and the chats that something can be announced in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.domain import ChatKind, ConversationKey, ReplyAddress, Sender, Turn, TurnState
from bot.store import statements as sql
from bot.store.connection import Connection
from bot.store.new_turn import open_notice, record_answer
from bot.store.rows import NEWEST, sender_in

MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class ThreadView:
    """A thread by its number in the conversation (1 is the first): how it began, when it was used last."""

    number: int
    thread_id: str
    begins: str
    used_at: float


@dataclass(frozen=True, slots=True)
class Audience:
    """A chat in which somebody was answered: its latest conversation, and who wrote there last."""

    conversation: int
    address: ReplyAddress
    platform: str
    sender: Sender


def list_threads(connection: Connection, conversation: int) -> list[ThreadView]:
    """The latest threads of a conversation, in the order in which they began."""
    found = connection.execute(sql.THREADS_OF, {"conversation": conversation}).all()
    numbered = [*enumerate(found, start=1)][-MOST_SHOWN:]
    return [
        ThreadView(number, row.thread_id, _begin(connection, row.begun), row.used_at)
        for number, row in numbered
    ]


def find_thread(connection: Connection, conversation: int, number: int) -> str:
    """The id of a conversation's thread with that number, "" where there is none."""
    given = {"conversation": conversation, "skipped": number - 1}
    row = connection.execute(sql.THREAD_AT, given).first() if number > 0 else None
    return "" if row is None else str(row.thread_id)


def list_audiences(connection: Connection, since: float) -> list[Audience]:
    """Every chat in which somebody was answered since then, once."""
    found: dict[tuple[str, str], Audience] = {}
    for row in connection.execute(sql.AUDIENCES, {"since": since}).all():
        if row.sender is None or (row.account, row.chat) in found:
            continue
        address = ReplyAddress(row.account, row.chat, ChatKind(row.chat_kind))
        sender = sender_in(row.sender)
        found[row.account, row.chat] = Audience(row.id, address, row.platform, sender)
    return [*found.values()]


def open_announcements(
    connection: Connection, chosen: Sequence[Audience], text: str, now: float
) -> list[int]:
    """Open a notice in each of these chats; the ids of their turns."""
    return [
        open_notice(connection, one.conversation, one.address, one.platform, "", text, now, size=0)
        for one in chosen
    ]


def _begin(connection: Connection, turn: int) -> str:
    text = connection.execute(sql.FIRST_TEXT, {"turn": turn}).scalar_one_or_none()
    return " ".join(str(text or "").split())


@dataclass(frozen=True, slots=True)
class ConversationView:
    """A conversation as it is listed. `owner` is whose it is as `platform:id`, "" for a group's."""

    id: int
    key: ConversationKey
    platform: str
    chat_kind: str
    thread_id: str
    owner: str
    model: str
    plan: bool
    agent: str
    busy: str
    title: str
    created_at: float
    active_at: float


@dataclass(frozen=True, slots=True)
class LaneView:
    """What goes on in a conversation: the turn at work (None if idle) and how many messages wait behind
    it. `asked_by` is the turn whose approval is open there (0 for none).
    """

    turn: int | None
    state: TurnState | None
    run_id: str
    since: float
    queued: int
    asked_by: int = 0


def load_conversation(connection: Connection, conversation_id: int) -> ConversationView | None:
    """One conversation, None where there is none with that id."""
    row = connection.execute(sql.CONVERSATION, {"id": conversation_id}).first()
    return None if row is None else _conversation(row)


def list_conversations(
    connection: Connection, account: str, before: int = NEWEST, limit: int = 50, owners: Sequence[str] = ()
) -> list[ConversationView]:
    """Conversations of an account with ids below `before`, newest first: of all, or of these people."""
    given: dict[str, Any] = {"account": account, "before": before, "limit": limit}
    if owners:
        found = connection.execute(sql.CONVERSATIONS_OWNED, {**given, "owners": list(owners)}).all()
    else:
        found = connection.execute(sql.CONVERSATIONS_OF, given).all()
    return [_conversation(row) for row in found]


def load_lane(connection: Connection, conversation_id: int, before: int = NEWEST) -> LaneView:
    """The lane of a conversation now, as far as its turns have ids below `before`."""
    given = {"conversation": conversation_id, "before": before}
    open_turns = connection.execute(sql.LANE_STATE, given).all()
    at_work = [row for row in open_turns if row.state != TurnState.ACCEPTED.value]
    queued = sum(row.size for row in open_turns if row.state == TurnState.ACCEPTED.value)
    asking = connection.execute(sql.APPROVAL_OF, {"id": conversation_id}).first()
    asked_by = int(asking.asked_by) if asking is not None else 0
    if not at_work:
        return LaneView(None, None, "", 0.0, queued, asked_by)
    first = at_work[0]
    return LaneView(first.id, TurnState(first.state), first.run_id, first.created_at, queued, asked_by)


def _conversation(row: Any) -> ConversationView:
    return ConversationView(
        id=row.id,
        key=ConversationKey(row.account, row.chat, row.topic, row.member),
        platform=row.platform,
        chat_kind=row.chat_kind,
        thread_id=row.thread_id,
        owner=row.owner,
        model=row.model,
        plan=bool(row.plan),
        busy=row.busy,
        agent=row.agent,
        title=row.title,
        created_at=row.created_at,
        active_at=row.active_at,
    )


def announce_by_command(
    connection: Connection, chosen: Sequence[Audience], text: str, command: Turn, told: str, now: float
) -> list[int]:
    """See `threads.announce`; the answer of the command that does it is recorded with it."""
    opened = open_announcements(connection, chosen, text, now)
    record_answer(connection, command, told, now)
    return opened


def set_model(connection: Connection, conversation: int, model: str) -> None:
    """Set the model of a conversation ("" for the account's default)."""
    connection.execute(sql.SET_MODEL, {"id": conversation, "model": model})


def set_busy_mode(connection: Connection, conversation: int, busy: str) -> None:
    """Set what happens to messages during a run ("" for the account's default)."""
    connection.execute(sql.SET_BUSY, {"id": conversation, "busy": busy})


def set_plan_mode(connection: Connection, conversation: int, on: bool) -> None:
    """Turn plan mode of a conversation on or off."""
    connection.execute(sql.SET_PLAN, {"id": conversation, "plan": int(on)})


def set_agent(connection: Connection, conversation: int, agent: str) -> None:
    """Set the custom agent of a conversation ("" for the account's default)."""
    connection.execute(sql.SET_AGENT, {"id": conversation, "agent": agent})


def set_title(connection: Connection, conversation: int, title: str) -> None:
    """Set the title of a conversation."""
    connection.execute(sql.SET_TITLE, {"id": conversation, "title": title})


def ensure_private_conversation(
    connection: Connection, key: ConversationKey, platform: str, thread_id: str, owner: str, now: float
) -> int:
    """Return the id of a private chat's conversation, creating it if needed."""
    row = connection.execute(
        sql.TAKE_CONVERSATION,
        {
            "account": key.account,
            "chat": key.chat,
            "topic": key.topic,
            "member": key.member,
            "platform": platform,
            "chat_kind": ChatKind.PRIVATE.value,
            "thread_id": thread_id,
            "owner": owner,
            "title": "",
            "now": now,
        },
    ).one()
    return int(row.id)
