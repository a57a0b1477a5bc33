"""Results of the management routes that the bot reads too."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, StrictInt, ValidationInfo, model_validator

_ANY_VERSION: Final = "any version"
Failing = Literal["key", "refused", "unavailable"]
"""What a model's provider does: refuse the key, refuse the model, or not answer."""


class ResultModel(BaseModel):
    """A result of the management methods and routes.

    `omissible` are the values of fields that a runtime of another version may leave out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    omissible: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Self:
        """Validate a result from a runtime of any version; unknown keys are ignored."""
        return cls.model_validate(found, extra="ignore", context=_ANY_VERSION)

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, found: Any, info: ValidationInfo) -> Any:
        is_partial = info.context == _ANY_VERSION and isinstance(found, Mapping)
        return {**cls.omissible, **found} if is_partial else found


class ListPage(ResultModel):
    """A list or one page of it; `next` is the cursor of the next page, omitted on the last.

    The first field after it is the list; `item_key` is the field of an item that serves as cursor.
    """

    item_key: ClassVar[str] = "name"
    next: str | None = Field(default=None, exclude_if=lambda value: value is None)


class OperationResult(ResultModel):
    """Success and description of an operation."""

    success: bool
    message: str


class DeletionResult(ResultModel):
    """Local data was deleted; `success` also if there was none."""

    success: bool


class ModelInfo(ResultModel):
    """A model that can be selected.

    `source` is `config`, `env:NAME`, `ollama` or `local`. `note` is advice for people who select it.
    `failing` says why its last call failed, if that concerns all of its calls: its provider refused the key,
    refused the model (quota, limit, no access), or is unavailable.
    """

    omissible = {"model": "", "source": "", "default": False}
    name: str
    display_name: str
    model: str
    source: str
    default: bool
    note: str | None = None
    failing: Failing | Literal[""] = ""
    supports_thinking: bool = False
    supports_vision: bool = False
    supports_reasoning_effort: bool = False
    supports_tools: bool = True


class ModelList(ListPage):
    """All models; `default` is used unless another is selected, `reason` explains the default."""

    omissible = {"default": None, "reason": ""}
    models: list[ModelInfo]
    default: str | None
    reason: str

    @property
    def default_first(self) -> list[ModelInfo]:
        return sorted(self.models, key=lambda model: not model.default)


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


class AgentList(ListPage):
    """All custom agents, sorted by name."""

    agents: list[AgentInfo]


class ConfigProblem(ResultModel):
    """An unusable configured item: its location, and the problem with its remedy.

    `serious` problems refuse a changed configuration while a better one is in force.
    """

    where: str
    what: str
    serious: bool = True

    @property
    def line(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


class ConfigReport(ResultModel):
    """All problems of the configuration; empty if there are none.

    `kept` is true if a change was refused and the previous configuration is in force.
    """

    problems: list[ConfigProblem]
    kept: bool = False


class SkillInfo(ResultModel):
    """A skill: `path` is its SKILL.md as the agent sees it; `category` is public or custom.

    `required_secrets` are environment variables that its scripts need. `allowed_tools` is null if the skill
    does not name the tools it needs. `notes` say what of its front matter was corrected or is ignored.
    """

    omissible = {"description": "", "category": "custom", "path": "", "enabled": True}
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

    omissible = {"problems": []}
    skills: list[SkillInfo]
    problems: list[SkillProblem]


class SkillSwitch(BaseModel):
    """New state of a skill."""

    model_config = ConfigDict(extra="forbid", strict=True)
    enabled: bool


class SkillInRepository(BaseModel):
    """Skill in a git repository.

    `repository` is its https address, or that of a folder in GitHub or GitLab's pages. `reference` is a
    branch or tag (default: the default branch), `commit` the 40 digits of a commit, and `path` the skill's
    folder.
    """

    model_config = ConfigDict(extra="forbid")

    repository: str
    reference: str = ""
    commit: str = ""
    path: str = ""


class SkillFindingInfo(ResultModel):
    """A finding in a skill's files. `severity` is danger, warning or note; line 0 stands for the whole
    file.
    """

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


class RestoredVersion(BaseModel):
    """The version to restore; null: the last one before the current one."""

    model_config = ConfigDict(extra="forbid")

    version: StrictInt | None = None


class ServerState(StrEnum):
    """State of an MCP server; an idle one starts with the next run."""

    OFF = "off"
    IDLE = "idle"
    STARTING = "starting"
    READY = "ready"
    UNAVAILABLE = "unavailable"


class McpToolInfo(ResultModel):
    """A server's tool, with its name on the server, and whether the agent gets it."""

    name: str
    description: str = ""
    enabled: bool = True


class McpServerState(ResultModel):
    """State of an MCP server; `detail` explains why it, or some of its tools, can't be used.

    The state is dumped as a plain string.
    """

    name: str
    state: Annotated[ServerState, PlainSerializer(attrgetter("value"))]
    description: str | None = None
    detail: str | None = None
    tools: list[McpToolInfo] = []


class McpServerList(ListPage):
    """All MCP servers, in the order of the file."""

    servers: list[McpServerState]


class McpServerSwitch(BaseModel):
    """New state of an MCP server; null: unchanged. `tools` are all those that the agent gets."""

    model_config = ConfigDict(extra="forbid", strict=True)
    enabled: bool | None = None
    tools: list[str] | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.enabled is None and self.tools is None:
            raise ValueError("expected enabled or tools")
        return self


class RecordingTranscript(ResultModel):
    """The transcript of a recording. If there is none, `text` is null and `note` gives the reason."""

    omissible = {"text": None}
    text: str | None
    note: str | None = None
