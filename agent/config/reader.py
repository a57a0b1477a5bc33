"""The way from a place to a checked section: find the file, read it, fill in the environment, check it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agent.config.document import read_document
from agent.config.env import resolve_env
from agent.config.errors import one_error
from agent.config.problems import Problems

__all__ = [
    "PATH_VARIABLE",
    "Problems",
    "display_path",
    "find_config",
    "find_file",
    "read_document",
    "resolve_env",
]

PATH_VARIABLE = "ROEBOT_CONFIG_PATH"
FILE_NAME = "config.yaml"


def find_config(explicit: Path | None, env: Mapping[str, str], cwd: Path) -> Path | None:
    """The configuration file: explicit, `ROEBOT_CONFIG_PATH`, `./config.yaml`, `../config.yaml`, or None.

    None is the zero configuration. Raises ConfigErrors where a path was given and nothing is there.
    """
    return find_file(FILE_NAME, PATH_VARIABLE, explicit, env, cwd)


def find_file(
    name: str, variable: str, explicit: Path | None, env: Mapping[str, str], cwd: Path
) -> Path | None:
    """The file of this name by the same rule: explicit, named by the variable, `./`, `../`, or None."""
    named = env.get(variable, "").strip()
    if explicit is not None:
        return _require_file(explicit, cwd, "remove the option or make the file")
    if named:
        return _require_file(Path(named), cwd, f"{variable} names it; unset it or make the file")
    candidates = (cwd / name, cwd.parent / name)
    return next((path for path in candidates if path.is_file()), None)


def display_path(path: Path, cwd: Path) -> str:
    """How messages name the file: relative where it is in the current folder."""
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)


def _require_file(path: Path, cwd: Path, advice: str) -> Path:
    full = cwd / path.expanduser()
    if full.is_dir():
        raise one_error(str(path), "is a folder; name the file in it")
    if not full.exists():
        raise one_error(str(path), f"there is no such file; {advice}")
    return full
