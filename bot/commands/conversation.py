"""Conversation commands: threads, title, busy mode, and the displayed model and agent."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.commands.escaping import quoted
from bot.commands.registry import Button, Invocation, Result, nearest, nearest_line, number_in
from bot.store.conversations import (
    ConversationView,
    ThreadView,
    list_threads,
    load_conversation,
    load_lane,
    set_busy_mode,
    set_title,
)
from bot.turn import Busy

LONGEST_TITLE = 120
LONGEST_BEGIN = 60


async def threads(call: Invocation) -> Result:
    """List the threads, with the current one marked."""
    return await _list_threads(call)


async def resume(call: Invocation) -> Result:
    """Confirm the thread, which the accept transaction has already selected."""
    number = number_in(call.words)
    if not number:
        return await _list_threads(call)
    found = await call.core.db.transact(list_threads, call.turn.conversation)
    known = next((one for one in found if one.thread_id == call.turn.thread_id), None)
    if known is None or known.number != number:
        return Result(call.texts("resume_unknown", number=number))
    lane = await call.core.db.transact(load_lane, call.turn.conversation, before=call.turn.id)
    busy = lane.turn is not None or lane.queued > 0
    # Approvals that were pending on the other thread no longer apply.
    call.services.runs.wake_conversation(call.turn.conversation)
    key = "resume_while_busy" if busy else "resume_done"
    return Result(call.texts(key, number=number, begins=_quote_beginning(known)))


async def title(call: Invocation) -> Result:
    """Set or show the conversation's title."""
    db, texts = call.core.db, call.texts
    if not call.words:
        view = await db.transact(load_conversation, call.turn.conversation)
        known = view.title if view else ""
        return Result(texts("title_is", title=quoted(known, LONGEST_TITLE)) if known else texts("title_none"))
    wanted = " ".join(call.words)
    if len(wanted) > LONGEST_TITLE:
        return Result(texts("title_too_long", limit=LONGEST_TITLE))
    await db.transact(set_title, call.turn.conversation, wanted)
    return Result(texts("title_is", title=quoted(wanted, LONGEST_TITLE)))


async def _list_threads(call: Invocation) -> Result:
    view = await call.core.db.transact(load_conversation, call.turn.conversation)
    now = view.thread_id if view else ""
    found = await call.core.db.transact(list_threads, call.turn.conversation)
    if not found:
        return Result(call.texts("threads_none"))
    lines = [f"- {_thread_line(call, one, now)}" for one in reversed(found)]
    text = "\n".join([call.texts("threads_title"), "", *lines, "", call.texts("threads_more")])
    others = [one.number for one in reversed(found) if one.thread_id != now]
    return Result(text, buttons=tuple(Button(str(number), f"resume {number}") for number in others))


def _thread_line(call: Invocation, one: ThreadView, now: str) -> str:
    at = datetime.fromtimestamp(one.used_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    mark = call.texts("threads_current") if one.thread_id == now else ""
    return call.texts("threads_line", number=one.number, begins=_quote_beginning(one), at=at, mark=mark)


def _quote_beginning(one: ThreadView) -> str:
    return quoted(one.begins or "…", LONGEST_BEGIN)


DEFAULT_MODE = "default"


async def busy(call: Invocation) -> Result:
    """Set the mode, reset it, or show the current one."""
    texts, db, here = call.texts, call.core.db, call.turn.conversation
    if not call.words:
        view = await db.transact(load_conversation, here)
        now = (view.busy if view else "") or DEFAULT_MODE
        modes = [mode for mode in (*Busy, DEFAULT_MODE) if mode != now]
        buttons = tuple(Button(str(mode), f"busy {mode}") for mode in modes)
        return Result(busy_line(call, view), buttons=buttons)
    word = call.words[0].lower()
    known = [*Busy, DEFAULT_MODE]
    if word not in known:
        near = nearest_line(texts, nearest(word, known), mark="")
        names = texts("list_separator").join(map(quoted, known))
        return Result(texts("busy_unknown", name=quoted(word), names=names, nearest=near))
    await db.transact(set_busy_mode, here, "" if word == DEFAULT_MODE else word)
    return Result(busy_line(call, await db.transact(load_conversation, here)))


def busy_line(call: Invocation, view: ConversationView | None) -> str:
    """Describe the conversation's mode and its source."""
    chosen = view.busy if view else ""
    policy = chosen or call.profile.get("busy") or Busy.QUEUE
    return call.texts(f"busy_{policy}", whence=call.texts("busy_here" if chosen else "busy_profile"))


def chosen_model(call: Invocation, view: ConversationView | None) -> str:
    """Return the conversation's model, or the account's; the command's turn contains the choice."""
    return (view.model if view else "") or call.turn.model


def model_of(call: Invocation, view: ConversationView | None) -> str:
    """Return the display name of the conversation's model, without a request, because `/status` has to be
    fast.
    """
    if name := chosen_model(call, view):
        return f"`{name}`"
    agent = chosen_agent(call, view)
    return call.texts("model_agent", name=agent) if agent else call.texts("model_default")


def agent_of(call: Invocation, view: ConversationView | None) -> str:
    """Return the display name of the conversation's agent."""
    name = chosen_agent(call, view)
    return f"`{name}`" if name else call.texts("agent_usual")


def chosen_agent(call: Invocation, view: ConversationView | None) -> str:
    """Return the conversation's custom agent, or "" for the default one."""
    return (view.agent if view else "") or call.profile.get("agent")
