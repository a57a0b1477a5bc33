"""Results of the management routes that the bot reads too."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer


class ResultModel(BaseModel):
    """A result of the management methods and routes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Self:
        """Validate a result of a runtime of any version; unknown keys are ignored."""
        return cls.model_validate(found, extra="ignore")


class ListPage(ResultModel):
    """A list or a page of one; `next` is the cursor of the next page, omitted on the last."""

    next: str | None = Field(default=None, exclude_if=lambda value: value is None)


class ModelInfo(ResultModel):
    """A model that can be selected.

    `source` is `config`, `env:NAME`, `ollama` or `local`. `note` is advice for people who select it.
    """

    name: str
    display_name: str
    model: str
    source: str
    default: bool
    note: str | None = None
    supports_thinking: bool = False
    supports_vision: bool = False
    supports_reasoning_effort: bool = False
    supports_tools: bool = True


class AgentInfo(ResultModel):
    """A custom agent. None means the default `model`, all `tool_groups` or all `skills`.

    `personality` is None in lists. `problem` says why the agent cannot be used, None if it can; fields that
    cannot be read are omitted.
    """

    name: str
    description: str = ""
    model: str | None = None
    tool_groups: list[str] | None = None
    skills: list[str] | None = None
    personality: str | None = None
    problem: str | None = None


class ConfigProblem(ResultModel):
    """A configured item that cannot be used: its place, and the problem with its remedy.

    `serious` problems refuse a changed configuration while a better one is in force.
    """

    where: str
    what: str
    serious: bool = True

    @property
    def line(self) -> str:
        """Return the problem as one line."""
        return f"{self.where}: {self.what}" if self.where else self.what


class SkillInfo(ResultModel):
    """A skill: `path` is its SKILL.md as the agent sees it; `category` is public or custom.

    `required_secrets` are environment variables that its scripts need. `allowed_tools` is null if the skill
    does not name the tools it needs. `notes` say what of its front matter was corrected or is ignored.
    """

    name: str
    description: str
    category: str
    path: str
    enabled: bool
    license: str | None = None
    allowed_tools: list[str] | None = None
    version: str | None = None
    author: str | None = None
    compatibility: str | None = None
    required_secrets: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)


class SkillProblem(ResultModel):
    """A folder whose SKILL.md cannot be used, and the reason."""

    path: str
    error: str


class SkillList(ListPage):
    """All skills, and the folders without a usable one."""

    skills: list[SkillInfo]
    problems: list[SkillProblem]


class SkillFindingInfo(ResultModel):
    """Something to look at in a skill's files. `severity` is danger, warning or note; line 0: the file."""

    severity: str
    kind: str
    file: str
    line: int
    detail: str


class SkillCheck(ResultModel):
    """What an installation would install. `replaces` is the category of the skill in its place, "" if none.

    `executables` are files that could be run as programs. `notes` say what of the skill's front matter was
    corrected or is ignored, and `findings` what to look at in its files, the most severe first. `commit` is
    that of the repository.
    """

    name: str
    description: str
    version: str | None
    executables: list[str]
    notes: list[str]
    findings: list[SkillFindingInfo]
    replaces: str
    commit: str


class SkillInstalled(ResultModel):
    """Result of an installation; `executables`, `notes` and `findings` are those of `SkillCheck`."""

    success: bool
    skill_name: str
    message: str
    executables: list[str]
    notes: list[str] = Field(default_factory=list)
    findings: list[SkillFindingInfo] = Field(default_factory=list)


class SkillVersionInfo(ResultModel):
    """A version of an installed skill. `installed_at` is in seconds since 1970.

    `kind` is archive, folder, git or unknown, and `location` the file, folder or repository that it came
    from. Of a repository, `path` is the skill's folder, `reference` the branch or tag that was asked for,
    and `commit` what was installed. The files of a version that is not `kept` are gone, unless it is the
    `current` one.
    """

    number: int
    installed_at: float
    current: bool
    kept: bool
    kind: str
    location: str
    path: str
    reference: str
    commit: str
    version: str | None


class SkillVersionList(ResultModel):
    """The versions of an installed or removed skill, the newest first."""

    versions: list[SkillVersionInfo]


class ServerState(StrEnum):
    """State of an MCP server; an idle one starts with the next run."""

    OFF = "off"
    IDLE = "idle"
    STARTING = "starting"
    READY = "ready"
    UNAVAILABLE = "unavailable"


class McpToolInfo(ResultModel):
    """A tool of a server, with the server's name for it."""

    name: str
    description: str = ""


class McpServerState(ResultModel):
    """State of an MCP server; `detail` explains why it is unavailable.

    The state is dumped as a plain string.
    """

    name: str
    state: Annotated[ServerState, PlainSerializer(attrgetter("value"))]
    description: str | None = None
    detail: str | None = None
    tools: list[McpToolInfo] = []
