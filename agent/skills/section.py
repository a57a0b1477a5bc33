"""The part of the system prompt that tells of skills."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agent.skills.skill import Skill

MAX_CHARACTERS = 24_000
"""Of the list; descriptions are cut where it would be longer. Every skill stays in it."""
_CUTS = (1_024, 300, 120, 0)
READER_TOOLS = ("read_file", "bash")
"""Tools that can read a skill; without one of them skills are not told of."""
_INTRO = """<skills>
A skill is a folder with instructions, and maybe scripts, for one kind of work. Where a request fits one, read
its SKILL.md with `{reader}` before you begin, and follow it; read its other files when it names them. Paths
in it are relative to its folder, which can't be written to. Say so when a tool that it needs is not there."""


def render_skills_section(skills: Sequence[Skill], tools: Collection[str]) -> str:
    """The list of these skills for an agent with these tools; empty without skills or a way to read them."""
    reader = next((name for name in READER_TOOLS if name in tools), None)
    if not skills or reader is None:
        return ""
    for cut in _CUTS:
        lines = [_render_line(skill, cut) for skill in skills]
        if sum(map(len, lines)) <= MAX_CHARACTERS:
            break
    return "\n".join([_INTRO.format(reader=reader), *lines, "</skills>"])


def _render_line(skill: Skill, cut: int) -> str:
    # What a skill says of itself must not end the list.
    about = skill.description.replace("<", "&lt;")
    if len(about) > cut:
        about = about[: cut - 1].rstrip() + "…" if cut else ""
    tools = f" Tools: {', '.join(skill.allowed_tools)}." if skill.allowed_tools and cut else ""
    return f"- {skill.name}{': ' + about if about else ''}{tools} ({skill.path})"
