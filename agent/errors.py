"""Errors of the agent, and redaction of untrusted texts.

Texts never contain a secret, a host path or a traceback, because they are shown in chats.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType


class AgentError(Exception):
    """Base class of the agent's errors; `str()` may be displayed to people."""


class StatusError(AgentError):
    """Base class of errors with the HTTP `status` of a response."""

    status = 400

    def __init__(self, message: str, *, status: int | None = None) -> None:
        self.status = status or self.status
        super().__init__(message)


class ModelError(AgentError):
    """A model cannot be used."""


class ModelUnknown(ModelError):
    """No configured model has this name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name = name
        self.known = known
        super().__init__(f'There is no model named "{name}". Available: {", ".join(known) or "none"}.')


class ModelUnavailable(ModelError):
    """The model is configured or was discovered, but a requirement is missing."""


class ModelCallFailed(ModelError):
    """The provider did not respond.

    `category` is one of `agent.models.errors.Category`. `retryable` is true if the same call may work later;
    `retry_after` is the delay that the provider asks for (s), None if it did not say.
    """

    def __init__(
        self, message: str, *, category: str, retryable: bool, retry_after: float | None = None
    ) -> None:
        self.category = category
        self.retryable = retryable
        self.retry_after = retry_after
        super().__init__(message)


class ToolUnavailable(AgentError):
    """A configured tool cannot be created; the message states what is missing."""

    def __init__(self, message: str, *, name: str) -> None:
        self.name = name
        super().__init__(f'The tool "{name}" {message}')


class GuardrailUnavailable(AgentError):
    """The guardrail provider cannot be created, so no tool call may be made.

    `at` is the path of the invalid setting, as far as it is known.
    """

    def __init__(self, message: str, *, at: tuple[str | int, ...] = ()) -> None:
        self.at = at
        super().__init__(message)


class TranscriberUnavailable(AgentError):
    """The transcriber cannot be created; the message states what is missing."""


class RecordingRefused(AgentError):
    """A recording can't be transcribed: too large, too long or in an unknown format."""


class ProfileError(AgentError):
    """A custom agent cannot be used."""

    def __init__(self, message: str, *, name: str) -> None:
        self.name = name
        super().__init__(message)


class ProfileUnknown(ProfileError):
    """No custom agent has this name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.known = known
        line = " ".join(name.split())
        shown = line if len(line) <= 64 else f"{line[:64]}…"
        there = ", ".join(known) or "none"
        super().__init__(f'There is no agent named "{shown}". Available: {there}.', name=name)


class ProfileBroken(ProfileError):
    """A custom agent's files cannot be used; the message states where and why."""

    def __init__(self, message: str, *, name: str) -> None:
        super().__init__(f'The agent "{name}" can\'t be used: {message}.', name=name)


class SkillError(StatusError):
    """A skill cannot be used or installed."""


class SkillUnknown(SkillError):
    """No skill has this name."""

    status = 404

    def __init__(self, name: str) -> None:
        self.name = name
        line = " ".join(name.split())
        super().__init__(f'There is no skill named "{line if len(line) <= 64 else line[:64] + "…"}".')


class SkillRefused(SkillError):
    """The archive can't be installed as a skill; the message states why."""


class McpError(AgentError):
    """Base class of MCP server errors."""

    def __init__(self, message: str, *, server: str) -> None:
        self.server = server
        super().__init__(f'The MCP server "{server}" {message}')


class McpUnavailable(McpError):
    """The server cannot be started or reached; the message states why and how to fix it."""


class McpCallFailed(McpError):
    """The server did not respond to a call."""


class AcpError(AgentError):
    """Base class of errors of external (ACP) agents."""

    def __init__(self, message: str, *, agent: str) -> None:
        self.agent = agent
        super().__init__(f'The ACP agent "{agent}" {message}')


class AcpUnavailable(AcpError):
    """The agent cannot be started or opens no session; the message states why and how to fix it."""


class AcpFailed(AcpError):
    """The agent did not finish a task."""


class WebError(AgentError):
    """A web search or a page fetch failed."""


class WebRefused(WebError):
    """The address must not be requested; the message states why."""


class WebFailed(WebError):
    """There was no usable response; the message states why."""


class FileError(StatusError):
    """An upload or artifact operation was refused."""


class BadIdentifier(FileError):
    """A thread id, file name or path is outside its grammar or its root."""


class FileMissing(FileError):
    """The thread has no such file."""

    status = 404


class FileRefused(FileError):
    """The file or the batch exceeds a limit, or is a directory."""


class ApiError(StatusError):
    """A request that the runtime rejects; `str()` becomes the response's `detail`, beside its `headers`."""

    headers: Mapping[str, str] = MappingProxyType({})


class BadRequest(ApiError):
    """The request is well-formed but not applicable here."""


class Invalid(ApiError):
    """A body, query or id does not match its schema."""

    status = 422


class Forbidden(ApiError):
    """Only the bot may send this, in a signed request."""

    status = 403


class NotFound(ApiError):
    """The thread, run, assistant or checkpoint does not exist."""

    status = 404


class Conflict(ApiError):
    """The object already exists, or the thread is busy."""

    status = 409


class Refused(ApiError):
    """The `auth` handlers of a project refuse the request, or one of them failed (500)."""

    def __init__(self, message: str, status: int, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.headers = headers or {}
        super().__init__(message)


class Unavailable(ApiError):
    """The server can't do this now; a later attempt may succeed."""

    status = 503


class GraphLoadError(AgentError):
    """A configured graph cannot be loaded."""


class CheckpointLost(AgentError):
    """A checkpoint that a call waited for was not stored."""


class HomeInUse(AgentError):
    """The runtime's database can't be used: by another process, or because data was not copied to it."""


_SANDBOX_FOLDER = "/mnt/(?:user-data|acp-workspace|skills)"
_SANDBOX_PATH = re.compile(
    rf"""(?<![\w.~/-])(?:(?P<quote>["'`]){_SANDBOX_FOLDER}[^"'`\n]*(?P=quote)"""
    rf"""|{_SANDBOX_FOLDER}[\w.@+%~=/,;()\[\]{{}}#&!$-]*)"""
)
"""A path as the agent sees it, which is no secret; only in quotes it may have spaces."""
_HOST_BEGIN = rf"(?:~|[A-Za-z]:)?[/\\](?!{_SANDBOX_FOLDER[1:]}(?![\w-]))"
_HOST_QUOTED = re.compile(
    rf"""(?P<quote>["'`]){_HOST_BEGIN}(?:(?!(?P=quote))[^\n])*[/\\](?P<name>[^/\\\n]*?)(?P=quote)"""
)
_NAME = r"[\w.@+~&#%=-]+"
# A name does not end with a space, or "/a/b /mnt/user-data/c" would be one path.
_HOST_FOLDERS = re.compile(rf"(?<![\w.:/~]){_HOST_BEGIN}(?:{_NAME}(?: {_NAME})*[/\\])+")
_KEY_LIKE = re.compile(r"\b(?=[\w.+/-]*\d)[\w.+/-]{20,}|\b(?:sk|key|gsk|xai|AIza)[-_\w*]{4,}", re.IGNORECASE)
_MAX_CHARACTERS = 160


def hide_host_folders(text: str) -> str:
    """Replace the folders in host paths by an ellipsis; sandbox paths are unchanged."""
    text = _HOST_QUOTED.sub(lambda found: f"{found['quote']}…/{found['name']}{found['quote']}", text)
    return _HOST_FOLDERS.sub("…/", text)


def redact_line(text: str, *, most: int = _MAX_CHARACTERS) -> str:
    """Return `text` as one line of at most `most` characters, without anything that looks like a key.

    Paths in the sandbox stay, and are not cut. Lone surrogates, which names of files have, are replaced.
    """
    text = text.encode(errors="replace").decode()
    pieces, at = [], 0
    for path in _SANDBOX_PATH.finditer(text):
        pieces += [_KEY_LIKE.sub("…", text[at : path.start()]), path[0]]
        at = path.end()
    line = " ".join("".join([*pieces, _KEY_LIKE.sub("…", text[at:])]).split())
    if len(line) <= most:
        return line
    end = next((found.start() for found in _SANDBOX_PATH.finditer(line) if found.end() >= most), most - 1)
    return line[: min(end, most - 1)] + "…"
