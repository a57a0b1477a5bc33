"""`/models` and `/model`: list the models and choose a conversation's model."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Sequence

from agent.shared.schemas import ModelInfo
from bot.commands.conversation import chosen_agent, chosen_model, model_of
from bot.commands.registry import Button, Invocation, Result, nearest_line
from bot.errors import RuntimeProblem, RuntimeRefused
from bot.features.agent_management.agents import DEFAULT
from bot.store.conversations import ConversationView, load_conversation, load_lane, set_model
from bot.texts import Texts
from bot.wiring import Core

# The answer must be quick, even if the runtime is busy.
LISTING_SECONDS = 2.0


async def models(call: Invocation) -> Result:
    """List the models."""
    texts = call.texts
    try:
        offered = (await call.core.runtime.management.list_models()).default_first
    except RuntimeRefused:
        return Result(texts("models_none"))
    except RuntimeProblem:
        return Result(texts("models_unreachable"))
    view = await call.core.db.transact(load_conversation, call.turn.conversation)
    chosen = chosen_model(call, view) or await _agent_model(call, view)
    chosen = chosen or next((model.name for model in offered if model.default), "")
    lines = [_model_line(texts, model, mark="✓" if model.name == chosen else "•") for model in offered]
    text = "\n\n".join([texts("models_title"), *lines, texts("models_hint")])
    others = [one.name for one in offered if one.name != chosen]
    return Result(text, buttons=_model_buttons(texts, others))


async def model(call: Invocation) -> Result:
    """Choose a model for this conversation, reset the choice, or show it."""
    if not call.words:
        return await _show_model(call)
    found, refusal = await find_model(call.core, call.texts, call.words[0].strip("`"))
    return Result(refusal) if found is None else await _choose_model(call, found)


async def find_model(core: Core, texts: Texts, name: str) -> tuple[str | None, str]:
    """Return the model to choose for a name ("" for the default), or None and why there is none."""
    back = name.lower() == DEFAULT
    try:
        offered = [one.name for one in (await core.runtime.management.list_models()).models]
    except RuntimeRefused:
        # A runtime that lists no models can't contradict the user.
        offered = [] if back else [name]
    except RuntimeProblem:
        if not back:
            return None, texts("models_unreachable")
        offered = []
    if name in offered or back:
        return name if name in offered else "", ""
    near = difflib.get_close_matches(name, offered, n=3, cutoff=0.6)
    return None, texts("model_unknown", name=name, nearest=nearest_line(texts, near, mark=""))


async def _show_model(call: Invocation) -> Result:
    """Show the conversation's model, and buttons for others if the runtime lists them in time."""
    view = await call.core.db.transact(load_conversation, call.turn.conversation)
    text = call.texts("model_now", name=await _describe_model(call, view))
    try:
        async with asyncio.timeout(LISTING_SECONDS):
            offered = (await call.core.runtime.management.list_models()).default_first
    except (RuntimeProblem, TimeoutError):
        return Result(text)
    others = [one.name for one in offered if one.name != chosen_model(call, view)]
    return Result(text, buttons=_model_buttons(call.texts, others))


def _model_buttons(texts: Texts, names: Sequence[str]) -> tuple[Button, ...]:
    usual = Button(texts("button_default"), f"model {DEFAULT}")
    return (usual, *(Button(name, f"model {name}") for name in names))


async def _describe_model(call: Invocation, view: ConversationView | None) -> str:
    """Return the model's display name; for the default model too, if the runtime reports it."""
    if chosen_model(call, view):
        return model_of(call, view)
    try:
        async with asyncio.timeout(LISTING_SECONDS):
            if own := await _agent_model(call, view):
                return call.texts("model_agent_named", name=own, agent=chosen_agent(call, view))
            offered = (await call.core.runtime.management.list_models()).default_first
    except (RuntimeProblem, TimeoutError):
        return model_of(call, view)
    default = next((one.name for one in offered if one.default), "")
    return call.texts("model_default_named", name=default) if default else model_of(call, view)


async def _agent_model(call: Invocation, view: ConversationView | None) -> str:
    """Return the model defined by the conversation's custom agent, or "" if there is none or it is
    unknown.
    """
    agent = chosen_agent(call, view)
    try:
        offered = (await call.core.runtime.management.list_agents()).agents if agent else []
    except RuntimeProblem:
        return ""
    return next((one.model or "" for one in offered if one.name == agent), "")


async def _choose_model(call: Invocation, name: str) -> Result:
    await call.core.db.transact(set_model, call.turn.conversation, name)
    lane = await call.core.db.transact(load_lane, call.turn.conversation)
    view = await call.core.db.transact(load_conversation, call.turn.conversation)
    shown = await _describe_model(call, view)
    return Result(call.texts("model_set_busy" if lane.turn else "model_set", name=shown))


def _model_line(texts: Texts, model: ModelInfo, mark: str) -> str:
    return texts(
        "models_line",
        mark=mark,
        name=model.name,
        display=model.display_name if model.display_name != model.name else "",
        note=f" ({model.note})" if model.note else "",
    )
