"""Replace the agent threads of the chats in which an erased person took part.

The agent's state may hold a person's words in any form: quoted, paraphrased, in results of tools and in
files. So none of it is kept: each thread is deleted, and its successor begins with what the bot's store holds
of the conversation, without the person.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import orjson

from bot.domain import ChatKind, ReplyAddress
from bot.features.privacy.erasures import ErasureRequest, add_scopes, load_erasure
from bot.features.privacy.leaving_threads import leave_thread
from bot.features.privacy.written_messages import STEP
from bot.store.connection import Connection, decode_address, sql
from bot.store.exchanges import decode_people
from bot.store.interrupts import abandon_interrupt
from bot.store.new_turn import open_notice
from bot.store.person_data import ChatKey, PersonData, PersonKey, is_quoted_or_mentioned


@dataclass(frozen=True, slots=True)
class ReplacedThreads:
    """The agent threads of a chat that were replaced: how many hold nothing that others wrote (`deleted`),
    and how many do (`shared`); conversations with turns to work off, and the notice to deliver (0: none).
    """

    deleted: int
    shared: int
    conversations: tuple[int, ...]
    notice: int


# The chats of a request whose threads have yet to be replaced, as a list of [account, chat], and whether they
# were found.
GET_CHATS = sql("SELECT chats, collected FROM erasures WHERE id = :id")
SET_CHATS = sql("UPDATE erasures SET chats = :chats, collected = 1 WHERE id = :id")
# Chats with agent threads that worked for the person, or in which they stopped an answer.
CHATS_WORKED_IN = sql(
    """SELECT DISTINCT c.account, c.chat FROM turns t JOIN conversations c ON c.id = t.conversation_id
    WHERE t.thread_id <> '' AND (t.person = :person AND t.renewed = 0
    OR t.stopped > 0 AND t.stopper = :person)"""
)
CHATS_OF = sql("SELECT DISTINCT account, chat FROM conversations WHERE id IN :ids", "ids")
# Conversations in which the agent was told exchanges of people.
TOLD_CHATS = sql("SELECT account, chat, quoted_people FROM conversations WHERE quoted_people <> ''")
# What may quote or mention a person, by the chat where somebody did: `:mark` is their id as JSON.
QUOTED_IN_MESSAGES = sql(
    """SELECT c.account, c.chat, i.quotations, i.mentions FROM inbound i
    JOIN turns t ON t.id = i.turn_id JOIN conversations c ON c.id = t.conversation_id
    WHERE i.turn_id > 0 AND c.platform = :platform AND (i.quotations LIKE :mark OR i.mentions LIKE :mark)"""
)
# List the conversations of a chat, and lock them until the end of the transaction: a message that is accepted
# at the same time comes before or after.
LOCK_CONVERSATIONS = sql(
    """UPDATE conversations SET active_at = active_at WHERE account = :account AND chat = :chat
    RETURNING id, thread_id, owner, chat_kind"""
)
# List the threads of a conversation that a turn has begun on, and whether others wrote there.
THREADS_OF = sql(
    """SELECT t.thread_id, MAX(CASE WHEN EXISTS (SELECT 1 FROM inbound i WHERE i.turn_id = t.id
    AND i.turn_id > 0 AND i.deleted = 0) THEN 1 ELSE 0 END) AS is_shared FROM turns t
    WHERE t.conversation_id = :conversation AND t.kind = 'chat' AND t.thread_id <> '' AND t.renewed = 0
    AND t.state <> 'accepted' AND t.thread_id NOT IN (SELECT l.thread_id FROM leaving_threads l)
    GROUP BY t.thread_id"""
)
RESET_CONVERSATION = sql("UPDATE conversations SET title = '', quoted_people = '' WHERE id = :id")
# Find where the bot answered last in a chat.
LATEST_TURN = sql(
    """SELECT t.conversation_id, t.address, t.platform FROM turns t JOIN conversations c
    ON c.id = t.conversation_id WHERE c.account = :account AND c.chat = :chat AND t.kind = 'chat'
    ORDER BY t.id DESC LIMIT 1"""
)


def collect_chats(
    connection: Connection, number: int, conversations: Sequence[int], data: Sequence[PersonData]
) -> list[ChatKey]:
    """Return the chats of a request whose agent threads have yet to be replaced, and store them: those of
    these conversations, those that features find, and others in which the person was answered or quoted, or
    stopped an answer.

    They are found once, because later steps erase what they are found by.
    """
    row = connection.execute(GET_CHATS, {"id": number}).one()
    pending = {ChatKey(*one) for one in orjson.loads(row.chats or "[]")}
    if not row.collected:
        person = load_erasure(connection, number).person
        pending |= _find_chats(connection, person, conversations)
        pending.update(chat for one in data for chat in one.find_chats(connection, person))
        _save_pending(connection, number, pending)
    return sorted(pending, key=lambda one: (one.account, one.chat))


def _save_pending(connection: Connection, number: int, pending: Collection[ChatKey]) -> None:
    chats = orjson.dumps([[one.account, one.chat] for one in pending]).decode()
    connection.execute(SET_CHATS, {"id": number, "chats": chats})


def _find_chats(connection: Connection, person: PersonKey, conversations: Sequence[int]) -> set[ChatKey]:
    rows = list(connection.execute(CHATS_WORKED_IN, {"person": str(person)}).all())
    for start in range(0, len(conversations), STEP):
        rows += connection.execute(CHATS_OF, {"ids": list(conversations[start : start + STEP])}).all()
    told = connection.execute(TOLD_CHATS).all()
    rows += [row for row in told if str(person) in decode_people(row.quoted_people)]
    return {ChatKey(row.account, row.chat) for row in rows} | _find_quoting_chats(connection, person)


def replace_threads(
    connection: Connection,
    request: ErasureRequest,
    chat: ChatKey,
    new_id: Callable[[], str],
    describe: Callable[[ReplyAddress], str],
    now: float,
) -> ReplacedThreads:
    """Replace all agent threads of a chat, add the group's memory to what the request deletes, and notify the
    chat once if others have written there. `describe` returns the notice ("" for none).

    Turns that wait begin on the new threads; those in progress end on the old ones. An open question is
    closed as if the conversation had started over.
    """
    here = {"account": chat.account, "chat": chat.chat}
    deleted = shared = 0
    conversations = connection.execute(LOCK_CONVERSATIONS, here).all()
    for row in conversations:
        for used in connection.execute(THREADS_OF, {"conversation": row.id}).all():
            fresh = new_id()
            if used.thread_id == row.thread_id:
                abandon_interrupt(connection, row.id, fresh, None, now)
            leave_thread(connection, row.id, used.thread_id, request.requested_at, fresh)
            is_shared = bool(used.is_shared) and row.owner != str(request.person)
            shared, deleted = shared + is_shared, deleted + (not is_shared)
        connection.execute(RESET_CONVERSATION, {"id": row.id})
    if any(row.chat_kind == ChatKind.GROUP.value for row in conversations):
        add_scopes(connection, request.id, [f"group:{chat.account}:{chat.chat}"])
    left = {ChatKey(*one) for one in orjson.loads(connection.execute(GET_CHATS, {"id": request.id}).one()[0])}
    _save_pending(connection, request.id, left - {chat})
    notice = _open_notice(connection, here, describe, now) if shared else 0
    return ReplacedThreads(deleted, shared, tuple(row.id for row in conversations), notice)


def _open_notice(
    connection: Connection, here: dict[str, str], describe: Callable[[ReplyAddress], str], now: float
) -> int:
    """Open a notice where the bot answered last in a chat, and return its turn; 0 without a text."""
    row = connection.execute(LATEST_TURN, here).one()
    address = replace(decode_address(row.address), reply_to="")
    text = describe(address)
    if not text:
        return 0
    return open_notice(connection, row.conversation_id, address, row.platform, "", text, now, size=0)


def _find_quoting_chats(connection: Connection, person: PersonKey) -> set[ChatKey]:
    """Return the chats where somebody quoted or mentioned the person."""
    marked = {"platform": person.platform, "mark": person.mark}
    return {
        ChatKey(row.account, row.chat)
        for row in connection.execute(QUOTED_IN_MESSAGES, marked).all()
        if is_quoted_or_mentioned(person, row.quotations, row.mentions)
    }
