"""`/channel`, which changes the settings of a chat, and `/why`, which explains them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bot.access import Permission
from bot.commands.escaping import quoted
from bot.commands.registry import Command, Invocation, Result, text_after
from bot.config.profiles import MAX_INSTRUCTIONS
from bot.errors import RuntimeRefused
from bot.features.profiles.chat_settings import DENIED, INSTRUCTIONS, ChatSettings
from bot.profiles import CHOICES, DEFAULT, EffectiveSetting
from bot.store.audit import author_of
from bot.store.conversations import load_conversation
from bot.turn import Busy

RESET, UNDO, DENY, ALLOW = "reset", "undo", "deny", "allow"
MAX_TOOL: Final = 100
"""Maximum length of the name of a denied tool (characters)."""


async def run_channel(call: Invocation) -> Result:
    """Run `/channel`: show or change the settings of the chat."""
    settings, address = call.core.part(ChatSettings), call.turn.address
    action, words = (call.words[0].lower() if call.words else ""), call.words[1:]
    if not action:
        return Result(_describe(call))
    if action == UNDO and not words:
        name = await settings.undo(address.account, address.chat)
        shown = call.texts("channel_undone", name=quoted(name)) if name else call.texts("channel_none")
        return Result(shown, refused=not name)
    change = await _read_change(call, action, words)
    if isinstance(change, Result):
        return change
    name, value = change
    if not value and name not in settings.get(address.account, address.chat):
        return Result(call.texts("channel_unset", name=quoted(name)), refused=True)
    await settings.change(name, value, author_of(call.turn))
    key = "channel_removed"
    if value:
        key = "channel_denied" if name.startswith(DENIED) else "channel_set"
    return Result(call.texts(key, name=quoted(name), value=quoted(value)))


async def _read_change(call: Invocation, action: str, words: tuple[str, ...]) -> tuple[str, str] | Result:
    """Return the name and new value of a setting, or an answer to a wrong command."""
    word = words[0] if len(words) == 1 else ""
    if action == INSTRUCTIONS and words:
        text = text_after(call.turn.messages[-1].text)[len(INSTRUCTIONS) :].strip()
        is_long = len(text) > MAX_INSTRUCTIONS
        too_long = Result(call.texts("channel_too_long", most=MAX_INSTRUCTIONS), refused=True)
        return too_long if is_long else (INSTRUCTIONS, text)
    if action in CHOICES and word:
        return await _read_choice(call, action, word)
    if action in (DENY, ALLOW) and word and len(word) <= MAX_TOOL:
        return f"{DENIED}{word}", word if action == DENY else ""
    if action == RESET and word.lower() in (*CHOICES, INSTRUCTIONS):
        return word.lower(), ""
    return Result(call.texts("channel_usage"), refused=True)


async def _read_choice(call: Invocation, name: str, value: str) -> tuple[str, str] | Result:
    known = await _known_values(call, name)
    if known is None or value in known:
        return name, value
    names = call.texts("list_separator").join(map(quoted, known))
    return Result(call.texts("channel_unknown", value=quoted(value), names=names), refused=True)


async def _known_values(call: Invocation, name: str) -> list[str] | None:
    """Return the possible values of a setting; None if the runtime can't list them. Raises RuntimeProblem."""
    if name == "busy":
        return [one.value for one in Busy]
    management = call.core.runtime.management
    try:
        if name == "model":
            return [*(one.name for one in (await management.list_models()).models), DEFAULT]
        return [*(one.name for one in (await management.list_agents()).agents), DEFAULT]
    except RuntimeRefused:
        return None


def _describe(call: Invocation) -> str:
    values = call.core.part(ChatSettings).get(call.turn.address.account, call.turn.address.chat)
    if not values:
        return call.texts("channel_empty")
    shown = [f"- {quoted(name)}: {quoted(value, 300)}" for name, value in values.items()]
    return "\n".join([call.texts("channel_title"), *shown])


async def run_why(call: Invocation) -> Result:
    """Run `/why`: show the effective settings and their origins."""
    view = await call.core.db.transact(load_conversation, call.turn.conversation)
    chosen = {name: getattr(view, name) for name in CHOICES if view and getattr(view, name)}
    profile, lines = call.profile, []
    for name in CHOICES:
        own = {name: EffectiveSetting(chosen[name], f"/{name}")} if name in chosen else {}
        found = own.get(name) or profile.choices.get(name)
        lines.append(_line(call, name, found) if found else call.texts("why_default", name=quoted(name)))
    lines += [_line(call, INSTRUCTIONS, one) for one in profile.instructions]
    lines += [_line(call, DENY, one) for one in profile.denied_tools]
    return Result("\n".join([call.texts("why_title"), *lines]))


def _line(call: Invocation, name: str, found: EffectiveSetting) -> str:
    return call.texts(
        "why_line", name=quoted(name), value=quoted(found.value, 300), origin=quoted(found.origin)
    )


def list_commands() -> Iterator[Command]:
    """Yield the commands."""
    yield Command(
        "channel",
        run_channel,
        argument="[SETTING VALUE]",
        permission=Permission.AGENT,
        most_words=0,
    )
    yield Command("why", run_why)
