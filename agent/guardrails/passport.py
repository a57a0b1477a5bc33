"""Parse and load a passport."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from agent.config.errors import key_text, listed
from agent.config.validate import known_keys, message_of
from agent.guardrails.decisions import SettingsError

SIMILARITY = 0.8
"""A key as close as this to one of ours is taken for a mistake and not for one of another reader."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Capability(_Strict):
    """A permission of the agent: the tools that exercise it, and its roles (empty for everybody)."""

    id: str
    tools: tuple[str, ...] = Field(min_length=1)
    roles: tuple[str, ...] = ()
    require_approval: bool = False


class ArgumentLimit(_Strict):
    """Patterns by argument: at least one of `allowed` must match, none of `blocked` may."""

    allowed: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    blocked: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)


class Passport(BaseModel):
    """The whole policy; unknown keys are left to other readers of the same file."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    status: str = "active"
    expires_at: datetime | None = None
    capabilities: tuple[Capability, ...] = ()
    limits: Mapping[str, ArgumentLimit] = Field(default_factory=dict)


def parse_passport(policy: Any) -> Passport:
    """Parse a passport. Raises SettingsError that says what is expected of each invalid part."""
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
    place, kind = key_text(detail["loc"]), detail["type"]
    if kind.startswith("datetime"):
        what = "expected a moment such as 2027-06-30T00:00:00Z"
    elif kind == "too_short":
        what = "expected at least one"
    else:
        what = message_of(detail, known_keys(Passport, detail["loc"][:-1]))
    return ": ".join(filter(None, (place, what)))


def read_version(path: Path) -> tuple[int, int]:
    """Return modification time (ns) and size (bytes) of the file. Raises SettingsError."""
    try:
        stat = path.stat()
    except OSError as error:
        raise _unreadable_file(path, error) from error
    return (stat.st_mtime_ns, stat.st_size)


def load_passport(path: Path) -> Passport:
    """Load a passport from a YAML or JSON file. Raises SettingsError."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _unreadable_file(path, error) from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"policy: {path} is no YAML") from error
    try:
        return parse_passport(data)
    except SettingsError as error:
        raise SettingsError(f"policy: {path}: {error}", at=("policy",)) from error


def _unreadable_file(path: Path, error: OSError) -> SettingsError:
    return SettingsError(f"policy: {path}: {error.strerror}")


def _check_keys(policy: Any) -> None:
    """Refuse unknown keys that resemble a known one; other readers may have their own keys."""
    for key in policy if isinstance(policy, Mapping) else ():
        near = get_close_matches(str(key), Passport.model_fields, n=1, cutoff=SIMILARITY)
        if near and key not in Passport.model_fields:
            raise SettingsError(f"{key}: unknown key; did you mean {near[0]}?", at=("policy", key))


def _check_limits(passport: Passport) -> None:
    known = [capability.id for capability in passport.capabilities]
    for name in passport.limits:
        if name not in known:
            told = f"no capability has this id; known: {listed(sorted(known), 'and') or 'none'}"
            raise SettingsError(f"limits.{name}: {told}", at=("policy", "limits", name))
