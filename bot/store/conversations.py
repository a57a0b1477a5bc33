"""Conversations: settings, threads and lanes, and the chats that receive announcements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bot.domain import ChatKind, ConversationKey, Origin, ReplyAddress, Sender
from bot.store.connection import (
    AT_WORK,
    NEWEST,
    OPEN,
    Connection,
    decode_fields,
    decode_quotations,
    decode_sender,
    sql,
)
from bot.store.new_turn import open_notice, record_answer
from bot.store.quotations import with_quotations
from bot.turn import Turn, TurnState

MOST_SHOWN = 20
DELETED = "deleted:"
"""Prefix of the chat of a deleted conversation; no id in the console or the terminal has a colon."""


@dataclass(frozen=True, slots=True)
class ThreadView:
    """A thread of a conversation: its number (from 1), its first message and the time of its last use."""

    number: int
    thread_id: str
    begins: str
    used_at: float


@dataclass(frozen=True, slots=True)
class Audience:
    """A chat with answered messages: its latest conversation and most recent sender."""

    conversation: int
    address: ReplyAddress
    platform: str
    sender: Sender


@dataclass(frozen=True, slots=True)
class ConversationView:
    """A conversation as listed. `owner` is `platform:id`, or "" for a group; `owner_name` is from their
    newest message, `chat_title` is the name of a group ("" if unknown).
    """

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
    owner_name: str = ""
    chat_title: str = ""

    @property
    def is_deleted(self) -> bool:
        """Return whether only the conversation's row is left, for the usage of its turns."""
        return self.key.chat.startswith(DELETED)

    def origin(self, sender: Sender, topic: str, message_id: str = "") -> Origin:
        """Return the origin of what somebody writes there, or presses below a message."""
        kind, chat = ChatKind(self.chat_kind), self.key.chat
        return Origin(self.key.account, self.platform, chat, kind, message_id, sender, topic, message_id)


@dataclass(frozen=True, slots=True)
class LaneView:
    """The turn in progress in a conversation (None if idle) and the number of waiting messages. `asked_by`
    is the turn with an open approval (0 for none).
    """

    turn: int | None
    state: TurnState | None
    run_id: str
    since: float
    queued: int
    asked_by: int = 0


# Create a conversation or mark it active; fill in an empty owner or title.
TAKE_CONVERSATION = sql(
    """INSERT INTO conversations (account, chat, topic, member, platform, chat_kind, thread_id, owner, title,
    created_at, active_at) VALUES (:account, :chat, :topic, :member, :platform, :chat_kind, :thread_id,
    :owner, :title, :now, :now) ON CONFLICT (account, chat, topic, member) DO UPDATE SET active_at =
    excluded.active_at, owner = CASE WHEN conversations.owner = '' THEN excluded.owner ELSE
    conversations.owner END, title = CASE WHEN conversations.title = '' THEN excluded.title ELSE
    conversations.title END RETURNING id, thread_id, topic, member, question, asked_by, askers,
    decisions, remembered, busy"""
)
# Read the open approval of a conversation.
APPROVAL_OF = sql(
    """SELECT id, thread_id, platform, question, asked_by FROM conversations
    WHERE id = :id AND question <> '' AND decisions <> ''"""
)
SET_MODEL = sql("UPDATE conversations SET model = :model WHERE id = :id")
SET_BUSY = sql("UPDATE conversations SET busy = :busy WHERE id = :id")
SET_PLAN = sql("UPDATE conversations SET plan = :plan WHERE id = :id")
SET_AGENT = sql("UPDATE conversations SET agent = :agent WHERE id = :id")
SET_TITLE = sql("UPDATE conversations SET title = :title WHERE id = :id")
SET_TOPIC_TITLE = sql(
    """UPDATE conversations SET title = :title WHERE account = :account AND chat = :chat AND topic = :topic
    AND member = :member"""
)
# Replace the first words by the agent's title; a person's title stays.
SET_AGENT_TITLE = sql("UPDATE conversations SET title = :title WHERE id = :id AND title IN ('', :first)")
CONVERSATION_VIEW = (
    "id, account, chat, topic, member, platform, chat_kind, thread_id, owner, model, plan, agent, busy,"
    " title, created_at, active_at,"
    # An approval may be decided by somebody else.
    " (SELECT i.sender FROM turns t JOIN inbound i ON i.turn_id = t.id AND i.turn_id > 0"
    " WHERE t.conversation_id = conversations.id AND conversations.owner <> '' AND t.answers = ''"
    " ORDER BY t.id DESC, i.id DESC LIMIT 1) AS owner_sender,"
    " (SELECT h.title FROM chats h WHERE h.account = conversations.account AND h.chat = conversations.chat)"
    " AS chat_title"
)
GET_CONVERSATION = sql(f"SELECT {CONVERSATION_VIEW} FROM conversations WHERE id = :id")
GET_CONVERSATIONS = sql(f"SELECT {CONVERSATION_VIEW} FROM conversations WHERE id IN :ids", "ids")
# List the open chat turns of a conversation.
LANE_STATE = sql(
    f"""SELECT id, state, run_id, size, created_at FROM turns WHERE conversation_id = :conversation
    AND kind = 'chat' AND state IN {OPEN} AND {AT_WORK} AND id < :before ORDER BY id"""
)
# List the conversations of an account, newest first.
LIST_CONVERSATIONS = sql(
    f"""SELECT {CONVERSATION_VIEW} FROM conversations WHERE account = :account AND id < :before
    AND chat NOT LIKE '{DELETED}%' ORDER BY id DESC LIMIT :limit"""
)
# List the conversations that people own on an account, newest first.
LIST_OWNED_CONVERSATIONS = sql(
    f"""SELECT {CONVERSATION_VIEW} FROM conversations WHERE owner IN :owners AND account = :account
    AND id < :before ORDER BY id DESC LIMIT :limit""",
    "owners",
)
LIST_ALL_CONVERSATIONS = sql(LIST_CONVERSATIONS.text.replace("account = :account AND ", ""))
LIST_ALL_OWNED_CONVERSATIONS = sql(
    LIST_OWNED_CONVERSATIONS.text.replace("AND account = :account ", ""), "owners"
)
# List the threads of a conversation in the order in which they began.
LIST_THREADS = sql(
    """SELECT thread_id, MIN(id) AS begun, MAX(created_at) AS used_at FROM turns
    WHERE conversation_id = :conversation AND kind = 'chat' AND thread_id <> ''
    GROUP BY thread_id ORDER BY begun"""
)
# Find a thread of a conversation by its position.
THREAD_AT = sql(
    """SELECT thread_id, MIN(id) AS begun FROM turns
    WHERE conversation_id = :conversation AND kind = 'chat' AND thread_id <> ''
    GROUP BY thread_id ORDER BY begun LIMIT 1 OFFSET :skipped"""
)
# Read the first message of a turn.
FIRST_TEXT = sql(
    "SELECT text, quotations FROM inbound WHERE turn_id = :turn AND turn_id > 0 ORDER BY id LIMIT 1"
)
# List recently active conversations with the last sender of each.
LIST_AUDIENCES = sql(
    """SELECT c.id, c.account, c.platform, c.chat, c.chat_kind, (SELECT i.sender FROM inbound i
    JOIN turns t ON t.id = i.turn_id WHERE t.conversation_id = c.id AND t.kind = 'chat' AND i.turn_id > 0
    ORDER BY i.id DESC LIMIT 1) AS sender
    FROM conversations c WHERE c.active_at > :since ORDER BY c.active_at DESC"""
)


def list_threads(connection: Connection, conversation: int) -> list[ThreadView]:
    """Return the latest threads of a conversation, oldest first."""
    found = connection.execute(LIST_THREADS, {"conversation": conversation}).all()
    numbered = [*enumerate(found, start=1)][-MOST_SHOWN:]
    return [
        ThreadView(number, row.thread_id, _begin(connection, row.begun), row.used_at)
        for number, row in numbered
    ]


def find_thread(connection: Connection, conversation: int, number: int) -> str:
    """Return the id of the thread with this number, or "" if there is none."""
    given = {"conversation": conversation, "skipped": number - 1}
    row = connection.execute(THREAD_AT, given).first() if number > 0 else None
    return "" if row is None else str(row.thread_id)


def list_audiences(connection: Connection, since: float) -> list[Audience]:
    """Return each chat with a message answered since a time, once."""
    found: dict[tuple[str, str], Audience] = {}
    for row in connection.execute(LIST_AUDIENCES, {"since": since}).all():
        if row.sender is None or (row.account, row.chat) in found:
            continue
        address = ReplyAddress(row.account, row.chat, ChatKind(row.chat_kind))
        sender = decode_sender(row.sender)
        found[row.account, row.chat] = Audience(row.id, address, row.platform, sender)
    return [*found.values()]


def open_announcements(
    connection: Connection, chosen: Sequence[Audience], text: str, now: float
) -> list[int]:
    """Open a notice in each chat and return the ids of the turns."""
    return [
        open_notice(connection, one.conversation, one.address, one.platform, "", text, now, size=0)
        for one in chosen
    ]


def _begin(connection: Connection, turn: int) -> str:
    row = connection.execute(FIRST_TEXT, {"turn": turn}).first()
    text = "" if row is None else with_quotations(row.text, decode_quotations(row.quotations))
    return " ".join(text.split())


def load_conversation(connection: Connection, conversation_id: int) -> ConversationView | None:
    """Return a conversation, or None if it does not exist."""
    row = connection.execute(GET_CONVERSATION, {"id": conversation_id}).first()
    return None if row is None else decode_conversation(row)


def list_conversations(
    connection: Connection, account: str, before: int = NEWEST, limit: int = 50, owners: Sequence[str] = ()
) -> list[ConversationView]:
    """Return the conversations of an account ("": of all) with ids below `before`, newest first; `owners`
    restricts them to these people.
    """
    given: dict[str, Any] = {"before": before, "limit": limit}
    given |= {"owners": list(owners)} if owners else {}
    given |= {"account": account} if account else {}
    statements = LIST_ALL_CONVERSATIONS, LIST_CONVERSATIONS
    if owners:
        statements = LIST_ALL_OWNED_CONVERSATIONS, LIST_OWNED_CONVERSATIONS
    return [decode_conversation(row) for row in connection.execute(statements[bool(account)], given).all()]


def load_conversations(connection: Connection, ids: Iterable[int]) -> dict[int, ConversationView]:
    """Return conversations by id."""
    given = sorted(ids)
    rows = connection.execute(GET_CONVERSATIONS, {"ids": given}).all() if given else ()
    return {row.id: decode_conversation(row) for row in rows}


def load_lane(connection: Connection, conversation_id: int, before: int = NEWEST) -> LaneView:
    """Return the state of a conversation's lane, considering only turns with ids below `before`."""
    given = {"conversation": conversation_id, "before": before}
    open_turns = connection.execute(LANE_STATE, given).all()
    at_work = [row for row in open_turns if row.state != TurnState.ACCEPTED.value]
    queued = sum(row.size for row in open_turns if row.state == TurnState.ACCEPTED.value)
    asking = connection.execute(APPROVAL_OF, {"id": conversation_id}).first()
    asked_by = int(asking.asked_by) if asking is not None else 0
    if not at_work:
        return LaneView(None, None, "", 0.0, queued, asked_by)
    first = at_work[0]
    return LaneView(first.id, TurnState(first.state), first.run_id, first.created_at, queued, asked_by)


def decode_conversation(row: Any) -> ConversationView:
    return decode_fields(
        ConversationView,
        row,
        key=ConversationKey(row.account, row.chat, row.topic, row.member),
        plan=bool(row.plan),
        owner_name=decode_sender(row.owner_sender).name if row.owner_sender else "",
        chat_title=row.chat_title or "",
    )


def announce_by_command(
    connection: Connection, chosen: Sequence[Audience], text: str, command: Turn, told: str, now: float
) -> list[int]:
    """Open announcements and record the answer to their command."""
    opened = open_announcements(connection, chosen, text, now)
    record_answer(connection, command, told, now)
    return opened


def set_model(connection: Connection, conversation: int, model: str) -> None:
    """Set the model of a conversation ("" for the account's default)."""
    connection.execute(SET_MODEL, {"id": conversation, "model": model})


def set_busy_mode(connection: Connection, conversation: int, busy: str) -> None:
    """Set the busy mode, which controls messages during a run ("" for the account's default)."""
    connection.execute(SET_BUSY, {"id": conversation, "busy": busy})


def set_plan_mode(connection: Connection, conversation: int, on: bool) -> None:
    """Turn a conversation's plan mode on or off."""
    connection.execute(SET_PLAN, {"id": conversation, "plan": int(on)})


def set_agent(connection: Connection, conversation: int, agent: str) -> None:
    """Set the custom agent of a conversation ("" for the account's default)."""
    connection.execute(SET_AGENT, {"id": conversation, "agent": agent})


def set_title(connection: Connection, conversation: int, title: str) -> None:
    """Set the title of a conversation."""
    connection.execute(SET_TITLE, {"id": conversation, "title": title})


def set_topic_title(connection: Connection, key: ConversationKey, title: str) -> None:
    """Set the title of a topic's conversation, if there is one."""
    where = {"account": key.account, "chat": key.chat, "topic": key.topic, "member": key.member}
    connection.execute(SET_TOPIC_TITLE, {**where, "title": title})


def set_agent_title(connection: Connection, conversation: int, title: str, first: str) -> None:
    """Set the agent's title, if the conversation's title is still empty or `first`."""
    if not first.startswith(title):
        connection.execute(SET_AGENT_TITLE, {"id": conversation, "title": title, "first": first})


def take_conversation(
    connection: Connection,
    key: ConversationKey,
    platform: str,
    chat_kind: ChatKind,
    thread_id: str,
    owner: str,
    title: str,
    now: float,
) -> Any:
    """Return the row of a conversation, which is now active. A new one has the given thread."""
    place = {"account": key.account, "chat": key.chat, "topic": key.topic, "member": key.member}
    kind = {"platform": platform, "chat_kind": chat_kind.value, "owner": owner, "title": title}
    row = {**place, **kind, "thread_id": thread_id, "now": now}
    return connection.execute(TAKE_CONVERSATION, row).one()


def ensure_private_conversation(
    connection: Connection, key: ConversationKey, platform: str, thread_id: str, owner: str, now: float
) -> int:
    """Return the id of a private chat's conversation, creating it if needed."""
    row = take_conversation(connection, key, platform, ChatKind.PRIVATE, thread_id, owner, "", now)
    return int(row.id)
