"""Load config.yaml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from agent.config.document import ConfigDocument, read_document
from agent.config.env import resolve_env
from agent.config.errors import ConfigWarning, Problems, join_words
from agent.config.loader import prepare_document, reject_unknown_keys
from agent.config.models import AgentConfig
from agent.config.profile import list_custom_agents
from agent.config.reader import display_path, find_config, load_section
from agent.config.versions import AGENT_KEYS, AGENT_VALUES, Pattern
from bot.config.accounts import ACCOUNT_NAME, BUILT_IN, PLATFORMS, AccountConfig
from bot.config.checks import check
from bot.config.models import Config, ServerConfig

_KEYS: Sequence[Pattern] = AGENT_KEYS
_VALUES: Mapping[Pattern, frozenset[str]] = AGENT_VALUES
_SECTIONS: Mapping[str, type[BaseModel]] = {
    name: field.annotation
    for name, field in Config.model_fields.items()
    if name not in AgentConfig.model_fields
    if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
}
"""The sections of ours that are one model each."""


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A checked configuration with its path, warnings to log at the start, and content fingerprint.

    `path` is None and `fingerprint` empty for the zero configuration.
    """

    config: Config
    path: Path | None = None
    warnings: tuple[ConfigWarning, ...] = ()
    fingerprint: str = ""


def load_config(
    explicit: Path | None, env: Mapping[str, str], cwd: Path, home: Path | None = None
) -> LoadedConfig:
    """Find, read and check the configuration. Raises ConfigErrors with every problem.

    With `home`, the custom agents that accounts name must exist there.
    """
    path = find_config(explicit, env, cwd)
    return LoadedConfig(Config()) if path is None else load_file(path, env, cwd, home)


def load_file(
    path: Path,
    env: Mapping[str, str],
    cwd: Path,
    home: Path | None = None,
    *,
    may_be_empty: bool = True,
) -> LoadedConfig:
    """Read and check one file like load_config; refuse an empty one unless `may_be_empty` is set.

    Raises ConfigErrors.
    """
    document = read_document(path, display_name=display_path(path, cwd), may_be_empty=may_be_empty)
    problems = Problems(document)
    document, warnings = prepare_document(document, problems, _KEYS, _VALUES)
    reject_unknown_keys(document, Config.model_fields.keys(), problems)
    document = resolve_env(document, env, idle=_idle(document), problems=problems)
    config = _sections(document, problems)
    problems.raise_if_any()
    check(config, problems, _agents(home))
    problems.raise_if_any()
    return LoadedConfig(config, path, warnings, document.fingerprint)


def load_server(explicit: Path | None, env: Mapping[str, str], cwd: Path) -> ServerConfig:
    """Load the `server` section alone, for clients of a running service.

    Other settings that the service needs, such as account tokens, may be missing here. Raises ConfigErrors.
    """
    path = find_config(explicit, env, cwd)
    if path is None:
        return ServerConfig()
    document = read_document(path, display_name=display_path(path, cwd))
    document, _ = prepare_document(document, Problems(document), _KEYS, _VALUES)
    problems = Problems(document)
    part = replace(document, data={key: value for key, value in document.data.items() if key == "server"})
    part = resolve_env(part, env, problems=problems)
    server = load_section(ServerConfig, part.data.get("server"), part, ("server",), problems)
    problems.raise_if_any()
    return server or ServerConfig()


def _agents(home: Path | None) -> tuple[str, ...] | None:
    """Return the names of the custom agents; None if they can't be read."""
    if home is None:
        return None
    try:
        return list_custom_agents(home)
    except OSError:
        return None


def _idle(document: ConfigDocument) -> frozenset[str]:
    """Return the sections that don't apply because the runtime is remote."""
    runtime = document.data.get("runtime")
    foreign = isinstance(runtime, dict) and runtime.get("url") is not None
    return frozenset({"models", "checkpointer", "tools", "guardrails"}) if foreign else frozenset()


def _sections(document: ConfigDocument, problems: Problems) -> Config:
    data = document.data
    agent = {key: value for key, value in data.items() if key in AgentConfig.model_fields}
    parts: dict[str, Any] = {}
    if loaded := load_section(AgentConfig, agent, document, (), problems):
        parts |= {name: getattr(loaded, name) for name in AgentConfig.model_fields}
    for name, model in _SECTIONS.items():
        section = load_section(model, data.get(name), document, (name,), problems)
        if section is not None:
            parts[name] = section
    parts["channels"] = _channels(document, problems)
    return Config.model_validate(parts)


def _channels(document: ConfigDocument, problems: Problems) -> dict[str, AccountConfig]:
    given = document.data.get("channels")
    if given is None:
        given = {}
    if not isinstance(given, dict):
        problems.add(("channels",), "expected a mapping with an entry for each account")
        return {}
    accounts = {}
    for name, entry in {**{name: None for name in BUILT_IN}, **given}.items():
        account = _account(name, {} if entry is None else entry, document, problems)
        if account is not None:
            accounts[name] = account
    return accounts


def _account(name: str, entry: Any, document: ConfigDocument, problems: Problems) -> AccountConfig | None:
    path = ("channels", name)
    if not ACCOUNT_NAME.fullmatch(name):
        problems.add(path, "expected a name of lower-case letters, digits, - and _, beginning with a letter")
        return None
    if not isinstance(entry, dict):
        problems.add(path, "expected a mapping with the keys of the account")
        return None
    platform = _platform(name, entry)
    model = PLATFORMS.get(platform) if isinstance(platform, str) else None
    if model is None:
        problems.add(
            path if "platform" not in entry else (*path, "platform"),
            f"expected `platform` to be {join_words(sorted(PLATFORMS))}",
        )
        return None
    if name != platform and (name in PLATFORMS or platform in BUILT_IN):
        problems.add(path, f"the entry {name} cannot be of the platform {platform}; rename it")
        return None
    if "name" in entry:
        problems.add((*path, "name"), "unknown key; the name of an account is the key of its entry")
        return None
    return load_section(model, {**entry, "name": name, "platform": platform}, document, path, problems)


def _platform(name: str, entry: dict[str, Any]) -> Any:
    given = entry.get("platform")
    return name if given is None else given
