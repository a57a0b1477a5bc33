"""Data classes of skills, and the skills section of the system prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from agent.config.harness import CONTAINER_PATH, SkillsConfig
from agent.shared.envelope import escape_text

_FILE_TEXTS = frozenset({"content", "old_str", "new_str"})
"""Names of the arguments with text that tools write to files."""
Category = Literal["public", "custom"]
CATEGORIES: tuple[Category, ...] = ("public", "custom")


@dataclass(frozen=True, slots=True)
class SkillRoots:
    """The skills' folders, and their path in the sandbox: `<container>/public`, `<container>/custom`."""

    public: Path
    custom: Path
    container: str = CONTAINER_PATH

    @property
    def history(self) -> Path:
        """Return the folder with replaced or removed versions of installed skills."""
        return self.custom.parent / "history"

    def folder_of(self, category: Category) -> Path:
        """Return the folder of a category, which need not exist."""
        return self.public if category == "public" else self.custom


def bundled_folder() -> Path:
    """Return the bundled skills: in the installed package, or at the root of a work tree."""
    inside = Path(__file__).parent / "bundled" / "public"
    return inside if inside.is_dir() else Path(__file__).parents[2] / "skills" / "public"


def resolve_roots(config: SkillsConfig, home: Path) -> SkillRoots:
    if config.path is None:
        return SkillRoots(bundled_folder(), home / "skills" / "custom", config.container_path)
    root = Path(config.path).expanduser()
    return SkillRoots(root / "public", root / "custom", config.container_path)


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill. `folder` is on the host; `path` is its SKILL.md as the agent sees it.

    `allowed_tools` is None if the skill doesn't declare its tools. `listed` is False if the agent uses it
    only when a person asks for it. `notes` say what of its front matter was corrected or ignored,
    and `secrets` are the environment variables that its scripts need.
    """

    name: str
    description: str
    category: Category
    folder: Path
    path: str
    license: str | None = None
    allowed_tools: tuple[str, ...] | None = None
    version: str | None = None
    author: str | None = None
    compatibility: str | None = None
    listed: bool = True
    secrets: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BrokenSkill:
    """A folder with an invalid SKILL.md: `path` is its path for the agent, `error` the reason."""

    path: str
    error: str


@dataclass(frozen=True, eq=False)
class SkillSet:
    """All skills, sorted by name. Compared by identity."""

    skills: tuple[Skill, ...] = ()
    broken: tuple[BrokenSkill, ...] = field(default=())

    @cached_property
    def by_name(self) -> MappingProxyType[str, Skill]:
        return MappingProxyType({skill.name: skill for skill in self.skills})


@dataclass(frozen=True, slots=True)
class SkillScope:
    """The skills whose files an agent may open; `root` contains all skills in the sandbox."""

    root: str
    skills: Sequence[Skill]

    def permits(self, args: Mapping[str, Any]) -> bool:
        """Return whether a tool call's arguments contain no path of another skill.

        A command can still hide a path from this check, since the sandbox contains the files of all skills.
        """
        given = {name: value for name, value in args.items() if name not in _FILE_TEXTS}
        text = re.sub(r"/(?:\.?/)+", "/", json.dumps(given, ensure_ascii=False, default=str))
        paths = re.findall(rf"{re.escape(self.root)}(?![\w-])[\w./@+-]*", text)
        folders = tuple(one.path.rpartition("/")[0] + "/" for one in self.skills)
        return all(".." not in path and f"{path}/".startswith(folders) for path in paths)


MAX_CHARACTERS = 24_000
"""Maximum length of the skill list. Beyond it descriptions are shortened, but every skill stays listed."""
_CUTS = (1_024, 300, 120, 0)
READER_TOOLS = ("read_file", "bash")
"""Tools that can read a skill; without one of them the section is omitted."""
_INTRO = """<skills>
A skill is a folder with instructions, and sometimes scripts, for one kind of work. If a request matches a
skill, read its SKILL.md with `{reader}` before you start, and follow it, unless the answer already stands in
the conversation; read its other files when it refers to them. Paths in it are relative to its folder, which
is read-only. If a tool that it needs is not available, say so."""
_OTHER_NAMES = (
    "Skills written for other agents may call your tools by other names: Read is read_file, "
    "Write is write_file, "
    "Edit is str_replace, Bash and Grep are bash, Glob is ls, WebFetch is web_fetch, WebSearch "
    "is web_search, "
    "Task is task, and TodoWrite is write_todos."
)


def render_skills_section(skills: Sequence[Skill], tools: Collection[str]) -> str:
    """Return the section about these skills for an agent with these tools, or ""."""
    reader = next((name for name in READER_TOOLS if name in tools), None)
    listed = [skill for skill in skills if skill.listed]
    if not listed or reader is None:
        return ""
    for cut in _CUTS:
        lines = [_render_line(skill, cut) for skill in listed]
        if sum(map(len, lines)) <= MAX_CHARACTERS:
            break
    # The bundled skills use this agent's own names.
    others = [_OTHER_NAMES] if any(skill.category == "custom" for skill in listed) else []
    return "\n".join([_INTRO.format(reader=reader), *others, *lines, "</skills>"])


def _render_line(skill: Skill, cut: int) -> str:
    # A skill's own text must not close the section.
    about = escape_text(skill.description, "skills")
    if len(about) > cut:
        about = about[: cut - 1].rstrip() + "…" if cut else ""
    named = escape_text(" ".join(", ".join(skill.allowed_tools or ()).split()), "skills")
    tools = f" Tools: {named}." if named and cut else ""
    return f"- {skill.name}{': ' + about if about else ''}{tools} ({skill.path})"
