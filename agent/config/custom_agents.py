"""Custom agents: a folder `agents/<name>/` in the data directory, with `config.yaml` and `SOUL.md`.

Both files are optional; the folder defines the agent. `SOUL.md` is its personality, added to its system
prompt. An invalid change is rejected and changes nothing. Blocking.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field

from agent.config.document import parse_document, read_document
from agent.config.errors import ConfigErrors
from agent.config.extensions_file import replace_text
from agent.config.models import AgentConfig, known_groups, unknown_groups
from agent.config.profile import FOLDER, NAME, CustomAgentConfig, list_custom_agents
from agent.config.reader import check_section
from agent.core.paths import make_private_folder, make_staging_path
from agent.core.schemas import RequestModel
from agent.errors import Conflict, Invalid, ProfileBroken, ProfileUnknown
from agent.shared.schemas import AgentInfo, AgentList, OperationResult

CONFIG_FILE = "config.yaml"
PERSONALITY_FILE = "SOUL.md"
MAX_PERSONALITY_BYTES = 50_000


@dataclass(frozen=True, slots=True)
class CustomAgent:
    """A custom agent. None for `tool_groups` or `skills` means all; an empty `personality` means none."""

    name: str
    description: str = ""
    model: str | None = None
    tool_groups: tuple[str, ...] | None = None
    skills: tuple[str, ...] | None = None
    personality: str = ""


def read_custom_agent(home: Path, name: str, env: Mapping[str, str]) -> CustomAgent:
    """Read the custom agent with this name, ignoring case. Blocking.

    Raises ProfileUnknown (no such agent, or an invalid name) or ProfileBroken.
    """
    folder = custom_agent_folder(home, name)
    config = _read_config(folder / CONFIG_FILE, folder.name, env)
    return build_custom_agent(folder.name, config, _read_personality(folder / PERSONALITY_FILE, folder.name))


def custom_agent_folder(home: Path, name: str) -> Path:
    """Return a custom agent's folder, whose name is the canonical one. Blocking. Raises ProfileUnknown."""
    wanted = name.strip().lower()
    folder = home / FOLDER / wanted
    if not NAME.fullmatch(wanted) or not folder.is_dir():
        raise ProfileUnknown(name, list_custom_agents(home))
    return folder


def build_custom_agent(name: str, config: CustomAgentConfig, personality: str) -> CustomAgent:
    return CustomAgent(
        name=name,
        description=config.description or "",
        model=config.model,
        tool_groups=config.tool_groups,
        skills=config.skills,
        personality=personality,
    )


@dataclass(frozen=True, slots=True)
class AvailableOptions:
    """The models available to custom agents, and the configuration with the tool groups."""

    models: Sequence[str]
    config: AgentConfig


def check_model(profile: CustomAgent, models: Sequence[str]) -> str | None:
    """Return the agent's model. Raises ProfileBroken if it doesn't exist."""
    if profile.model is not None and profile.model not in models:
        raise _unmet_error(profile, "model", f'there is no model named "{profile.model}"', models)
    return profile.model


def check_tool_groups(profile: CustomAgent, config: AgentConfig) -> tuple[str, ...] | None:
    """Return the agent's tool groups. Raises ProfileBroken if one is not configured."""
    for group in unknown_groups(profile.tool_groups or (), config):
        raise _unmet_error(
            profile, "tool_groups", f"the tool group {group} is not configured", known_groups(config)
        )
    return profile.tool_groups


def describe_custom_agent(
    home: Path, name: str, env: Mapping[str, str], offer: AvailableOptions
) -> AgentInfo:
    """Return a custom agent's details. Blocking. Raises ProfileUnknown."""
    folder = custom_agent_folder(home, name)
    try:
        found = read_custom_agent(home, name, env)
    except ProfileBroken as error:
        return AgentInfo(name=folder.name, personality=_try_read_personality(folder), problem=str(error))
    return AgentInfo(
        name=found.name,
        description=found.description,
        model=found.model,
        tool_groups=None if found.tool_groups is None else list(found.tool_groups),
        skills=None if found.skills is None else list(found.skills),
        personality=found.personality,
        problem=_find_unmet_need(found, offer),
    )


def describe_custom_agents(home: Path, env: Mapping[str, str], offer: AvailableOptions) -> AgentList:
    """Return all custom agents without their personality. Unusable agents have a `problem`. Blocking."""
    found = []
    for name in list_custom_agents(home):
        with suppress(ProfileUnknown):  # taken away meanwhile
            one = describe_custom_agent(home, name, env, offer)
            found.append(one.model_copy(update={"personality": None}))
    return AgentList(agents=found)


def _find_unmet_need(profile: CustomAgent, offer: AvailableOptions) -> str | None:
    """Return why the agent's model or tool groups are not available, or None if they are."""
    try:
        check_model(profile, offer.models)
        check_tool_groups(profile, offer.config)
    except ProfileBroken as error:
        return str(error)
    return None


def _unmet_error(profile: CustomAgent, key: str, wrong: str, known: Sequence[str]) -> ProfileBroken:
    place = f"{FOLDER}/{profile.name}/{CONFIG_FILE}"
    there = ", ".join(known) or "none"
    return ProfileBroken(f"{place}: {key}: {wrong} (known: {there})", name=profile.name)


def _read_config(path: Path, name: str, env: Mapping[str, str]) -> CustomAgentConfig:
    if not path.is_file():
        return CustomAgentConfig()
    try:
        document = read_document(path, display_name=f"{FOLDER}/{name}/{CONFIG_FILE}")
        return check_section(CustomAgentConfig, document, env)
    except ConfigErrors as error:
        raise ProfileBroken(str(error).replace("\n", "; "), name=name) from None


def _try_read_personality(folder: Path) -> str | None:
    """Return the personality, or None if it can't be read."""
    try:
        return _read_personality(folder / PERSONALITY_FILE, folder.name)
    except ProfileBroken:
        return None


def _read_personality(path: Path, name: str) -> str:
    shown = f"{FOLDER}/{name}/{PERSONALITY_FILE}"
    try:
        if path.stat().st_size > MAX_PERSONALITY_BYTES:
            raise ProfileBroken(
                f"{shown}: is larger than {MAX_PERSONALITY_BYTES:,} bytes; shorten it", name=name
            )
        return path.read_text(encoding="utf-8-sig").strip()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise ProfileBroken(f"{shown}: is not UTF-8 text; save it as UTF-8", name=name) from None
    except OSError as error:
        raise ProfileBroken(f"{shown}: cannot be read: {error.strerror or 'error'}", name=name) from None


CONFIG_KEYS = ("description", "model", "tool_groups", "skills")
ALL_KEYS = frozenset({*CONFIG_KEYS, "personality"})
RESERVED = frozenset({"default"})
"""What `/agent` takes for something else."""
FOLDER_MODE = 0o700
_STAGING_PREFIX = ".aside-"
_write_lock = threading.Lock()


class CustomAgentBody(RequestModel):
    """Changes to a custom agent. An absent key is unchanged; null or "" restores the default."""

    model_config = ConfigDict(strict=True)
    description: str | None = Field(None, max_length=500)
    model: str | None = Field(None, max_length=200)
    tool_groups: list[str] | None = Field(None, max_length=200)
    skills: list[str] | None = Field(None, max_length=1000)
    personality: str | None = None

    @property
    def config_changes(self) -> Mapping[str, Any]:
        """Return the changed keys of `config.yaml`, with None for keys to remove."""
        return {key: _to_plain(getattr(self, key)) for key in CONFIG_KEYS if key in self.model_fields_set}


class NewCustomAgentBody(CustomAgentBody):
    """A custom agent to create."""

    name: str = Field(max_length=64)


def create_custom_agent(
    home: Path, body: NewCustomAgentBody, env: Mapping[str, str], offer: AvailableOptions
) -> AgentInfo:
    """Create a custom agent. Raises Invalid, or Conflict if the name is taken."""
    name = body.name.strip().lower()
    if not NAME.fullmatch(name) or name in RESERVED:
        raise Invalid(
            "name: expected at most 64 lowercase letters, digits, - and _, the first one a letter or digit,"
            f" and not {' or '.join(sorted(RESERVED))}"
        )
    config, personality = _render_config({}, body.config_changes), (body.personality or "").strip()
    _check_usable(name, config, personality, env, offer)
    agents = home / FOLDER
    with _write_lock:
        make_private_folder(agents)
        if (agents / name).exists() or (agents / name).is_symlink():
            raise Conflict(f'An agent named "{name}" already exists.')
        aside = make_staging_path(agents, _STAGING_PREFIX)
        aside.mkdir(mode=FOLDER_MODE)
        try:
            _write_or_delete(aside / CONFIG_FILE, config)
            _write_or_delete(aside / PERSONALITY_FILE, personality)
            aside.rename(agents / name)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    return describe_custom_agent(home, name, env, offer)


def change_custom_agent(
    home: Path, name: str, body: CustomAgentBody, env: Mapping[str, str], offer: AvailableOptions
) -> AgentInfo:
    """Change a custom agent. Raises ProfileUnknown or Invalid.

    Raises Conflict if its files are invalid and the body doesn't replace all of them.
    """
    with _write_lock:
        folder = custom_agent_folder(home, name)
        stored, personality = _load_stored(home, folder, body, env)
        config = _render_config(stored, body.config_changes)
        if "personality" in body.model_fields_set:
            personality = (body.personality or "").strip()
        _check_usable(folder.name, config, personality, env, offer)
        if body.config_changes and (config != _render_config(stored, {}) or not stored):
            _write_or_delete(folder / CONFIG_FILE, config)
        if "personality" in body.model_fields_set:
            _write_or_delete(folder / PERSONALITY_FILE, personality)
    return describe_custom_agent(home, folder.name, env, offer)


def delete_custom_agent(home: Path, name: str) -> OperationResult:
    """Delete a custom agent with its folder. Raises ProfileUnknown."""
    with _write_lock:
        folder = custom_agent_folder(home, name)
        if folder.is_symlink():
            folder.unlink()
        else:
            aside = make_staging_path(folder.parent, _STAGING_PREFIX)
            folder.rename(aside)
            shutil.rmtree(aside)
    return OperationResult(success=True, message=f'The agent "{folder.name}" was deleted.')


def _load_stored(
    home: Path, folder: Path, body: CustomAgentBody, env: Mapping[str, str]
) -> tuple[Mapping[str, Any], str]:
    """Return the data of `config.yaml` and the personality; both empty if the body replaces everything."""
    try:
        profile = read_custom_agent(home, folder.name, env)
    except ProfileBroken as error:
        if body.model_fields_set >= ALL_KEYS:
            return {}, ""
        raise Conflict(f"{error} To replace it, provide all of its fields.") from None
    path = folder / CONFIG_FILE
    return (read_document(path).data if path.is_file() else {}), profile.personality


def _check_usable(
    name: str, config: str, personality: str, env: Mapping[str, str], offer: AvailableOptions
) -> None:
    """Raise Invalid for an agent that would be unusable."""
    if len(personality.encode()) > MAX_PERSONALITY_BYTES:
        raise Invalid(f"personality: is larger than {MAX_PERSONALITY_BYTES:,} bytes; shorten it")
    try:
        # Lines of a text that is not written yet would mislead.
        document = replace(parse_document(config, f"{FOLDER}/{name}/{CONFIG_FILE}"), lines={})
        profile = build_custom_agent(name, check_section(CustomAgentConfig, document, env), personality)
        check_model(profile, offer.models)
        check_tool_groups(profile, offer.config)
    except ConfigErrors as error:
        raise Invalid("; ".join(str(error).splitlines())) from None
    except ProfileBroken as error:
        raise Invalid(str(error)) from None


def _render_config(stored: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """Render the file with the changes. Values are written as JSON, which is valid YAML."""
    data = {**stored, **given}
    kept = ((key, value) for key, value in data.items() if value is not None)
    return "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in kept)


def _to_plain(value: str | list[str] | None) -> str | list[str] | None:
    """Collapse text to one line, and escape a leading `$`, which would reference an environment variable."""
    if isinstance(value, list):
        return [_to_one_line(text) for text in value]
    return (_to_one_line(value) or None) if value is not None else None


def _to_one_line(text: str) -> str:
    line = " ".join(text.split())
    return f"${line}" if line.startswith("$") else line


def _write_or_delete(path: Path, text: str) -> None:
    if text:
        replace_text(path, text if text.endswith("\n") else f"{text}\n")
    else:
        path.unlink(missing_ok=True)
