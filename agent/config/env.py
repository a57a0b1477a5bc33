"""Substitution of `$NAME` values from environment variables. A leading `$$` stands for one `$`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent.config.document import ConfigDocument
from agent.config.errors import KeyPath, Problems, UnsetVariable

VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_BRACES = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SWITCHES = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_OMITTED = object()


class EnvText(str):
    """Text from the environment variable `name`. It may stand for a number or a switch."""

    __slots__ = ("name",)
    name: str

    def __new__(cls, text: str, name: str) -> EnvText:
        self = super().__new__(cls, text)
        self.name = name
        return self


def parse_switch(value: object) -> object:
    """Return the boolean for a switch word, and any other value unchanged."""
    return _SWITCHES.get(value.strip().lower(), value) if isinstance(value, str) else value


def resolve_env(
    document: ConfigDocument,
    env: Mapping[str, str],
    *,
    idle: frozenset[str] = frozenset(),
    problems: Problems | None = None,
) -> ConfigDocument:
    """Return the document with its `$NAME` values replaced, from `env` or else from the document's secrets.

    An unset or empty variable is an error: raised as ConfigErrors, or added to `problems` if given. In a
    disabled part (`enabled: false`, or a section in `idle`) the key is omitted instead.
    """
    noted = problems if problems is not None else Problems(document)
    resolver = _Resolver({**document.secrets, **env}, noted)
    data = {}
    for key, value in document.data.items():
        result = resolver.resolve_value(value, (key,), needed=key not in idle)
        if result is not _OMITTED:
            data[key] = result
    if problems is None:
        noted.raise_if_any()
    return replace(document, data=data)


class _Resolver:
    def __init__(self, env: Mapping[str, str], problems: Problems) -> None:
        self._env = env
        self._problems = problems

    def resolve_value(self, value: Any, path: KeyPath, *, needed: bool) -> Any:
        if isinstance(value, dict):
            return self._resolve_mapping(value, path, needed=needed)
        if isinstance(value, list):
            items = (
                self.resolve_value(item, (*path, index), needed=needed) for index, item in enumerate(value)
            )
            return [item for item in items if item is not _OMITTED]
        if isinstance(value, str) and value.startswith("$"):
            return self._resolve_text(value, path, needed=needed)
        return value

    def _resolve_mapping(self, values: dict[str, Any], path: KeyPath, *, needed: bool) -> dict[str, Any]:
        resolved: dict[str, Any] = {}
        if "enabled" in values:
            enabled = self.resolve_value(values["enabled"], (*path, "enabled"), needed=needed)
            resolved["enabled"] = enabled
            needed = needed and parse_switch(enabled) is not False
        for key, item in values.items():
            if key not in resolved:
                resolved[key] = self.resolve_value(item, (*path, key), needed=needed)
        return {key: item for key, item in resolved.items() if item is not _OMITTED}

    def _resolve_text(self, text: str, path: KeyPath, *, needed: bool) -> Any:
        if text.startswith("$$"):
            return text[1:]
        if braces := _BRACES.fullmatch(text):
            self._problems.add(path, f"write ${braces[1]} without the braces")
            return _OMITTED
        if not (match := VARIABLE.fullmatch(text)):
            return text
        found = self._env.get(match[1], "")
        if found.strip():
            return EnvText(found, match[1])
        if needed:
            self._problems.add(
                path,
                f"the environment variable {match[1]} is not set or is empty; set it, or remove this key "
                f"(to start a text with a dollar sign, write two)",
                UnsetVariable,
            )
        return _OMITTED
