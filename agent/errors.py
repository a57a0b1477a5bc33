"""The error tree of the agent half.

    AgentError
    ├── ModelError                what a person may be told about a model; its text is one clear line
    │   ├── ModelUnknown          a name that no configured model has
    │   ├── ModelUnavailable      a provider package, key or the local model is missing
    │   └── ModelCallFailed       the provider did not answer; fields `category`, `retryable`, `retry_after`
    ├── ToolUnavailable           a configured tool can't be made; field `name`
    ├── GuardrailUnavailable      the configured provider of permissions can't be made
    ├── ProfileError              an agent of one's own can't be used; field `name`
    │   ├── ProfileUnknown        a name that none has; field `known`
    │   └── ProfileBroken         its files can't be used
    ├── FileError                 uploads and artifacts; field `status` is the HTTP status that fits
    │   ├── BadIdentifier         an id or a path outside its grammar (400)
    │   ├── FileMissing           no such file (404)
    │   └── FileRefused           too large, a directory, too many (400 or 413)
    ├── ApiError                  a request that the runtime refuses; field `status` is the HTTP status
    │   ├── Invalid               a body, query or id that does not fit (422)
    │   ├── BadRequest            well-formed, but it makes no sense here (400)
    │   ├── NotFound              no such thread, run, assistant or checkpoint (404)
    │   ├── Conflict              exists already, or the thread is busy (409)
    │   └── NotSupported          not in this version (501)
    ├── GraphLoadError            a graph file, name or attribute that can't be served
    └── HomeInUse                 another process owns this home's database

Texts never hold a secret, a host path or a traceback: they reach a chat.
"""

from __future__ import annotations


class AgentError(Exception):
    """Something in the agent failed; `str()` is fit for a person."""


class ModelError(AgentError):
    """A model can't be used."""


class ModelUnknown(ModelError):
    """No configured model has this name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name = name
        self.known = known
        super().__init__(f'There is no model named "{name}". Known: {", ".join(known) or "none"}.')


class ModelUnavailable(ModelError):
    """The model is configured or found, but something it needs is missing."""


class ModelCallFailed(ModelError):
    """The provider did not give an answer.

    `category` is one of `agent.models.errors.Category`; `retryable`: whether the same call may work later;
    `retry_after`: the seconds that the provider asks to wait, None where it said nothing.
    """

    def __init__(
        self, message: str, *, category: str, retryable: bool, retry_after: float | None = None
    ) -> None:
        self.category = category
        self.retryable = retryable
        self.retry_after = retry_after
        super().__init__(message)


class ToolUnavailable(AgentError):
    """A tool of the configuration can't be made; the text says what is missing."""

    def __init__(self, message: str, *, name: str) -> None:
        self.name = name
        super().__init__(f'The tool "{name}" {message}')


class GuardrailUnavailable(AgentError):
    """Who decides about tool calls can't be made; so no call may be made either."""


class ProfileError(AgentError):
    """An agent of one's own can't be used."""

    def __init__(self, message: str, *, name: str) -> None:
        self.name = name
        super().__init__(message)


class ProfileUnknown(ProfileError):
    """There is no agent of this name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.known = known
        line = " ".join(name.split())
        shown = line if len(line) <= 64 else f"{line[:64]}…"
        there = ", ".join(known) or "none"
        super().__init__(f'There is no agent named "{shown}". Known: {there}.', name=name)


class ProfileBroken(ProfileError):
    """The agent's files can't be used; the text says where and why."""

    def __init__(self, message: str, *, name: str) -> None:
        super().__init__(f'The agent "{name}" can\'t be used: {message}.', name=name)


class FileError(AgentError):
    """An upload or artifact operation was refused."""

    status = 400


class BadIdentifier(FileError):
    """A thread id, file name or path outside its grammar or its root."""


class FileMissing(FileError):
    """No such file in this thread."""

    status = 404


class FileRefused(FileError):
    """The file or the batch breaks a limit."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        self.status = status
        super().__init__(message)


class ApiError(AgentError):
    """A request that the runtime refuses; `str()` becomes the `detail` of the answer."""

    status = 400


class BadRequest(ApiError):
    """The request is well-formed, but makes no sense here."""


class Invalid(ApiError):
    """A body, a query or an id does not fit its schema."""

    status = 422


class NotFound(ApiError):
    """No such thread, run, assistant or checkpoint."""

    status = 404


class Conflict(ApiError):
    """It exists already, or the thread is busy."""

    status = 409


class NotSupported(ApiError):
    """This version does not offer it."""

    status = 501


class GraphLoadError(AgentError):
    """A graph that the configuration names can't be loaded."""


class CheckpointLost(AgentError):
    """A checkpoint that something waited for was not stored."""


class HomeInUse(AgentError):
    """Another process owns the runtime's database below this home."""
