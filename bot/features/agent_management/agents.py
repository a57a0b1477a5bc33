"""`/agent`: choose a conversation's custom agent."""

from __future__ import annotations

from collections.abc import Sequence

from agent.shared.schemas import AgentInfo
from bot.access import Permission
from bot.commands.conversation import agent_of, chosen_agent
from bot.commands.registry import Button, Invocation, Result, nearest, nearest_line
from bot.errors import RuntimeProblem, RuntimeRefused
from bot.store.conversations import load_conversation, load_lane, set_agent
from bot.texts import Texts
from bot.wiring import Core

DEFAULT = "default"
"""The word that takes a choice back."""


async def agent(call: Invocation) -> Result:
    """Choose an agent for this conversation, or list the available ones."""
    if not call.words:
        try:
            return await _list_agents(call, await _load_agents(call.core))
        except RuntimeProblem:
            return Result(call.texts("agents_unreachable"))
    fixed = "" if call.may(Permission.AGENT) else call.profile.get("agent")
    found, refusal = await find_agent(call.core, call.texts, call.words[0].strip("`").lower(), fixed)
    return Result(refusal) if found is None else await _choose_agent(call, found)


async def find_agent(core: Core, texts: Texts, name: str, fixed: str) -> tuple[str | None, str]:
    """Return the agent to choose for a name ("" for the default), or None and why there is none. `fixed` is
    the agent that the caller may not replace ("" for none).
    """
    if name == DEFAULT:
        return "", ""
    try:
        offered = await _load_agents(core)
    except RuntimeProblem:
        return None, texts("agents_unreachable")
    if fixed:
        return None, texts("agent_fixed", name=fixed)
    # A runtime that lists no agents can't contradict the user.
    found = _find_agent(name, offered) if offered is not None else AgentInfo(name=name)
    if found is None:
        return None, _unknown_agent(texts, name, offered or ())
    return (None, found.problem) if found.problem else (name, "")


async def _load_agents(core: Core) -> Sequence[AgentInfo] | None:
    """Return the agents, None if the runtime lists none. Raises RuntimeProblem if it is unreachable."""
    try:
        return (await core.runtime.management.list_agents()).agents
    except RuntimeRefused:
        return None


async def _choose_agent(call: Invocation, name: str) -> Result:
    await call.core.db.transact(set_agent, call.turn.conversation, name)
    lane = await call.core.db.transact(load_lane, call.turn.conversation)
    shown = f"`{name}`" if name else agent_of(call, None)
    return Result(call.texts("agent_set_busy" if lane.turn else "agent_set", name=shown))


async def _list_agents(call: Invocation, offered: Sequence[AgentInfo] | None) -> Result:
    texts = call.texts
    view = await call.core.db.transact(load_conversation, call.turn.conversation)
    now = texts("agent_now", name=agent_of(call, view))
    if offered is None:
        return Result(f"{now}\n\n{texts('agents_unlisted')}")
    chosen = chosen_agent(call, view)
    lines = [_agent_line(texts, one, mark="✓" if one.name == chosen else "•") for one in offered]
    if chosen and _find_agent(chosen, offered) is None:
        lines.append(texts("agent_gone", name=chosen))
    hint = texts("agents_hint") if offered else texts("agents_none")
    buttons = [Button(texts("button_default"), f"agent {DEFAULT}")] if chosen else []
    others = [one.name for one in offered if one.name != chosen and not one.problem]
    buttons += [Button(name, f"agent {name}") for name in others]
    return Result("\n\n".join([texts("agents_title"), now, *lines, hint]), buttons=tuple(buttons))


def _agent_line(texts: Texts, one: AgentInfo, mark: str) -> str:
    return texts("agents_line", mark=mark, name=one.name, about=one.problem or one.description).rstrip()


def _unknown_agent(texts: Texts, name: str, offered: Sequence[AgentInfo]) -> str:
    near = nearest(name, [one.name for one in offered])
    return texts("agent_unknown", name=name, nearest=nearest_line(texts, near, mark=""))


def _find_agent(name: str, offered: Sequence[AgentInfo]) -> AgentInfo | None:
    return next((one for one in offered if one.name == name), None)
