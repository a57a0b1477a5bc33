"""Agents of one's own: a folder `agents/<name>/` below the home, with `config.yaml` and `SOUL.md`.

Both files are optional; the folder makes the agent. `SOUL.md` is its personality: text that is put into its
system prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent.config.document import ConfigDocument, read_document
from agent.config.env import resolve_env
from agent.config.errors import ConfigErrors, Problems
from agent.config.models import AgentConfig
from agent.config.profile import FOLDER, NAME, UNSUPPORTED_KEYS, CustomAgentConfig, list_custom_agents
from agent.config.reader import load_section
from agent.config.tool_groups import known_groups, unknown_groups
from agent.config.versions import reject_unsupported
from agent.core.schemas import AgentInfo, AgentList
from agent.errors import ProfileBroken, ProfileUnknown

CONFIG_FILE = "config.yaml"
PERSONALITY_FILE = "SOUL.md"
MAX_PERSONALITY_BYTES = 50_000


@dataclass(frozen=True, slots=True)
class CustomAgent:
    """An agent of one's own. `tool_groups` and `skills` None: all; `personality` empty: none."""

    name: str
    description: str = ""
    model: str | None = None
    tool_groups: tuple[str, ...] | None = None
    skills: tuple[str, ...] | None = None
    personality: str = ""


def read_custom_agent(home: Path, name: str, env: Mapping[str, str]) -> CustomAgent:
    """The agent of this name, in any case of letters. Blocking.

    Raises ProfileUnknown (no such agent, or no name for one) or ProfileBroken.
    """
    folder = custom_agent_folder(home, name)
    config = _read_config(folder / CONFIG_FILE, folder.name, env)
    return build_custom_agent(folder.name, config, _read_personality(folder / PERSONALITY_FILE, folder.name))


def custom_agent_folder(home: Path, name: str) -> Path:
    """Where the agent of this name is; the folder has its name. Blocking; raises ProfileUnknown."""
    wanted = name.strip().lower()
    folder = home / FOLDER / wanted
    if not NAME.fullmatch(wanted) or not folder.is_dir():
        raise ProfileUnknown(name, list_custom_agents(home))
    return folder


def build_custom_agent(name: str, config: CustomAgentConfig, personality: str) -> CustomAgent:
    """The agent that its files make."""
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
    """What an agent of one's own may ask for: models by their names, and the configuration's tools."""

    models: Sequence[str]
    config: AgentConfig


def check_model(profile: CustomAgent, models: Sequence[str]) -> str | None:
    """The model that it asks for, which is one of these. Raises ProfileBroken."""
    if profile.model is not None and profile.model not in models:
        raise _unmet_error(profile, "model", f'there is no model named "{profile.model}"', models)
    return profile.model


def check_tool_groups(profile: CustomAgent, config: AgentConfig) -> tuple[str, ...] | None:
    """The groups of tools that it asks for, which are all configured. Raises ProfileBroken."""
    for group in unknown_groups(profile.tool_groups or (), config):
        raise _unmet_error(
            profile, "tool_groups", f"the tool group {group} is not configured", known_groups(config)
        )
    return profile.tool_groups


def describe_custom_agent(
    home: Path, name: str, env: Mapping[str, str], offer: AvailableOptions
) -> AgentInfo:
    """All of the agent of this name. Blocking; raises ProfileUnknown."""
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
    """All of them, without their personality; one that can't be used says why. Blocking."""
    found = []
    for name in list_custom_agents(home):
        with suppress(ProfileUnknown):  # taken away meanwhile
            one = describe_custom_agent(home, name, env, offer)
            found.append(one.model_copy(update={"personality": None}))
    return AgentList(agents=found)


def _find_unmet_need(profile: CustomAgent, offer: AvailableOptions) -> str | None:
    """Why it can't have what it asks for."""
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
        return load_custom_agent_config(
            read_document(path, display_name=f"{FOLDER}/{name}/{CONFIG_FILE}"), env
        )
    except ConfigErrors as error:
        raise ProfileBroken(str(error).replace("\n", "; "), name=name) from None


def load_custom_agent_config(document: ConfigDocument, env: Mapping[str, str]) -> CustomAgentConfig:
    """The section that the document holds. Raises ConfigErrors."""
    problems = Problems(document)
    reject_unsupported(document, UNSUPPORTED_KEYS, {}, problems)
    document = resolve_env(document, env, problems=problems)
    config = load_section(CustomAgentConfig, document.data, document, (), problems)
    problems.raise_if_any()
    assert config is not None
    return config


def _try_read_personality(folder: Path) -> str | None:
    """The personality where that alone can be read."""
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
