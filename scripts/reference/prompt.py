"""System prompt reference: what the model is told in every conversation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent.core.interfaces import SandboxFacts
from agent.harness.lead_prompt import PromptParts, render_prompt
from agent.harness.subagent_prompt import SubagentBriefing, subagent_prompt
from agent.middleware.memory import INJECTED, NOTHING
from agent.middleware.subagent_limit import AT_ONCE, MOST, PROMPT
from agent.sandbox.facts import describe_sandbox, with_image_python
from agent.sandbox.options import SandboxLimits
from agent.sandbox.prompt_section import render_sandbox_section
from agent.skills.skill import Skill, render_skills_section
from agent.subagents.kinds import SUBAGENT_TYPES, TASK
from agent.tools.sandbox import sandbox_tools
from scripts.reference.markdown import page

INTRO = """
This is what the model is told before a conversation, with the default configuration and the sandbox's Python
set up. All chats of an agent begin with the same text, so that the provider reads it from its cache (see
[Keep prompts cacheable](../decisions/keep-prompts-cacheable.md)). The chat, the memory and the date follow.

Each part is there only if it is true: nothing on schedules and commands if the agent runs without the bot,
nothing on memory, skills, the sandbox or subagents if they are off. A custom agent's personality follows the
skills. A model with a small context has a prompt of two sentences and the date instead.
"""
MEMORY = """
## Memory

After the part that all chats share comes what the agent [remembers](../howto/agent-memory.md) of the person,
or of the group. A thread keeps the memory with which it began, except that deleted facts disappear at once:
"""
ALONE = """
## Subagents

A subagent of the type `{kind}` is told:
"""
_EXAMPLE = Skill(
    "example", "What it is for.", "public", Path("example"), "/mnt/skills/public/example/SKILL.md"
)


def render_system_prompt() -> str:
    """Return the page."""
    tools = ["web_search", "web_fetch", "ask_clarification", *(tool.name for tool in sandbox_tools())]
    skills = render_skills_section([_EXAMPLE], tools)
    lead = [
        render_prompt(PromptParts(tools, in_chat=True, memory=True, skills=skills)),
        render_sandbox_section(tools, _facts()),
        PROMPT.format(tool=TASK, at_once=AT_ONCE, most=MOST),
    ]
    kind = SUBAGENT_TYPES[0]
    own = [name for name in tools if name not in {"present_files", "ask_clarification"}]
    subagent = [
        subagent_prompt(kind, own, SubagentBriefing([_EXAMPLE]), kind.turns),
        render_sandbox_section(own, _facts(), for_subagent=True),
    ]
    memory = [INJECTED.format(text=NOTHING)]
    told = [INTRO, _block(lead), MEMORY, _block(memory)]
    return page("System prompt", *told, ALONE.format(kind=kind.name), _block(subagent))


def _facts() -> SandboxFacts:
    return with_image_python(describe_sandbox(SandboxLimits(), network=False))


def _block(sections: Sequence[str]) -> str:
    return "\n".join(["```text", "\n\n".join(sections), "```"])
