"""Decisions by a passport like those of the Open Agent Passport: permissions and their limits.

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

A tool that no capability names is denied, and so is a call that lacks a limited argument. Patterns are
shell-like (`*`) and match the whole argument as text.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from agent.config.errors import KeyPath, format_key, join_words
from agent.config.reader import describe_error, locate_error
from agent.guardrails.providers import Allow, Ask, Decision, Deny, SettingsError, ToolRequest, matches_any
from agent.shared.last_good import Stamp, file_stamp

SIMILARITY = 0.8
"""Minimum similarity (0 to 1) to a known key at which an unknown key counts as a typo."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Capability(_Strict):
    """A permission of the agent: the tools that use it, and its roles (empty for everyone)."""

    id: str
    tools: tuple[str, ...] = Field(min_length=1)
    roles: tuple[str, ...] = ()
    require_approval: bool = False


class ArgumentLimit(_Strict):
    """Patterns by argument: at least one of `allowed` must match, none of `blocked` may."""

    allowed: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    blocked: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)


class Passport(BaseModel):
    """The whole policy. Unknown keys are ignored, since other programs may read the same file."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    status: str = "active"
    expires_at: datetime | None = None
    capabilities: tuple[Capability, ...] = ()
    limits: Mapping[str, ArgumentLimit] = Field(default_factory=dict)


def parse_passport(policy: Any) -> Passport:
    """Parse a passport. Raises SettingsError with the expected value of each invalid part."""
    try:
        passport = Passport.model_validate(policy)
    except ValidationError as error:
        details = error.errors(include_url=False)
        raise SettingsError(
            "; ".join(map(_format_detail, details)), at=("policy", *details[0]["loc"])
        ) from error
    _check_keys(policy)
    _check_limits(passport)
    return passport


def _format_detail(detail: ErrorDetails) -> str:
    place, kind = format_key(detail["loc"]), detail["type"]
    if kind.startswith("datetime"):
        what = "expected a time such as 2027-06-30T00:00:00Z"
    elif kind == "too_short":
        what = "expected at least one"
    else:
        what = describe_error(detail, locate_error(Passport, detail)[1])
    return ": ".join(filter(None, (place, what)))


def load_passport(path: Path) -> Passport:
    """Load a passport from a YAML or JSON file. Raises SettingsError."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"policy: {path}: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"policy: {path} is not YAML") from error
    try:
        return parse_passport(data)
    except SettingsError as error:
        raise SettingsError(f"policy: {path}: {error}", at=("policy",)) from error


def _check_keys(policy: Any) -> None:
    """Reject unknown keys that resemble a known one; ignore others, which may belong to other programs."""
    for key in policy if isinstance(policy, Mapping) else ():
        near = get_close_matches(str(key), Passport.model_fields, n=1, cutoff=SIMILARITY)
        if near and key not in Passport.model_fields:
            raise SettingsError(f"{key}: unknown key; did you mean {near[0]}?", at=("policy", key))


def _check_limits(passport: Passport) -> None:
    known = [capability.id for capability in passport.capabilities]
    for name in passport.limits:
        if name not in known:
            told = f"no capability has this id; known: {join_words(sorted(known), 'and') or 'none'}"
            raise SettingsError(f"limits.{name}: {told}", at=("policy", "limits", name))


class PolicyProvider:
    """Decides by a passport: a mapping, or the path of a YAML or JSON file that is reloaded on change.

    Raises SettingsError for an unreadable file and an invalid passport. A file that becomes invalid later
    denies everything. Blocking.
    """

    def __init__(
        self,
        policy: Mapping[str, Any] | str | Path,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._path = Path(policy) if isinstance(policy, str | Path) else None
        self._passport: Passport | None = None
        self._stamp: Stamp | None = None
        self._now = now
        self._passport = parse_passport(policy) if self._path is None else self._read_file(self._path)

    def warnings(self) -> tuple[tuple[KeyPath, str], ...]:
        """Return why the passport denies every call: the setting and the remedy. Blocking."""
        assert self._passport is not None
        if (why := _check_validity(self._passport, self._now())) is None:
            return ()
        at: KeyPath = ("policy", why.key) if self._path is None else ("policy",)
        return ((at, f"{why.denial.reason}, so every call is denied; {why.advice}."),)

    def asks_for(self, tool: str, /) -> bool:
        """Return whether calls of the tool require a person's decision, by the last loaded passport."""
        assert self._passport is not None
        if _check_validity(self._passport, self._now()) is not None:
            return False
        fitting = [one for one in self._passport.capabilities if matches_any(tool, one.tools)]
        return bool(fitting) and all(one.require_approval for one in fitting)

    async def evaluate(self, request: ToolRequest, /) -> Decision:
        passport = (
            self._passport if self._path is None else await asyncio.to_thread(self._read_file, self._path)
        )
        assert passport is not None
        if (why := _check_validity(passport, self._now())) is not None:
            return why.denial
        fitting = [c for c in passport.capabilities if matches_any(request.tool, c.tools)]
        if not fitting:
            return Deny(f"the agent's passport does not cover the tool {request.tool}", "tool_not_allowed")
        return _most_permissive([_decide_capability(c, passport.limits.get(c.id), request) for c in fitting])

    def _read_file(self, path: Path) -> Passport:
        stamp = file_stamp(path)
        if self._passport is None or stamp is None or stamp != self._stamp:
            self._passport, self._stamp = load_passport(path), stamp
        return self._passport


@dataclass(frozen=True, slots=True)
class _Invalidity:
    """The reason why a passport is not in effect: its key, the denial and the remedy."""

    key: str
    denial: Deny
    advice: str


def _check_validity(passport: Passport, now: datetime) -> _Invalidity | None:
    if passport.status != "active":
        told = f"the agent's passport is {passport.status}"
        return _Invalidity("status", Deny(told, "passport_not_active"), "set the status to active")
    if passport.expires_at is not None and _with_timezone(passport.expires_at) <= now:
        return _Invalidity(
            "expires_at",
            Deny("the agent's passport has expired", "passport_expired"),
            "give it a later expires_at",
        )
    return None


def _decide_capability(capability: Capability, limit: ArgumentLimit | None, request: ToolRequest) -> Decision:
    if capability.roles and not set(capability.roles) & set(request.context.roles):
        return Deny(f"{capability.id} is only for {', '.join(capability.roles)}", "role_not_allowed")
    if limit is not None and (absent := _missing_arguments(limit, request.args)):
        problem = f"its limits require {', '.join(absent)}, which the call does not contain"
        return Deny(f"{capability.id}: {problem}", "argument_missing")
    if limit is not None and (problem := _find_violation(limit, request.args)):
        return Deny(f"{capability.id}: {problem}", "limit_exceeded")
    if capability.require_approval:
        return Ask(f"May I use {request.tool} ({capability.id})?", remember=True)
    return Allow()


def _most_permissive(decisions: Sequence[Decision]) -> Decision:
    """Return the most permissive decision, since several capabilities may cover one tool."""
    for kind in (Allow, Ask):
        for decision in decisions:
            if isinstance(decision, kind):
                return decision
    return decisions[0]


def _missing_arguments(limit: ArgumentLimit, args: Mapping[str, Any]) -> list[str]:
    """Return the limited arguments that are missing in the call, so that the limits can't be checked."""
    return [name for name in dict.fromkeys([*limit.blocked, *limit.allowed]) if name not in args]


def _find_violation(limit: ArgumentLimit, args: Mapping[str, Any]) -> str:
    for name, patterns in limit.blocked.items():
        if any(fnmatchcase(_as_text(args[name]), pattern) for pattern in patterns):
            return f"the value of {name} is blocked"
    for name, patterns in limit.allowed.items():
        if not any(fnmatchcase(_as_text(args[name]), pattern) for pattern in patterns):
            return f"the value of {name} is not one of the allowed values"
    return ""


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _with_timezone(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
