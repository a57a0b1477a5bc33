"""What the management methods and routes return; shared by the embedded client and the HTTP API."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from agent.memory.document import Fact


class _Result(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelInfo(_Result):
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


class ModelList(_Result):
    """All models; `default` is the name of the one in use unless another is chosen, `reason` says why."""

    models: list[ModelInfo]
    default: str | None
    reason: str


class ModelProbe(_Result):
    """Whether a model answers, after so many `seconds`; `detail` tells a person why it does not."""

    name: str
    ok: bool
    detail: str | None = None
    seconds: float


class UploadInfo(_Result):
    """A file in a thread's uploads: `size` in bytes, `path` as the agent sees it."""

    filename: str
    size: int
    path: str
    mime_type: str
    artifact_url: str


class UploadResult(_Result):
    """The outcome of an upload."""

    success: bool
    files: list[UploadInfo]
    message: str


class UploadList(_Result):
    """The uploads of a thread."""

    files: list[UploadInfo]
    count: int


class Outcome(_Result):
    """Done, and what was done."""

    success: bool
    message: str


class Deleted(_Result):
    """Local data is gone (`success` also when there was none)."""

    success: bool


class Health(_Result):
    """The process is up."""

    status: str


class ErrorBody(_Result):
    """The body of every error."""

    detail: str


class MemorySettings(_Result):
    """How memory is configured; see the section `memory`."""

    enabled: bool
    injection_enabled: bool
    debounce_seconds: float
    model_name: str | None
    max_facts: int
    fact_confidence_threshold: float
    max_injection_tokens: int


class MemoryStatus(_Result):
    """How much is remembered in a scope; `updates_waiting` counts the threads that are still to be read.

    `last_updated` is ISO 8601 in UTC, "" where nothing was remembered yet.
    """

    enabled: bool
    scope: str
    facts: int
    last_updated: str
    updates_waiting: int


class MemoryChange(_Result):
    """A fact as it is now remembered."""

    success: bool
    fact: Fact
    message: str
