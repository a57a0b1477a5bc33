"""`/busy`: handling of messages that arrive during a run in this conversation."""

from __future__ import annotations

from bot.commands.escaping import quoted
from bot.commands.registry import Invocation, Result, nearest, nearest_line
from bot.domain import Busy
from bot.store.conversations import ConversationView, load_conversation, set_busy_mode

DEFAULT_MODE = "default"


async def busy(call: Invocation) -> Result:
    """Set the mode, reset it, or show the current one."""
    texts, db, here = call.texts, call.core.db, call.turn.conversation
    if not call.words:
        return Result(busy_line(call, await db.run(load_conversation, here)))
    word = call.words[0].lower()
    known = [*Busy, DEFAULT_MODE]
    if word not in known:
        near = nearest_line(texts, nearest(word, known), mark="")
        names = texts("list_separator").join(map(quoted, known))
        return Result(texts("busy_unknown", name=quoted(word), names=names, nearest=near))
    await db.run(set_busy_mode, here, "" if word == DEFAULT_MODE else word)
    return Result(busy_line(call, await db.run(load_conversation, here)))


def busy_line(call: Invocation, view: ConversationView | None) -> str:
    """Describe the mode of the conversation and its source."""
    chosen = view.busy if view else ""
    policy = chosen or call.account.busy
    return call.texts(f"busy_{policy}", whence=call.texts("busy_here" if chosen else "busy_account"))
