"""Paths into a thread, with which a search returns individual values of a large state."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agent.errors import Invalid
from agent.runtime.domain import Json

ROOTS = ("values", "metadata", "config", "interrupts")
MAX_PATHS = 10
_PATH = re.compile(r"(?P<root>\w+)(?P<rest>(?:\.[^.\[\]]+|\[-?\d{1,9}\])*)")
_STEP = re.compile(r"\.(?P<key>[^.\[\]]+)|\[(?P<index>-?\d+)\]")
Path = tuple[str | int, ...]


def parse_paths(paths: Mapping[str, str]) -> dict[str, Path]:
    """Parse paths such as `values.messages[-1].content` by alias. Raises `Invalid`."""
    if len(paths) > MAX_PATHS:
        raise Invalid(f"extract: has {len(paths)} paths; the limit is {MAX_PATHS}")
    return {alias: _parse_path(alias, path) for alias, path in paths.items()}


def _parse_path(alias: str, path: str) -> Path:
    found = _PATH.fullmatch(path)
    if found is None or found["root"] not in ROOTS:
        raise Invalid(
            f"extract.{alias}: {path!r} is not a path such as values.messages[-1].content; "
            f"it must start with {', '.join(ROOTS[:-1])} or {ROOTS[-1]}"
        )
    steps = (step["key"] or int(step["index"]) for step in _STEP.finditer(found["rest"]))
    return (found["root"], *steps)


def extract_values(source: Mapping[str, Any], paths: Mapping[str, Path]) -> Json:
    """Return the value of each path by alias; None where the source has no such value."""
    return {alias: _follow(source, path) for alias, path in paths.items()}


def _follow(value: Any, path: Path) -> Any:
    for step in path:
        if isinstance(step, str) and isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value
