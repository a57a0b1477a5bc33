"""A passport for the agent, in the manner of the Open Agent Passport: what it may do, within which limits.

    status: active
    expires_at: 2027-01-01T00:00:00Z
    capabilities:
      - id: web.fetch
        tools: [web_search, web_fetch]
      - id: system.command.execute
        tools: [bash]
        roles: [owner, admin]
        require_approval: true
    limits:
      system.command.execute:
        allowed: {command: ["git *", "ls*"]}
        blocked: {command: ["*sudo*"]}

A tool that no capability names is denied. Patterns are shell-like (`*`), against the whole argument as text.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from agent.guardrails.allowlist import matches
from agent.guardrails.decisions import Allow, Ask, Decision, Deny, SettingsError, ToolRequest


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Capability(_Strict):
    """Something that the agent may do: the tools that do it, for whom (empty: for everybody)."""

    id: str
    tools: tuple[str, ...] = Field(min_length=1)
    roles: tuple[str, ...] = ()
    require_approval: bool = False


class Limit(_Strict):
    """By argument: patterns of which one has to fit, and patterns of which none may."""

    allowed: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    blocked: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)


class Passport(BaseModel):
    """The whole policy; keys that are not known are left to other readers of the same file."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    status: str = "active"
    expires_at: datetime | None = None
    capabilities: tuple[Capability, ...] = ()
    limits: Mapping[str, Limit] = Field(default_factory=dict)


class PolicyProvider:
    """Decides by a passport: a mapping, or the path of a YAML or JSON file, read again when it changes.

    Raises SettingsError for a file that can't be read, pydantic's ValidationError for what is no passport.
    A file that becomes so later denies everything. Blocking.
    """

    def __init__(
        self,
        policy: Mapping[str, Any] | str | Path,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._path = Path(policy) if isinstance(policy, str | Path) else None
        self._passport: Passport | None = None
        self._read_at: tuple[int, int] | None = None
        self._now = now
        try:
            self._passport = Passport.model_validate(policy) if self._path is None else self._read(self._path)
        except OSError as error:
            raise SettingsError(f"policy: {self._path}: {error.strerror}") from error
        except (UnicodeDecodeError, yaml.YAMLError) as error:
            raise SettingsError(f"policy: {self._path} is no YAML") from error

    async def evaluate(self, request: ToolRequest, /) -> Decision:
        """See `GuardrailProvider`."""
        passport = self._passport if self._path is None else await asyncio.to_thread(self._read, self._path)
        assert passport is not None
        if passport.status != "active":
            return Deny(f"the agent's passport is {passport.status}", "passport_not_active")
        if passport.expires_at is not None and _aware(passport.expires_at) <= self._now():
            return Deny("the agent's passport has expired", "passport_expired")
        fitting = [c for c in passport.capabilities if matches(request.tool, c.tools)]
        if not fitting:
            return Deny(f"the agent's passport does not cover the tool {request.tool}", "tool_not_allowed")
        return _first_allowed([_decided(c, passport.limits.get(c.id), request) for c in fitting])

    def _read(self, path: Path) -> Passport:
        stat = path.stat()
        version = (stat.st_mtime_ns, stat.st_size)
        if self._passport is None or version != self._read_at:
            self._passport = Passport.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
            self._read_at = version
        return self._passport


def _decided(capability: Capability, limit: Limit | None, request: ToolRequest) -> Decision:
    if capability.roles and not set(capability.roles) & set(request.context.roles):
        return Deny(f"{capability.id} is for {', '.join(capability.roles)} only", "role_not_allowed")
    if limit is not None and (problem := _beyond(limit, request.args)):
        return Deny(f"{capability.id}: {problem}", "limit_exceeded")
    if capability.require_approval:
        return Ask(f"May the agent use {request.tool} ({capability.id})?", remember=True)
    return Allow()


def _first_allowed(decisions: Sequence[Decision]) -> Decision:
    """What allows most: several capabilities may cover one tool."""
    for kind in (Allow, Ask):
        for decision in decisions:
            if isinstance(decision, kind):
                return decision
    return decisions[0]


def _beyond(limit: Limit, args: Mapping[str, Any]) -> str:
    for name, patterns in limit.blocked.items():
        if any(fnmatchcase(_text(args.get(name)), pattern) for pattern in patterns):
            return f"the value of {name} is blocked"
    for name, patterns in limit.allowed.items():
        if not any(fnmatchcase(_text(args.get(name)), pattern) for pattern in patterns):
            return f"the value of {name} is not among the allowed ones"
    return ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
