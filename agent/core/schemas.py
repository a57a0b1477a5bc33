"""What the management methods and routes return; shared by the embedded client and the HTTP API."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from agent.core.memory_document import Fact


class ResultModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Page(ResultModel):
    """A list, or a page of one: `next` is the cursor of the page that follows, left out at the end."""

    next: str | None = Field(default=None, exclude_if=lambda value: value is None)


class ModelInfo(ResultModel):
    """One model that may be chosen.

    `source` says where it was found: `config`, `env:NAME`, `ollama` or `local`. `note` is what a person
    should know before choosing it.
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


class ModelList(Page):
    """All models; `default` is the name of the one in use unless another is chosen, `reason` says why."""

    models: list[ModelInfo]
    default: str | None
    reason: str


class ModelProbe(ResultModel):
    """Whether a model answers, after so many `seconds`; `detail` tells a person why it does not."""

    name: str
    ok: bool
    detail: str | None = None
    seconds: float


class AgentInfo(ResultModel):
    """An agent of one's own. `model` None: the usual one, `tool_groups` and `skills` None: all of them;
    `personality` None: not said here, as in lists.

    `problem` is a line that says why it can't be used, None where it can; what can't be read is not said.
    """

    name: str
    description: str = ""
    model: str | None = None
    tool_groups: list[str] | None = None
    skills: list[str] | None = None
    personality: str | None = None
    problem: str | None = None


class AgentList(Page):
    """All agents of one's own, in the order of their names."""

    agents: list[AgentInfo]


class OutlineEntry(ResultModel):
    """A heading of a document's Markdown, and its line, from 1 on."""

    title: str
    line: int


class MarkdownInfo(ResultModel):
    """What became of a document: its Markdown lies beside it, `lines` long, `size` in bytes.

    `path` (as the agent sees it) and `artifact_url` are null where there is none; `note` says why, or what is
    not in it.
    """

    path: str | None
    artifact_url: str | None
    size: int
    lines: int
    outline: list[OutlineEntry]
    note: str | None = None


class ConfigProblem(ResultModel):
    """Something that is configured and can't be used: where, and what it is with what to do about it.

    `serious`: the configuration is refused for it while a better one is in force.
    """

    where: str
    what: str
    serious: bool = True


class ConfigReport(ResultModel):
    """Everything that is wrong; empty where all is well. `kept`: a change was refused for it, and what was
    read before is in force.
    """

    problems: list[ConfigProblem]
    kept: bool = False


class UploadInfo(ResultModel):
    """A file in a thread's uploads: `size` in bytes, `path` as the agent sees it.

    `markdown` is null for what is no document. A document's Markdown is not listed by itself.
    """

    filename: str
    size: int
    path: str
    mime_type: str
    artifact_url: str
    markdown: MarkdownInfo | None = None


class UploadResult(ResultModel):
    """The outcome of an upload."""

    success: bool
    files: list[UploadInfo]
    message: str


class UploadList(Page):
    """The uploads of a thread."""

    files: list[UploadInfo]
    count: int


class SkillInfo(ResultModel):
    """A skill: `path` is its SKILL.md as the agent sees it; `category` is public or custom.

    `allowed_tools` null: it does not say which tools it needs.
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
    """A folder whose SKILL.md can't be used, and why."""

    path: str
    error: str


class SkillList(Page):
    """All skills, and the folders that hold none that can be used."""

    skills: list[SkillInfo]
    problems: list[SkillProblem]


class SkillInstalled(ResultModel):
    """A skill was installed; `executables` are its files that could be run as programs."""

    success: bool
    skill_name: str
    message: str
    executables: list[str]


class McpOAuthInfo(ResultModel):
    """How a token for a server is got; secrets are shown as `***`."""

    grant_type: str = "client_credentials"
    token_url: str = ""
    client_id: str | None = None
    client_secret: str | None = None
    refresh_token: str | None = None
    scope: str | None = None
    audience: str | None = None
    client_auth: str = "post"


class McpServerInfo(ResultModel):
    """An MCP server as it is configured; secrets are shown as `***`, `$NAME` as it stands."""

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
    """A tool of a server, as the server calls it."""

    name: str
    description: str = ""


class McpServerState(ResultModel):
    """How an MCP server is doing.

    `state` is off, idle (it starts with the next run), starting, ready or unavailable (why: `detail`).
    """

    name: str
    state: str
    description: str | None = None
    detail: str | None = None
    tools: list[McpToolInfo] = []


class McpServerList(Page):
    """All MCP servers, in the order of the file."""

    servers: list[McpServerState]


class OperationResult(ResultModel):
    """Done, and what was done."""

    success: bool
    message: str


class DeletionResult(ResultModel):
    """Local data is gone (`success` also when there was none)."""

    success: bool


class Health(ResultModel):
    """The process is up."""

    status: str


class ErrorBody(ResultModel):
    """The body of every error."""

    detail: str


class SuggestionList(ResultModel):
    """What a person may want to say next."""

    suggestions: list[str]


class MemorySettings(ResultModel):
    """How memory is configured; see the section `memory`."""

    enabled: bool
    injection_enabled: bool
    debounce_seconds: float
    model_name: str | None
    max_facts: int
    fact_confidence_threshold: float
    max_injection_tokens: int


class MemoryStatus(ResultModel):
    """How much is remembered in a scope; `updates_waiting` counts the threads that are still to be read.

    `last_updated` is ISO 8601 in UTC, "" where nothing was remembered yet.
    """

    enabled: bool
    scope: str
    facts: int
    last_updated: str
    updates_waiting: int


class MemoryChange(ResultModel):
    """A fact as it is now remembered."""

    success: bool
    fact: Fact
    message: str
