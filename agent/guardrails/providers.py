"""Guardrail providers: requests, decisions, the list-based provider, and loading."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Protocol, runtime_checkable

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from agent.config.errors import format_key
from agent.core.import_string import ImportStringError, check_arguments, import_object
from agent.core.run_context import RunContext
from agent.errors import GuardrailUnavailable
from agent.shared.approval_words import default_question


class SettingsError(ValueError):
    """Raised by a provider's constructor for invalid settings. The message is for display and contains no
    values.

    `at` is the path of the invalid setting, such as `("policy", "limits")`, from which its line is found.
    """

    def __init__(self, text: str, *, at: tuple[str | int, ...] = ()) -> None:
        self.at = at
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A pending tool call, with its run's context (`context.user_id`, `context.roles`)."""

    tool: str
    args: Mapping[str, Any]
    call_id: str
    context: RunContext = field(default_factory=RunContext)


@dataclass(frozen=True, slots=True)
class Allow:
    """Allow the call."""


@dataclass(frozen=True, slots=True)
class Deny:
    """Refuse the call. `reason` is for the model; `code` is for logs and programs."""

    reason: str
    code: str = "denied"


@dataclass(frozen=True, slots=True)
class Ask:
    """Require a person's decision; `question` is the text for them.

    With `remember` an approval may apply to later calls of the same tool, whatever the arguments.
    """

    question: str
    remember: bool = False


Decision = Allow | Deny | Ask


class GuardrailProvider(Protocol):
    """Decides on tool calls. Exceptions, timeouts and invalid decisions count as a denial."""

    def evaluate(self, request: ToolRequest, /) -> Decision | Awaitable[Decision]:
        """Return the decision. A plain function runs in a thread, so it may block."""
        ...


@runtime_checkable
class NamesAskedTools(Protocol):
    """A provider that knows in advance which tools require a person's decision, so that the model can be
    informed.
    """

    def asks_for(self, tool: str, /) -> bool:
        """Return whether calls of the tool require a person's decision. It must not block; if it fails, the
        model is not informed.
        """
        ...


class AllowlistProvider:
    """Denies the tools in `denied` and, if `allowed` is set, all tools not in it; asks for those in `ask`.

    Names may contain `*`. `denied` beats `ask`, which beats `allowed`. Without any list everything is
    allowed; a configuration must set at least one. Raises SettingsError for an invalid list.
    """

    def __init__(
        self, *, allowed: Iterable[str] | None = None, denied: Iterable[str] = (), ask: Iterable[str] = ()
    ) -> None:
        self._allowed = None if allowed is None else _check_names("allowed", allowed)
        self._denied, self._ask = _check_names("denied", denied), _check_names("ask", ask)

    @property
    def is_empty(self) -> bool:
        """Return whether it has no lists and therefore allows everything."""
        return self._allowed is None and not self._denied and not self._ask

    def asks_for(self, tool: str, /) -> bool:
        """Return whether calls of the tool require a person's decision."""
        return matches_any(tool, self._ask) and not matches_any(tool, self._denied)

    async def evaluate(self, request: ToolRequest, /) -> Decision:
        name = request.tool
        if matches_any(name, self._denied):
            return Deny(f"the tool {name} is not allowed here", "tool_denied")
        if matches_any(name, self._ask):
            return Ask(default_question(name), remember=True)
        if self._allowed is not None and not matches_any(name, self._allowed):
            return Deny(f"the tool {name} is not on the list of allowed tools", "tool_not_listed")
        return Allow()


def matches_any(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _check_names(field: str, given: Iterable[str]) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise SettingsError(f"`{field}` must be a list of tool names, even for a single one.")
    names = tuple(given)
    if not all(isinstance(name, str) and name for name in names):
        raise SettingsError(f"`{field}` contains an entry that is not a tool name.")
    return names


_NO_LIST = (
    "The guardrail is enabled, but it has no list: set `allowed` (the tools that may be called), `denied` or "
    "`ask` in guardrails.provider, such as `allowed: [lookup]`; `allowed: []` denies every tool."
)


def load_guardrail(use: str, settings: Mapping[str, Any] | None = None) -> GuardrailProvider:
    """Import `package.module:Class` and create it with the settings as arguments.

    Raises GuardrailUnavailable, which names the problem but no setting's value. An AllowlistProvider without
    any list is refused too, since it would allow everything.
    """
    try:
        found = import_object(use)
    except ImportStringError as error:
        raise GuardrailUnavailable(f"The guardrail can't be loaded: {error}") from error
    made = _make_provider(use, found, settings or {})
    if not callable(getattr(made, "evaluate", None)):
        raise GuardrailUnavailable(f"{use} is not a guardrail provider: it has no method evaluate.")
    if isinstance(made, AllowlistProvider) and made.is_empty:
        raise GuardrailUnavailable(_NO_LIST)
    provider: GuardrailProvider = made
    return provider


def _make_provider(use: str, found: Any, settings: Mapping[str, Any]) -> Any:
    at: tuple[str | int, ...] = ()
    try:
        if problem := check_arguments(found, settings):
            raise SettingsError(problem)
        return found(**settings)
    except SettingsError as error:
        detail, at = str(error).rstrip("."), error.at
    except ValidationError as error:
        details = error.errors(include_url=False)
        detail, at = "; ".join(map(_format_detail, details)), details[0]["loc"]
    except Exception as error:
        detail = type(error).__name__
        raise GuardrailUnavailable(f"The settings of the guardrail {use} are invalid ({detail}).") from error
    end = "" if detail.endswith("?") else "."
    raise GuardrailUnavailable(f"The settings of the guardrail {use} are invalid: {detail}{end}", at=at)


def _format_detail(detail: ErrorDetails) -> str:
    """Format the key and the problem; a message that may contain the value is reduced to its error type."""
    kind = detail["type"]
    if kind in {"missing", "extra_forbidden"}:
        what = {"missing": "is missing", "extra_forbidden": "unknown key"}[kind]
    else:
        what = detail["msg"] if kind.endswith(("_type", "_parsing")) else f"invalid ({kind})"
    return ": ".join(filter(None, (format_key(detail["loc"]), what)))
