"""Load config.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from agent.config.document import read_document
from agent.config.errors import ConfigWarning, Problems
from agent.config.loader import check_document
from agent.config.profile import list_custom_agents
from agent.config.reader import display_path, find_config
from bot.config.checks import check
from bot.config.models import Config, ServerConfig


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
    config, warnings = check_document(Config, document, env)
    problems = Problems(document)
    check(config, problems, _custom_agents(home))
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
    server = {key: value for key, value in document.data.items() if key == "server"}
    return check_document(Config, replace(document, data=server), env)[0].server


def _custom_agents(home: Path | None) -> tuple[str, ...] | None:
    """Return the names of the custom agents; None if they can't be read."""
    if home is None:
        return None
    try:
        return list_custom_agents(home)
    except OSError:
        return None
