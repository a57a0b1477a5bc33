"""Configuration file errors with everything needed to fix them: file, line, key, problem, remedy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.config.document import ConfigDocument


KeyPath = tuple[str | int, ...]
"""Path of a value: `("channels", "telegram", "bot_token")`, `("models", 0, "name")`."""


def format_key(path: KeyPath) -> str:
    """Format the path as people write it: `channels.telegram.bot_token`, `models[0].name`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


@dataclass(frozen=True, slots=True)
class ConfigError:
    """A problem, displayed as `file:line: key: message`. The message never contains a secret."""

    file: str
    line: int | None
    key: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return ": ".join(part for part in (place, self.key, self.message) if part)


@dataclass(frozen=True, slots=True)
class UnsetVariable(ConfigError):
    """The file refers to an environment variable that is not set in this process, but may be in others."""


@dataclass(frozen=True, slots=True)
class ConfigWarning(ConfigError):
    """A problem that doesn't prevent startup, to be logged once."""


class ConfigErrors(Exception):
    """Raised for an unusable configuration. `errors` lists the problems in file order."""

    def __init__(self, errors: Iterable[ConfigError]) -> None:
        self.errors: tuple[ConfigError, ...] = tuple(sorted(errors, key=lambda error: error.line or 0))
        super().__init__(self.errors)

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)


def one_error(file: str, message: str, *, line: int | None = None, key: str = "") -> ConfigErrors:
    """Build ConfigErrors with a single problem."""
    return ConfigErrors([ConfigError(file, line, key, message)])


def join_words(words: Sequence[str], last: str = "or") -> str:
    """Join words: `a`, `a or b`, `a, b or c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


class Problems:
    """Collects a document's errors, so that users see all of them at once."""

    def __init__(self, document: ConfigDocument) -> None:
        self._document = document
        self._found: list[ConfigError] = []
        self._paths: set[KeyPath] = set()

    def add(self, path: KeyPath, message: str, kind: type[ConfigError] = ConfigError) -> None:
        """Add a problem for the path, unless the path or an enclosing one already has a problem."""
        if any(path[: len(known)] == known for known in self._paths):
            return
        self._paths.add(path)
        document = self._document
        self._found.append(kind(document.file, document.line_of(path), format_key(path), message))

    @property
    def errors(self) -> tuple[ConfigError, ...]:
        return tuple(self._found)

    def raise_if_any(self) -> None:
        """Raise ConfigErrors if there are problems."""
        if self._found:
            raise ConfigErrors(self._found)
