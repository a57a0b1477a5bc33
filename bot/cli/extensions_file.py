"""Find and read `extensions_config.json` like the agent, without checking it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from agent.config.document import decode_text, parse_json
from agent.config.errors import ConfigErrors
from agent.config.reader import find_file

EXTENSIONS, VARIABLE = "extensions_config.json", "ROEBOT_EXTENSIONS_CONFIG_PATH"


def find_extensions(env: Mapping[str, str], folder: Path, home: Path) -> Path | None:
    """Return the file used by a service in this folder, or None if there is none.

    Raises ConfigErrors if the one that `VARIABLE` names doesn't exist.
    """
    path = find_file(EXTENSIONS, VARIABLE, None, env, folder)
    return path if path is not None or not (home / EXTENSIONS).is_file() else home / EXTENSIONS


def read_extensions(path: Path) -> Mapping[str, Any]:
    """Return the content with `$NAME` values substituted; empty if it can't be read."""
    # `roebot config check` reports a file that can't be read; the service then runs without its servers.
    with suppress(OSError, ConfigErrors):
        return parse_json(decode_text(path.read_bytes(), path.name), path.name).data
    return {}
