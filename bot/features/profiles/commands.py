"""`/channel`, which changes the settings of a chat, and `/why`, which explains them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bot.access import Permission
from bot.commands.escaping import quoted
from bot.commands.registry import Command, Invocation, Result, text_after
from bot.errors import RuntimeRefused
from bot.features.profiles.chat_settings import ChatSettings
from bot.profiles import DEFAULT, MAX_INSTRUCTIONS, SETTINGS, EffectiveSetting
from bot.store.audit import author_of
from bot.store.conversations import load_conversation
from bot.wiring import Core

RESET, UNDO = "reset", "undo"
DENIED = "denied_tools"
CHOSEN = ("agent", "model", "busy")
"""Settings that a conversation can override."""


async def run_channel(call: Invocation) -> Result:
    """Run `/channel`: show or change the settings of the chat."""
    settings, address = call.core.part(ChatSettings), call.turn.address
    action, words = (call.words[0].lower() if call.words else ""), call.words[1:]
    known = settings.get(address.account, address.chat)
    if not action:
        return Result(_describe(call))
    if action == UNDO and not words:
        name = await settings.undo(address.account, address.chat, author_of(call.turn))
        shown = call.texts("channel_undone", name=quoted(name)) if name else call.texts("channel_none")
        return Result(shown, refused=not name)
    try:
        name, values = await _read_change(call, action, words, known.get(DENIED, ()))
    except ValueError as error:
        return Result(str(error), refused=True)
    if not values and name not in known:
        return Result(call.texts("channel_unset", name=quoted(name)), refused=True)
    await settings.change(address.account, address.chat, name, values, author_of(call.turn))
    key = "channel_set" if values else "channel_removed"
    return Result(call.texts(key, name=quoted(name), value=quoted(" ".join(values))))


async def _read_change(
    call: Invocation, action: str, words: Sequence[str], denied: Sequence[str]
) -> tuple[str, tuple[str, ...]]:
    """Return the name and new values of a setting. Raises ValueError with the answer to a wrong command."""
    name = words[0].lower() if words else ""
    if action == RESET and len(words) == 1 and name in SETTINGS:
        return name, ()
    if action == "allow" and len(words) == 1:
        if words[0] not in denied:
            raise ValueError(call.texts("channel_unset", name=quoted(f"deny {words[0]}")))
        return DENIED, tuple(tool for tool in denied if tool != words[0])
    setting = SETTINGS.get(DENIED if action == "deny" else action)
    if setting is None or not words:
        raise ValueError(call.texts("channel_usage", names=_join(call, SETTINGS)))
    text = text_after(call.turn.messages[-1].text)[len(action) :]
    try:
        values = await read_values(
            call.core, setting.name, " ".join((*denied, text)) if action == "deny" else text
        )
    except ValueError as error:
        value, options = (*error.args, setting.options)[:2]
        if setting.name == "instructions":
            raise ValueError(call.texts("channel_too_long", most=MAX_INSTRUCTIONS)) from None
        names = _join(call, options)
        raise ValueError(call.texts("channel_unknown", value=quoted(value, 100), names=names)) from None
    return setting.name, values


def _join(call: Invocation, names: Iterable[str]) -> str:
    return call.texts("list_separator").join(map(quoted, names))


async def read_values(core: Core, name: str, text: str) -> tuple[str, ...]:
    """Return the values of a setting. Raises RuntimeProblem, and ValueError with an invalid value and, for an
    agent or model, the known names.
    """
    values, known = SETTINGS[name].parse(text), [DEFAULT]
    try:
        if name == "model":
            known += [one.name for one in (await core.runtime.management.list_models()).models]
        elif name == "agent":
            known += [one.name for one in (await core.runtime.management.list_agents()).agents]
        else:
            return values
    except RuntimeRefused:
        return values
    if values[0] not in known:
        raise ValueError(values[0], known)
    return values


def _describe(call: Invocation) -> str:
    values = call.core.part(ChatSettings).get(call.turn.address.account, call.turn.address.chat)
    if not values:
        return call.texts("channel_empty")
    shown = [f"- {quoted(name)}: {quoted(' '.join(value), 300)}" for name, value in values.items()]
    return "\n".join([call.texts("channel_title"), *shown])


async def run_why(call: Invocation) -> Result:
    """Run `/why`: show the effective settings and their origins."""
    view = await call.core.db.transact(load_conversation, call.turn.conversation)
    chosen = {name: getattr(view, name) for name in CHOSEN if view and getattr(view, name)}
    lines, defaults = [], []
    for name in SETTINGS:
        own = [EffectiveSetting((chosen[name],), f"/{name}")] if name in chosen else []
        found = own or call.profile.settings.get(name, ())
        lines += [_line(call, name, one) for one in found]
        defaults += [] if found else [name]
    rest = call.texts("why_default", names=_join(call, defaults))
    return Result("\n".join([call.texts("why_title"), *lines, rest]))


def _line(call: Invocation, name: str, found: EffectiveSetting) -> str:
    value, origin = quoted(" ".join(found.values), 300), quoted(found.origin)
    return call.texts("why_line", name=quoted(name), value=value, origin=origin)


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
