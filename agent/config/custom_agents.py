"""Agents of one's own: a folder `agents/<name>/` below the home, with `config.yaml` and `SOUL.md`.

Both files are optional; the folder makes the agent. `SOUL.md` is its personality: text that is put into its
system prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent.config.document import Document
from agent.config.env import resolve_env
from agent.config.errors import ConfigErrors
from agent.config.models import AgentConfig
from agent.config.problems import Problems
from agent.config.profile import FOLDER, NAME, PROFILE_KEYS, ProfileConfig, profile_names
from agent.config.reader import read_document
from agent.config.tool_groups import known_groups, unknown_groups
from agent.config.unsupported import refuse_unavailable
from agent.config.validate import load
from agent.core.schemas import AgentInfo, AgentList
from agent.errors import ProfileBroken, ProfileUnknown

CONFIG = "config.yaml"
PERSONALITY = "SOUL.md"
PERSONALITY_BYTES = 50_000


@dataclass(frozen=True, slots=True)
class Profile:
    """An agent of one's own. `tool_groups` and `skills` None: all; `personality` empty: none."""

    name: str
    description: str = ""
    model: str | None = None
    tool_groups: tuple[str, ...] | None = None
    skills: tuple[str, ...] | None = None
    personality: str = ""


def read_profile(home: Path, name: str, env: Mapping[str, str]) -> Profile:
    """The agent of this name, in any case of letters. Blocking.

    Raises ProfileUnknown (no such agent, or no name for one) or ProfileBroken.
    """
    folder = profile_folder(home, name)
    config = _config(folder / CONFIG, folder.name, env)
    return profile_of(folder.name, config, _personality(folder / PERSONALITY, folder.name))


def profile_folder(home: Path, name: str) -> Path:
    """Where the agent of this name is; the folder has its name. Blocking; raises ProfileUnknown."""
    wanted = name.strip().lower()
    folder = home / FOLDER / wanted
    if not NAME.fullmatch(wanted) or not folder.is_dir():
        raise ProfileUnknown(name, profile_names(home))
    return folder


def profile_of(name: str, config: ProfileConfig, personality: str) -> Profile:
    """The agent that its files make."""
    return Profile(
        name=name,
        description=config.description or "",
        model=config.model,
        tool_groups=config.tool_groups,
        skills=config.skills,
        personality=personality,
    )


@dataclass(frozen=True, slots=True)
class Offer:
    """What an agent of one's own may ask for: models by their names, and the configuration's tools."""

    models: Sequence[str]
    config: AgentConfig


def model_of(profile: Profile, models: Sequence[str]) -> str | None:
    """The model that it asks for, which is one of these. Raises ProfileBroken."""
    if profile.model is not None and profile.model not in models:
        raise _asks(profile, "model", f'there is no model named "{profile.model}"', models)
    return profile.model


def groups_of(profile: Profile, config: AgentConfig) -> tuple[str, ...] | None:
    """The groups of tools that it asks for, which are all configured. Raises ProfileBroken."""
    for group in unknown_groups(profile.tool_groups or (), config):
        raise _asks(profile, "tool_groups", f"the tool group {group} is not configured", known_groups(config))
    return profile.tool_groups


def describe_profile(home: Path, name: str, env: Mapping[str, str], offer: Offer) -> AgentInfo:
    """All of the agent of this name. Blocking; raises ProfileUnknown."""
    folder = profile_folder(home, name)
    try:
        found = read_profile(home, name, env)
    except ProfileBroken as error:
        return AgentInfo(name=folder.name, personality=_readable(folder), problem=str(error))
    return AgentInfo(
        name=found.name,
        description=found.description,
        model=found.model,
        tool_groups=None if found.tool_groups is None else list(found.tool_groups),
        skills=None if found.skills is None else list(found.skills),
        personality=found.personality,
        problem=_unmet(found, offer),
    )


def describe_profiles(home: Path, env: Mapping[str, str], offer: Offer) -> AgentList:
    """All of them, without their personality; one that can't be used says why. Blocking."""
    found = []
    for name in profile_names(home):
        with suppress(ProfileUnknown):  # taken away meanwhile
            one = describe_profile(home, name, env, offer)
            found.append(one.model_copy(update={"personality": None}))
    return AgentList(agents=found)


def _unmet(profile: Profile, offer: Offer) -> str | None:
    """Why it can't have what it asks for."""
    try:
        model_of(profile, offer.models)
        groups_of(profile, offer.config)
    except ProfileBroken as error:
        return str(error)
    return None


def _asks(profile: Profile, key: str, wrong: str, known: Sequence[str]) -> ProfileBroken:
    place = f"{FOLDER}/{profile.name}/{CONFIG}"
    there = ", ".join(known) or "none"
    return ProfileBroken(f"{place}: {key}: {wrong} (known: {there})", name=profile.name)


def _config(path: Path, name: str, env: Mapping[str, str]) -> ProfileConfig:
    if not path.is_file():
        return ProfileConfig()
    try:
        return config_of(read_document(path, shown=f"{FOLDER}/{name}/{CONFIG}"), env)
    except ConfigErrors as error:
        raise ProfileBroken(str(error).replace("\n", "; "), name=name) from None


def config_of(document: Document, env: Mapping[str, str]) -> ProfileConfig:
    """The section that the document holds. Raises ConfigErrors."""
    problems = Problems(document)
    refuse_unavailable(document, PROFILE_KEYS, {}, problems)
    document = resolve_env(document, env, problems=problems)
    config = load(ProfileConfig, document.data, document, (), problems)
    problems.raise_if_any()
    assert config is not None
    return config


def _readable(folder: Path) -> str | None:
    """The personality where that alone can be read."""
    try:
        return _personality(folder / PERSONALITY, folder.name)
    except ProfileBroken:
        return None


def _personality(path: Path, name: str) -> str:
    shown = f"{FOLDER}/{name}/{PERSONALITY}"
    try:
        if path.stat().st_size > PERSONALITY_BYTES:
            raise ProfileBroken(f"{shown}: is larger than {PERSONALITY_BYTES:,} bytes; shorten it", name=name)
        return path.read_text(encoding="utf-8-sig").strip()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise ProfileBroken(f"{shown}: is not UTF-8 text; save it as UTF-8", name=name) from None
    except OSError as error:
        raise ProfileBroken(f"{shown}: cannot be read: {error.strerror or 'error'}", name=name) from None
