"""Gathers what is wrong, so that a person sees everything at once and not one error a start."""

from __future__ import annotations

from agent.config.document import ConfigDocument
from agent.config.errors import ConfigError, ConfigErrors, KeyPath, format_key


class Problems:
    """The errors found so far in one document."""

    def __init__(self, document: ConfigDocument) -> None:
        self._document = document
        self._found: list[ConfigError] = []
        self._paths: set[KeyPath] = set()

    def add(self, path: KeyPath, message: str, kind: type[ConfigError] = ConfigError) -> None:
        """Note a problem with the value at the path, unless it or what it stands in has one already."""
        if any(path[: len(known)] == known for known in self._paths):
            return
        self._paths.add(path)
        document = self._document
        self._found.append(kind(document.file, document.line_of(path), format_key(path), message))

    @property
    def errors(self) -> tuple[ConfigError, ...]:
        """What was noted."""
        return tuple(self._found)

    def raise_if_any(self) -> None:
        """Raises ConfigErrors where something was noted."""
        if self._found:
            raise ConfigErrors(self._found)
