"""Request bodies and results of the management methods and routes, for embedded client and HTTP API."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.errors import Invalid
from agent.shared.memory_document import Fact
from agent.shared.schemas import ListPage, ResultModel


class RequestModel(BaseModel):
    """A request body; unknown keys are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def of(cls, parts: Any) -> Self:
        """Validate plain data. Raises Invalid with the field that does not fit."""
        try:
            return cls.model_validate(parts)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "body"
            raise Invalid(f"{where}: {first['msg']}") from None


class ModelProbe(ResultModel):
    """Result of a test prompt after `seconds`; `detail` explains a failure."""

    name: str
    ok: bool
    detail: str | None = None
    seconds: float


class OutlineEntry(ResultModel):
    """A heading of a document's Markdown and its line number, from 1."""

    title: str
    line: int


class TableInfo(ResultModel):
    """A table of a document: its number of rows that are not empty and of columns, and the first rows.

    `title` names the sheet of a workbook; `layout` says how a text file is delimited and encoded.
    `is_estimate` is true if the rows were not counted one by one.
    """

    title: str
    rows: int
    columns: int
    layout: str = ""
    sample: list[str] = Field(default_factory=list)
    is_estimate: bool = False


class MarkdownInfo(ResultModel):
    """The Markdown version of a document: `lines` long, `size` in bytes.

    `path` (as the agent sees it) and `artifact_url` are null if there is none; `note` says why, or what it
    lacks. `pictures` are the paths of images in the document, `tables` those of a workbook or
    a delimited file.
    """

    path: str | None
    artifact_url: str | None
    size: int
    lines: int
    outline: list[OutlineEntry]
    note: str | None = None
    pictures: list[str] = Field(default_factory=list)
    tables: list[TableInfo] = Field(default_factory=list)


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

    item_key = "filename"
    files: list[UploadInfo]
    count: int


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
    sign_in: str = "person"
    trusted_hosts: list[str] = Field(default=[])


class McpServerInfo(ResultModel):
    """Configuration of an MCP server; secrets are shown as `***`, `$NAME` is not resolved."""

    enabled: bool = True
    type: str
    command: str | None = None
    args: list[str] = Field(default=[])
    env: dict[str, str] = Field(default={})
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = Field(default={})
    oauth: McpOAuthInfo | None = None
    description: str | None = None
    tools: list[str] | None = None
    scope: str = "thread"
    timeout_seconds: float = 60.0
    start_seconds: float = 30.0


class McpConfig(ResultModel):
    """All MCP servers by name."""

    mcp_servers: dict[str, McpServerInfo]


class McpSignIn(ResultModel):
    """A person's sign-in to an MCP server: `url` is the provider's page, "" once the sign-in has ended.

    `person` is "" for a sign-in that everybody uses; `asked_by` and `account` say who asked for it, and on
    which account of the bot.
    """

    server: str
    person: str
    url: str
    error: str = ""
    asked_by: str = ""
    account: str = ""


class ErasedSignIns(ResultModel):
    """Number of MCP servers that a person was signed in to."""

    sign_ins: int


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
