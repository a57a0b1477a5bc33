"""Rules about the fields of a body, and the error that names each field which breaks one.

Discord answers all broken rules of a body at once, with an object that mirrors the body
(docs.discord.com/developers/reference#error-messages).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from roebot_testing.emulators.discord.errors import DiscordApiError
from roebot_testing.emulators.fields import MISSING, Path, find_values

Faults = Callable[[Any], Iterable[Path]]
_HERE: tuple[Path, ...] = ((),)


@dataclass(frozen=True, slots=True)
class FormError:
    """A field that breaks a rule."""

    path: Path
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class FormRule:
    """A rule about the values at `path` (see `emulators.fields`).

    `faults` returns where below the value the rule is broken: nothing if it holds, the empty path for the
    value itself. A missing or null value breaks no rule, unless `required`. In `text`, "{value}" stands for
    what is at that place, as `shown` writes it.
    """

    path: str
    code: str
    text: str
    faults: Faults
    source: str
    required: bool = False
    shown: Callable[[Any], str] = str

    @property
    def name(self) -> str:
        """Return the path and text, which no two rules of a table share."""
        return f"{self.path}: {self.text}"


def rule(
    path: str,
    code: str,
    text: str,
    holds: Callable[[Any], bool],
    source: str,
    shown: Callable[[Any], str] = str,
) -> FormRule:
    """Return a rule for a value as a whole."""
    return FormRule(path, code, text, lambda value: () if holds(value) else _HERE, source, shown=shown)


def url(path: str, schemes: tuple[str, ...], source: str) -> FormRule:
    """Return a rule for the scheme of an address."""
    text = f'Scheme "{{value}}" is not supported. Scheme must be one of {schemes}.'
    return rule(
        path,
        "URL_TYPE_INVALID_SCHEME",
        text,
        lambda value: _scheme(value) in schemes,
        f"{source}; text: discord-buttons/discord-buttons#42",
        _scheme,
    )


def _scheme(value: Any) -> str:
    return str(value).partition(":")[0]


def length(path: str, most: int, least: int = 0, *, source: str, trimmed: bool = False) -> FormRule:
    """Return a rule for the characters of a text or the items of a list; `trimmed` ignores outer spaces."""

    def holds(value: Any) -> bool:
        if trimmed and isinstance(value, str):
            value = value.strip()
        return not isinstance(value, str | list) or least <= len(value) <= most

    if least:
        return rule(
            path, "BASE_TYPE_BAD_LENGTH", f"Must be between {least} and {most} in length.", holds, source
        )
    return rule(path, "BASE_TYPE_MAX_LENGTH", f"Must be {most} or fewer in length.", holds, source)


def required(path: str, source: str, *, unless: Callable[[Any], bool] | None = None) -> FormRule:
    """Return a rule for a required field. `unless` receives the value; None is missing."""
    check = unless or (lambda value: value is not None)
    faults: Faults = lambda value: () if check(value) else _HERE  # noqa: E731 - a rule's function
    return FormRule(path, "BASE_TYPE_REQUIRED", "This field is required", faults, source, required=True)


def choice(path: str, values: tuple[int | str, ...], source: str) -> FormRule:
    """Return a rule for a field with a fixed set of values."""
    return rule(
        path, "BASE_TYPE_CHOICES", f"Value must be one of {values}.", lambda value: value in values, source
    )


def at_least(path: str, least: int, source: str) -> FormRule:
    """Return a rule for the smallest value of a number."""
    text = f"int value should be greater than or equal to {least}."
    return rule(path, "NUMBER_TYPE_MIN", text, lambda value: int(value) >= least, source)


def at_most(path: str, most: int, source: str) -> FormRule:
    """Return a rule for the greatest value of a number."""
    text = f"int value should be less than or equal to {most}."
    return rule(path, "NUMBER_TYPE_MAX", text, lambda value: int(value) <= most, source)


def snowflake(path: str, source: str) -> FormRule:
    """Return a rule for an id: digits, as text or number."""
    text = 'Value "{value}" is not snowflake.'
    return rule(path, "NUMBER_TYPE_COERCE", text, lambda value: str(value).isdecimal(), source)


def check(rules: Iterable[FormRule], body: Any, at: Path = ()) -> list[FormError]:
    """Return the rules broken by a body; `at` is its position in the request."""
    found: list[FormError] = []
    for one in rules:
        for path, value in find_values(body, one.path):
            if value in (None, MISSING) and not one.required:
                continue
            for below in one.faults(None if value is MISSING else value):
                text = one.text
                if "{value}" in text:
                    text = text.replace("{value}", one.shown(_find(value, below)))
                found.append(FormError((*at, *path, *below), one.code, text))
    return found


def refuse(found: Iterable[FormError]) -> None:
    """Raise DiscordApiError 400 if anything was found."""
    errors: dict[str, Any] = {}
    for one in found:
        place = errors
        for part in one.path:
            place = place.setdefault(str(part), {})
        place.setdefault("_errors", []).append({"code": one.code, "message": one.message})
    if errors:
        raise DiscordApiError(400, 50035, "Invalid Form Body", errors=errors)


def _find(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value
