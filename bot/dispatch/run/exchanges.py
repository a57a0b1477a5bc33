"""The bot's last exchanges in a chat, for a message that begins a conversation there."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import tzinfo

import orjson

from bot.dispatch.run.agent_message import format_local_time
from bot.domain import ChatKind, Sender, Turn, person_of
from bot.store import Database
from bot.store.exchanges import AnsweredQuestion, list_exchanges
from bot.store.record import is_first_turn
from bot.store.schedules import EVENT
from bot.texts import Texts

MAX_EXCHANGES = 3
MAX_QUESTION, MAX_ANSWER = 500, 1500
"""Characters of a question and of an answer; the rest is cut off."""
BACK_SECONDS = 3 * 24 * 3600.0
"""Age of the oldest exchange, in seconds: what people still refer to."""


async def format_exchanges(
    turn: Turn,
    db: Database,
    texts: Texts,
    zone: tzinfo,
    *,
    hidden: Callable[[Sender], bool],
    private_threads: bool,
) -> str:
    """Format the bot's last exchanges in a group with who writes a turn that begins a conversation; "" for
    none.

    `hidden` tells whose messages are left out. With `private_threads`, not everybody in the chat can read
    each of its threads, so only this thread's exchanges and those outside of threads are told.
    """
    scheduled = any(message.event_id.startswith(EVENT) for message in turn.messages)
    if turn.address.chat_kind is not ChatKind.GROUP or turn.answers or turn.repeats or scheduled:
        return ""
    if not await db.run(is_first_turn, turn):
        return ""
    readable = {"", turn.address.topic}
    # Only those of who writes now: what others asked must not outlast its erasure in the words of a model.
    people = {message.sender.id for message in turn.messages}
    # How the service names a person beside their words; an answer with one tells what somebody else said.
    label = re.compile(rf"\({re.escape(turn.platform)}:[^()\s]+\)")
    found = [
        one
        for one in await db.run(list_exchanges, turn, BACK_SECONDS)
        if one.sender.id in people and not label.search(one.answer)
        if not hidden(one.sender) and (not private_threads or one.topic in readable)
    ]
    lines = [_format(one, turn.platform, zone) for one in reversed(found[:MAX_EXCHANGES])]
    return texts("note_exchanges", said="\n".join(lines)) if lines else ""


def _format(one: AnsweredQuestion, platform: str, zone: tzinfo) -> str:
    """Return an exchange as a line; people's texts are JSON strings in it, so that none can pass for it."""
    name = f"{_quote(one.sender.name or one.sender.id, MAX_QUESTION)} ({person_of(platform, one.sender)})"
    asked, answered = _quote(one.text, MAX_QUESTION), _quote(one.answer, MAX_ANSWER)
    return f"- {format_local_time(one.asked_at, zone)} {name}: {asked} -> {answered}"


def _quote(text: str, most: int) -> str:
    return orjson.dumps(text if len(text) <= most else f"{text[: most - 1]}…").decode()
