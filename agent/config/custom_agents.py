"""Custom agents: a folder `agents/<name>/` in the data directory, with `config.yaml` and `SOUL.md`.

Both files are optional; the folder defines the agent. `SOUL.md` is its personality, added to its system
prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent.config.document import ConfigDocument, read_document
from agent.config.errors import ConfigErrors
from agent.config.models import AgentConfig
from agent.config.profile import FOLDER, NAME, CustomAgentConfig, list_custom_agents
from agent.config.reader import check_section
from agent.config.tool_groups import known_groups, unknown_groups
from agent.core.schemas import AgentInfo, AgentList
from agent.errors import ProfileBroken, ProfileUnknown

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
    """Return the folder of a custom agent; its name is the canonical one. Blocking. Raises ProfileUnknown."""
    wanted = name.strip().lower()
    folder = home / FOLDER / wanted
    if not NAME.fullmatch(wanted) or not folder.is_dir():
        raise ProfileUnknown(name, list_custom_agents(home))
    return folder


def build_custom_agent(name: str, config: CustomAgentConfig, personality: str) -> CustomAgent:
    """Build a custom agent from the content of its files."""
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
    """The models that a custom agent may name, and the configuration with the tool groups."""

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
    """Return all details of a custom agent. Blocking. Raises ProfileUnknown."""
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
    """Return all custom agents without their personality. Unusable ones have a `problem`. Blocking."""
    found = []
    for name in list_custom_agents(home):
        with suppress(ProfileUnknown):  # taken away meanwhile
            one = describe_custom_agent(home, name, env, offer)
            found.append(one.model_copy(update={"personality": None}))
    return AgentList(agents=found)


def _find_unmet_need(profile: CustomAgent, offer: AvailableOptions) -> str | None:
    """Return the reason why the agent's model or tool groups are not available, or None."""
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
    """Validate the document as the configuration of a custom agent. Raises ConfigErrors."""
    return check_section(CustomAgentConfig, document, env)


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
