"""Request bodies and results of the management methods and routes, for embedded client and HTTP API."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.core.memory_document import Fact
from agent.errors import Invalid


class RequestModel(BaseModel):
    """A request body; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def of(cls, parts: Any) -> Self:
        """Validate plain data. Raises Invalid, naming the field that does not fit."""
        try:
            return cls.model_validate(parts)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "body"
            raise Invalid(f"{where}: {first['msg']}") from None


class ResultModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


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


class ModelList(ListPage):
    """All models; `default` is used unless another is selected, `reason` explains the default."""

    models: list[ModelInfo]
    default: str | None
    reason: str


class ModelProbe(ResultModel):
    """Result of a test prompt after `seconds`; `detail` explains a failure."""

    name: str
    ok: bool
    detail: str | None = None
    seconds: float


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


class OutlineEntry(ResultModel):
    """A heading of a document's Markdown and its line number, from 1."""

    title: str
    line: int


class MarkdownInfo(ResultModel):
    """The Markdown version of a document: `lines` long, `size` in bytes.

    `path` (as the agent sees it) and `artifact_url` are null if there is none; `note` says why, or what it
    lacks.
    """

    path: str | None
    artifact_url: str | None
    size: int
    lines: int
    outline: list[OutlineEntry]
    note: str | None = None


class ConfigProblem(ResultModel):
    """A configured item that cannot be used: its place, and the problem with its remedy.

    `serious` problems refuse a changed configuration while a better one is in force.
    """

    where: str
    what: str
    serious: bool = True


class ConfigReport(ResultModel):
    """All problems of the configuration; empty if there are none.

    `kept` is true if a change was refused and the previous configuration is in force.
    """

    problems: list[ConfigProblem]
    kept: bool = False


class UploadInfo(ResultModel):
    """An uploaded file: `size` in bytes, `path` as the agent sees it.

    `markdown` is null for files that are not documents. A document's Markdown is not listed separately.
    """

    filename: str
    size: int
    path: str
    mime_type: str
    artifact_url: str
    markdown: MarkdownInfo | None = None


class UploadResult(ResultModel):
    """Result of an upload."""

    success: bool
    files: list[UploadInfo]
    message: str


class UploadList(ListPage):
    """The uploads of a thread."""

    files: list[UploadInfo]
    count: int


class SkillInfo(ResultModel):
    """A skill: `path` is its SKILL.md as the agent sees it; `category` is public or custom.

    `allowed_tools` is null if the skill does not name the tools it needs.
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


class SkillProblem(ResultModel):
    """A folder whose SKILL.md cannot be used, and the reason."""

    path: str
    error: str


class SkillList(ListPage):
    """All skills, and the folders without a usable one."""

    skills: list[SkillInfo]
    problems: list[SkillProblem]


class SkillInstalled(ResultModel):
    """Result of an installation; `executables` are files that could be run as programs."""

    success: bool
    skill_name: str
    message: str
    executables: list[str]


class McpOAuthInfo(ResultModel):
    """OAuth settings of a server; secrets are shown as `***`."""

    grant_type: str = "client_credentials"
    token_url: str = ""
    client_id: str | None = None
    client_secret: str | None = None
    refresh_token: str | None = None
    scope: str | None = None
    audience: str | None = None
    client_auth: str = "post"


class McpServerInfo(ResultModel):
    """Configuration of an MCP server; secrets are shown as `***`, `$NAME` is not resolved."""

    enabled: bool = True
    type: str
    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    url: str | None = None
    headers: dict[str, str] = {}
    oauth: McpOAuthInfo | None = None
    description: str | None = None
    scope: str = "thread"
    timeout_seconds: float = 60.0
    start_seconds: float = 30.0


class McpConfig(ResultModel):
    """All MCP servers by name."""

    mcp_servers: dict[str, McpServerInfo]


class McpToolInfo(ResultModel):
    """A tool of a server, with the server's name for it."""

    name: str
    description: str = ""


class McpServerState(ResultModel):
    """State of an MCP server.

    `state` is off, idle (starts with the next run), starting, ready or unavailable (explained by `detail`).
    """

    name: str
    state: str
    description: str | None = None
    detail: str | None = None
    tools: list[McpToolInfo] = []


class McpServerList(ListPage):
    """All MCP servers, in the order of the file."""

    servers: list[McpServerState]


class OperationResult(ResultModel):
    """Success and description of an operation."""

    success: bool
    message: str


class DeletionResult(ResultModel):
    """Local data was deleted; `success` also if there was none."""

    success: bool


class Health(ResultModel):
    """The process is running."""

    status: str


class ErrorBody(ResultModel):
    """The body of every error."""

    detail: str


class SuggestionList(ResultModel):
    """Suggested follow-up messages."""

    suggestions: list[str]


class MemorySettings(ResultModel):
    """The section `memory` of the configuration."""

    enabled: bool
    injection_enabled: bool
    debounce_seconds: float
    model_name: str | None
    max_facts: int
    fact_confidence_threshold: float
    max_injection_tokens: int


class MemoryStatus(ResultModel):
    """Size of a scope's memory; `updates_waiting` counts the threads that are still to be read.

    `last_updated` is ISO 8601 in UTC, "" for an empty memory.
    """

    enabled: bool
    scope: str
    facts: int
    last_updated: str
    updates_waiting: int


class MemoryChange(ResultModel):
    """A stored fact after a change."""

    success: bool
    fact: Fact
    message: str
