"""`/skills`, `/skill` and `/<skill>`: list, turn on or off, and use the agent's skills.

Only the runtime knows the skills, and to accept a message must not wait for it. So `/<skill>` is accepted as
a command, and its handler changes the turn into a chat turn, which keeps its place in the queue. The line
that names the skill is added when the run is created, so `/retry` and messages with files ask for the skill
in the same way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agent.shared.schemas import SkillInfo
from agent.shared.text import shorten
from bot.access import Permission, Target
from bot.commands.ask import hand_off
from bot.commands.registry import SWITCH, Invocation, Result, nearest, nearest_line, suggest_names
from bot.errors import RuntimeProblem, RuntimeRefused
from bot.features.agent_management.skill_changes import INSTALL, change_skill, is_change
from bot.texts import Texts

# Maximum length of a skill's description in a list (characters).
ABOUT = 100
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
    lines = [_skill_line(texts, one) for one in found.skills if call.profile.allows_skill(one.name)]
    if call.may(Permission.INSPECT, Target(call.caller.home.account)):
        lines += [texts("skills_broken", name=one.path, reason=one.error) for one in found.problems]
    hint = texts("skills_hint") if lines else texts("skills_none")
    return Result("\n".join([texts("skills_title"), "", *lines, *([""] if lines else []), hint]))


async def skill(call: Invocation) -> Result:
    """Show a skill, turn it on or off for everyone, or install, update, remove or restore one."""
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
    """Return the skill name in the first argument; a removed skill is not in any list."""
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


class SkillCommands:
    """Handles unknown commands as skill names."""

    async def handle_unknown(self, call: Invocation) -> Result | None:
        """Hand the turn to the agent if the command is a skill's name, otherwise suggest names, including
        skills; None if the runtime has no skills.
        """
        texts = call.texts
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                offered = (await call.core.runtime.management.list_skills()).skills
        except RuntimeRefused:
            return None
        except (RuntimeProblem, TimeoutError):
            return Result(texts("unknown_for_now", name=call.name))
        found = find_skill(call.name, [one for one in offered if call.profile.allows_skill(one.name)])
        if found is None:
            return suggest_names(call, call.name, [command_of(one) for one in offered if one.enabled])
        return await hand_off(call) if found.enabled else Result(texts("skill_is_off", name=found.name))


def find_skill(name: str, offered: Sequence[SkillInfo]) -> SkillInfo | None:
    """Return the skill with this name or command spelling, ignoring case."""
    wanted = _as_command(name)
    return next((one for one in offered if command_of(one) == wanted), None)


def command_of(skill: SkillInfo) -> str:
    """Return a skill's name as a command, without hyphens, which platforms do not allow."""
    return _as_command(skill.name)


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
