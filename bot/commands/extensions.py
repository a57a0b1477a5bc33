"""`/skills`, `/skill`, `/<skill>` and `/mcp`: list, switch and use the agent's skills and MCP servers.

Only the runtime knows the skills, and to accept a message must not wait for it. So `/<skill>` is accepted as
a command, and its handler changes the turn into a chat turn, which keeps its place in the queue. The line
that names the skill is added when the run is created, so `/retry` and messages with files ask for the skill
in the same way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agent.shared.schemas import McpServerState, ServerState, SkillInfo
from agent.shared.text import shorten
from bot.access import Permission, Target
from bot.commands.registry import NAME, SWITCH, Invocation, Result, nearest, nearest_line, strip_call
from bot.commands.skill_changes import INSTALL, change_skill, is_change
from bot.errors import RuntimeProblem, RuntimeRefused
from bot.store.turns import AgentHandoff, hand_off_to_agent
from bot.texts import Texts
from bot.turn import Busy

# Maximum length of a skill's description in a list (characters).
ABOUT = 100
ASK = "ask"
"""The command whose text goes to the agent."""
# A mistyped command must be answered quickly, even if the runtime is busy.
LOOK_SECONDS = 5.0


async def skills(call: Invocation) -> Result:
    """List the skills and, for admins, the unavailable ones."""
    texts = call.texts
    try:
        found = await call.core.runtime.management.list_skills()
    except RuntimeRefused:
        return Result(texts("skills_unlisted"))
    except RuntimeProblem:
        return Result(texts("skills_unreachable"))
    lines = [_skill_line(texts, one) for one in found.skills]
    if call.may(Permission.INSPECT, Target(call.caller.home.account)):
        lines += [texts("skills_broken", name=one.path, reason=one.error) for one in found.problems]
    hint = texts("skills_hint") if lines else texts("skills_none")
    return Result("\n".join([texts("skills_title"), "", *lines, *([""] if lines else []), hint]))


async def skill(call: Invocation) -> Result:
    """Show a skill, switch it on or off for everybody, or install, update, remove or restore one."""
    texts = call.texts
    if is_change(call.words):
        return await change_skill(call, await _resolve_name(call))
    wanted = SWITCH.get(call.words[1].lower()) if len(call.words) == 2 else None
    if not call.words or len(call.words) > 2 or (len(call.words) == 2 and wanted is None):
        return Result(texts("skill_usage"))
    return await _show_or_switch_skill(call, wanted)


async def _show_or_switch_skill(call: Invocation, wanted: bool | None) -> Result:
    texts, runtime = call.texts, call.core.runtime
    try:
        offered = (await runtime.management.list_skills()).skills
    except RuntimeRefused:
        return Result(texts("skills_unlisted"))
    except RuntimeProblem:
        return Result(texts("skills_unreachable"))
    name = call.words[0].strip("`").lstrip("/")
    found = find_skill(name, offered)
    if found is None and name.lower() == INSTALL and wanted is None:
        return Result(texts("skill_install_usage"))
    if found is None:
        near = nearest(name, [one.name for one in offered])
        return Result(texts("skill_unknown", name=name, nearest=nearest_line(texts, near, mark="")))
    if wanted is None:
        return Result(_format_skill(texts, found))
    return await _switch_skill(call, found, enabled=wanted)


async def _resolve_name(call: Invocation) -> str:
    """Return the name of the skill in the first argument; a removed one is in no list."""
    written = call.words[0].strip("`").lstrip("/")
    try:
        found = find_skill(written, (await call.core.runtime.management.list_skills()).skills)
    except RuntimeProblem:
        found = None
    return found.name if found else written.lower().replace("_", "-")


async def _switch_skill(call: Invocation, one: SkillInfo, *, enabled: bool) -> Result:
    if not call.may(Permission.EXTEND):
        return Result(call.texts("all_accounts_only", name=call.name), refused=True)
    await call.core.runtime.management.switch_skill(one.name, enabled)
    key = "skill_on" if enabled else "skill_off"
    return Result(call.texts(key, name=one.name, command=command_of(one)))


async def use_skill_or_suggest(call: Invocation) -> Result:
    """Hand the turn to the agent if the unknown command names a skill, else suggest similar names."""
    texts = call.texts
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            offered: Sequence[SkillInfo] = (await call.core.runtime.management.list_skills()).skills
    except RuntimeRefused:
        offered = ()
    except (RuntimeProblem, TimeoutError):
        return Result(texts("unknown_for_now", name=call.name))
    found = find_skill(call.name, offered)
    if found is None:
        usable = [command_of(one) for one in offered if one.enabled]
        near = nearest_line(texts, call.registry.nearest(call.name, usable))
        return Result(texts("unknown_command", name=call.name, nearest=near))
    if not found.enabled:
        return Result(texts("skill_is_off", name=found.name))
    return await _hand_off(call)


async def ask(call: Invocation) -> Result:
    """Hand the text after the command's name to the agent."""
    return await _hand_off(call) if call.words else Result(call.texts("ask_usage"))


async def _hand_off(call: Invocation) -> Result:
    services = call.services
    refusal, interrupts = await call.core.db.transact(
        hand_off_to_agent, call.turn, _build_handoff(call), call.core.clock.now()
    )
    if refusal:
        return Result(refusal)
    if interrupts:
        services.runs.interrupt_run(call.turn.conversation)
    services.runs.wake_conversation(call.turn.conversation)
    return Result("", composed=True)


def _build_handoff(call: Invocation) -> AgentHandoff:
    services = call.services
    return AgentHandoff(
        busy=Busy(call.turn.busy or call.account.busy),
        limits=call.limits,
        queue_limit=services.queue_limit,
        texts=call.texts,
    )


def find_skill(name: str, offered: Sequence[SkillInfo]) -> SkillInfo | None:
    """Return the offered skill with that name, in any case, also in its command spelling."""
    wanted = _as_command(name)
    return next((one for one in offered if command_of(one) == wanted), None)


def command_of(skill: SkillInfo) -> str:
    """Return the skill's name as a command; platforms allow no hyphens there."""
    return _as_command(skill.name)


def split_command(text: str) -> tuple[str, str] | None:
    """Split `/name words` into name and words; None for any other text."""
    match = NAME.fullmatch(strip_call(text)[0])
    return None if match is None else (match["name"], (match["rest"] or "").strip())


def _as_command(name: str) -> str:
    return name.lower().replace("-", "_")


def _skill_line(texts: Texts, one: SkillInfo) -> str:
    about = shorten(one.description, ABOUT)
    return texts("skills_line" if one.enabled else "skills_line_off", command=command_of(one), about=about)


def _format_skill(texts: Texts, one: SkillInfo) -> str:
    state = texts("state_on" if one.enabled else "state_off")
    shown = texts("skill_shown", name=one.name, state=state, about=one.description, path=one.path)
    if not one.notes:
        return shown
    return "\n".join([shown, "", texts("skill_notes"), "", *(f"- {note}" for note in one.notes)])


# Maximum number of tools per server in the list of all servers.
TOOLS_SHOWN = 8


async def mcp(call: Invocation) -> Result:
    """List the servers with state and tools, show one, or switch one on or off."""
    texts = call.texts
    wanted = SWITCH.get(call.words[1].lower()) if len(call.words) == 2 else None
    if len(call.words) > 2 or (len(call.words) == 2 and wanted is None):
        return Result(texts("mcp_usage"))
    try:
        found = (await call.core.runtime.management.list_mcp_servers()).servers
    except RuntimeRefused:
        return Result(texts("mcp_unlisted"))
    except RuntimeProblem:
        return Result(texts("mcp_unreachable"))
    return await _show_or_switch(call, found, wanted) if call.words else Result(_list_servers(texts, found))


async def _show_or_switch(call: Invocation, found: Sequence[McpServerState], wanted: bool | None) -> Result:
    texts, name = call.texts, call.words[0].strip("`")
    one = next((server for server in found if server.name.lower() == name.lower()), None)
    if one is None:
        near = nearest(name, [server.name for server in found])
        return Result(texts("mcp_unknown", name=name, nearest=nearest_line(texts, near, mark="")))
    if wanted is None:
        return Result(
            "\n\n".join(filter(None, [_server_line(texts, one, most=len(one.tools)), one.description]))
        )
    if not call.may(Permission.EXTEND):
        return Result(texts("all_accounts_only", name=call.name), refused=True)
    await call.core.runtime.management.switch_mcp_server(one.name, wanted)
    return Result(texts("mcp_on" if wanted else "mcp_off", name=one.name))


def _list_servers(texts: Texts, found: Sequence[McpServerState]) -> str:
    if not found:
        return texts("mcp_none")
    lines = [f"- {_server_line(texts, one, most=TOOLS_SHOWN)}" for one in found]
    return "\n".join([texts("mcp_title"), "", *lines, "", texts("mcp_hint")])


def _server_line(texts: Texts, one: McpServerState, most: int) -> str:
    """Format name and state, then the tools of a ready server or the error of a failed one."""
    if one.state is ServerState.READY:
        if not one.tools:
            return texts("mcp_ready_bare", name=one.name)
        tools = texts("list_separator").join(f"`{tool.name}`" for tool in one.tools[:most])
        more = "" if len(one.tools) <= most else f" … (+{len(one.tools) - most})"
        return texts("mcp_ready", name=one.name, count=len(one.tools), tools=f"{tools}{more}")
    if one.state is ServerState.UNAVAILABLE:
        return texts("mcp_unavailable", name=one.name, reason=one.detail or "")
    return texts(f"mcp_{one.state.value}_now", name=one.name)
