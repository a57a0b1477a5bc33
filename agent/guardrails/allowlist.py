"""Allow or deny tools by name, or ask first."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from agent.guardrails.decisions import Allow, Ask, Decision, Deny, SettingsError, ToolRequest


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
        """True if it has no list and therefore allows everything."""
        return self._allowed is None and not self._denied and not self._ask

    async def evaluate(self, request: ToolRequest, /) -> Decision:
        name = request.tool
        if matches_any(name, self._denied):
            return Deny(f"the tool {name} is not allowed here", "tool_denied")
        if matches_any(name, self._ask):
            return Ask(f"May the agent use {name}?", remember=True)
        if self._allowed is not None and not matches_any(name, self._allowed):
            return Deny(f"the tool {name} is not on the list of allowed ones", "tool_not_listed")
        return Allow()


def matches_any(name: str, patterns: Iterable[str]) -> bool:
    """Return whether a pattern matches the name."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _check_names(field: str, given: Iterable[str]) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise SettingsError(f"`{field}` is a list of tool names, even of one.")
    names = tuple(given)
    if not all(isinstance(name, str) and name for name in names):
        raise SettingsError(f"`{field}` has an entry that is no tool name.")
    return names
