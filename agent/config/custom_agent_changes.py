"""Makes, changes and removes agents of one's own; what does not fit changes nothing. Blocking."""

from __future__ import annotations

import json
import secrets
import shutil
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field

from agent.config.custom_agents import (
    CONFIG,
    PERSONALITY,
    PERSONALITY_BYTES,
    Offer,
    config_of,
    describe_profile,
    groups_of,
    model_of,
    profile_folder,
    profile_of,
    read_profile,
)
from agent.config.document import parse_document, read_document
from agent.config.errors import ConfigErrors
from agent.config.extensions_file import put_text
from agent.config.profile import FOLDER, NAME
from agent.core.home import make_private_folder
from agent.core.schemas import AgentInfo, OperationResult, RequestModel
from agent.errors import Conflict, Invalid, ProfileBroken

KEYS = ("description", "model", "tool_groups", "skills")
PARTS = frozenset({*KEYS, "personality"})
RESERVED = frozenset({"default"})
"""What `/agent` takes for something else."""
FOLDER_MODE = 0o700
STALE_SECONDS = 3_600
_ASIDE = ".aside-"
_changing = threading.Lock()


class ProfileBody(RequestModel):
    """What of an agent is to be changed: what is absent stays as it is, null or "" is the usual again."""

    model_config = ConfigDict(strict=True)
    description: str | None = Field(None, max_length=500)
    model: str | None = Field(None, max_length=200)
    tool_groups: list[str] | None = Field(None, max_length=200)
    skills: list[str] | None = Field(None, max_length=1000)
    personality: str | None = None

    @property
    def given(self) -> Mapping[str, Any]:
        """The keys of `config.yaml` that are to be changed, None for those that are to go."""
        return {key: _plain(getattr(self, key)) for key in KEYS if key in self.model_fields_set}


class NewProfileBody(ProfileBody):
    """An agent to be made."""

    name: str = Field(max_length=64)


def make_profile(home: Path, body: NewProfileBody, env: Mapping[str, str], offer: Offer) -> AgentInfo:
    """Make an agent. Raises Invalid, or Conflict where something has its name already."""
    name = body.name.strip().lower()
    if not NAME.fullmatch(name) or name in RESERVED:
        raise Invalid(
            "name: expected at most 64 lower-case letters, digits, - and _, the first one a letter or digit,"
            f" and not {' or '.join(sorted(RESERVED))}"
        )
    config, personality = _text({}, body.given), (body.personality or "").strip()
    _check(name, config, personality, env, offer)
    agents = home / FOLDER
    with _changing:
        make_private_folder(agents)
        if (agents / name).exists() or (agents / name).is_symlink():
            raise Conflict(f'There is an agent named "{name}" already.')
        _remove_left_over(agents)
        aside = agents / f"{_ASIDE}{secrets.token_hex(8)}"
        aside.mkdir(mode=FOLDER_MODE)
        try:
            _put(aside / CONFIG, config)
            _put(aside / PERSONALITY, personality)
            aside.rename(agents / name)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    return describe_profile(home, name, env, offer)


def change_profile(
    home: Path, name: str, body: ProfileBody, env: Mapping[str, str], offer: Offer
) -> AgentInfo:
    """Change an agent. Raises ProfileUnknown, Invalid, or Conflict where its files can't be read as they are
    and only some of its parts are given.
    """
    with _changing:
        folder = profile_folder(home, name)
        stored, personality = _stored(home, folder, body, env)
        config = _text(stored, body.given)
        if "personality" in body.model_fields_set:
            personality = (body.personality or "").strip()
        _check(folder.name, config, personality, env, offer)
        if body.given and (config != _text(stored, {}) or not stored):
            _put(folder / CONFIG, config)
        if "personality" in body.model_fields_set:
            _put(folder / PERSONALITY, personality)
    return describe_profile(home, folder.name, env, offer)


def remove_profile(home: Path, name: str) -> OperationResult:
    """Remove an agent with its folder. Raises ProfileUnknown."""
    with _changing:
        folder = profile_folder(home, name)
        if folder.is_symlink():
            folder.unlink()
        else:
            _remove_left_over(folder.parent)
            aside = folder.with_name(f"{_ASIDE}{secrets.token_hex(8)}")
            folder.rename(aside)
            shutil.rmtree(aside)
    return OperationResult(success=True, message=f'The agent "{folder.name}" is deleted.')


def _stored(
    home: Path, folder: Path, body: ProfileBody, env: Mapping[str, str]
) -> tuple[Mapping[str, Any], str]:
    """The data of `config.yaml` as it stands, and the personality; none where all is written anew."""
    try:
        profile = read_profile(home, folder.name, env)
    except ProfileBroken as error:
        if body.model_fields_set >= PARTS:
            return {}, ""
        raise Conflict(f"{error} Give all of its parts to write it anew.") from None
    path = folder / CONFIG
    return (read_document(path).data if path.is_file() else {}), profile.personality


def _check(name: str, config: str, personality: str, env: Mapping[str, str], offer: Offer) -> None:
    """Refuse what could not be used. Raises Invalid."""
    if len(personality.encode()) > PERSONALITY_BYTES:
        raise Invalid(f"personality: is larger than {PERSONALITY_BYTES:,} bytes; shorten it")
    try:
        # Lines of a text that is not written yet would mislead.
        document = replace(parse_document(config, f"{FOLDER}/{name}/{CONFIG}"), lines={})
        profile = profile_of(name, config_of(document, env), personality)
        model_of(profile, offer.models)
        groups_of(profile, offer.config)
    except ConfigErrors as error:
        raise Invalid("; ".join(str(error).splitlines())) from None
    except ProfileBroken as error:
        raise Invalid(str(error)) from None


def _text(stored: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """The file with what is given; JSON values, which YAML reads as they are meant."""
    data = {**stored, **given}
    kept = ((key, value) for key, value in data.items() if value is not None)
    return "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in kept)


def _plain(value: str | list[str] | None) -> str | list[str] | None:
    """A value as the file says it: text on one line, without naming a variable of the environment."""
    if isinstance(value, list):
        return [_one_line(text) for text in value]
    return (_one_line(value) or None) if value is not None else None


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return f"${line}" if line.startswith("$") else line


def _put(path: Path, text: str) -> None:
    """Write the file; nothing to say is no file."""
    if text:
        put_text(path, text if text.endswith("\n") else f"{text}\n")
    else:
        path.unlink(missing_ok=True)


def _remove_left_over(agents: Path) -> None:
    """What a killed process left."""
    for path in agents.glob(f"{_ASIDE}*"):
        if path.is_dir() and not path.is_symlink() and time.time() - path.stat().st_mtime > STALE_SECONDS:
            shutil.rmtree(path, ignore_errors=True)
