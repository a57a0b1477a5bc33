"""What the management methods and routes return; shared by the embedded client and the HTTP API."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


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


class AgentInfo(_Result):
    """An agent of one's own. `model` None: the usual one, `tool_groups` None: all tools.

    `problem` is a line that says why it can't be used (None where it can); nothing else but the name is known
    then.
    """

    name: str
    description: str = ""
    model: str | None = None
    tool_groups: list[str] | None = None
    problem: str | None = None


class AgentList(_Result):
    """All agents of one's own, in the order of their names."""

    agents: list[AgentInfo]


class ConfigProblem(_Result):
    """Something that is configured and can't be used: where, and what it is with what to do about it.

    `serious`: the configuration is refused for it while a better one is in force.
    """

    where: str
    what: str
    serious: bool = True


class ConfigReport(_Result):
    """Everything that is wrong; empty where all is well."""

    problems: list[ConfigProblem]


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
