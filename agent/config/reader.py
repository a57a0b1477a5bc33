"""Discovery of a configuration file, validation of a section, and descriptions of pydantic's errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from agent.config.document import ConfigDocument
from agent.config.env import EnvText, resolve_env
from agent.config.errors import KeyPath, Problems, join_words, one_error

PATH_VARIABLE = "ROEBOT_CONFIG_PATH"
FILE_NAME = "config.yaml"


def find_config(
    explicit: Path | None, env: Mapping[str, str], cwd: Path, home: Path | None = None
) -> Path | None:
    """Find the file: explicit, `ROEBOT_CONFIG_PATH`, `./config.yaml`, `../config.yaml` or the one in the data
    directory `home`; None if there is none.

    None means the default configuration. Raises ConfigErrors if an explicit path doesn't exist.
    """
    return find_file(FILE_NAME, PATH_VARIABLE, explicit, env, cwd, home)


def find_file(
    name: str,
    variable: str,
    explicit: Path | None,
    env: Mapping[str, str],
    cwd: Path,
    home: Path | None = None,
) -> Path | None:
    """Find a file in the same places as `find_config`: explicit, set by the variable, `./`, `../`, `home`."""
    named = env.get(variable, "").strip()
    if explicit is not None:
        return _require_file(explicit, cwd, "remove the option or create the file")
    if named:
        return _require_file(Path(named), cwd, f"{variable} names it; unset the variable or create the file")
    candidates = (cwd / name, cwd.parent / name, *([home / name] if home is not None else []))
    return next((path for path in candidates if path.is_file()), None)


def display_path(path: Path, cwd: Path) -> str:
    """Return the path for messages, relative if it is in the current folder."""
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)


def _require_file(path: Path, cwd: Path, advice: str) -> Path:
    full = cwd / path.expanduser()
    if full.is_dir():
        raise one_error(str(path), "is a folder; name a file in it")
    if not full.exists():
        raise one_error(str(path), f"there is no such file; {advice}")
    return full


SectionT = TypeVar("SectionT", bound=BaseModel)
KEY_ITSELF = "[key]"
"""What pydantic adds to the location of an error about the key of a mapping, not its value."""

_EXPECTED: Mapping[str, str] = {
    "string_type": "a string",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "mapping_type": "a mapping (lines like `key: value`)",
    "dict_type": "a mapping (lines like `key: value`)",
    "model_type": "a mapping (lines like `key: value`)",
}
_LIMITS: Mapping[str, tuple[str, str]] = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}


def check_section(
    model: type[SectionT],
    document: ConfigDocument,
    env: Mapping[str, str] | None,
    problems: Problems | None = None,
    *,
    idle: frozenset[str] = frozenset(),
) -> SectionT:
    """Return the whole document as one section, with `$NAME` values from `env` (None: plain text).

    Raises ConfigErrors with every problem, including those noted in `problems` before. `idle` is that of
    resolve_env.
    """
    problems = problems or Problems(document)
    if env is not None:
        document = resolve_env(document, env, idle=idle, problems=problems)
    section = load_section(model, document.data, document, (), problems)
    problems.raise_if_any()
    assert section is not None
    return section


def load_section(
    model: type[SectionT], value: object, document: ConfigDocument, at: KeyPath, problems: Problems
) -> SectionT | None:
    """Validate `value` as a section at the path `at`.

    Returns None and adds its errors to `problems` if invalid.
    """
    try:
        return model.model_validate({} if value is None else value)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            path, keys = locate_error(model, detail)
            problems.add((*at, *path), describe_error(detail, keys))
        return None


def locate_error(model: type[BaseModel], detail: ErrorDetails) -> tuple[KeyPath, list[str]]:
    """Return the invalid value's path below the section `model`, and the known keys around it."""
    path: list[str | int] = []
    inner: Any = model
    around: Any = model
    for part in detail["loc"]:
        if part != KEY_ITSELF:
            path.append(part)
            around, inner = inner, _inner_type(inner, part)
    return tuple(path), _known_keys(around)


def _inner_type(outer: Any, part: str | int) -> Any:
    """Return the section or section type for a key of a section, or for the entries of a list or mapping."""
    outer = get_args(outer)[0] if get_origin(outer) is Annotated else outer
    if _is_section(outer):
        field = outer.model_fields.get(part)
        return _unwrap_optional(field.annotation) if field else None
    # A list has one kind of entries; a mapping's last type argument is that of its values.
    kinds = get_args(outer)
    return _unwrap_optional(kinds[0 if isinstance(part, int) else -1]) if kinds else None


def _known_keys(section: Any) -> list[str]:
    if not _is_section(section):
        return []
    return [field.alias or name for name, field in section.model_fields.items()]


def _unwrap_optional(annotation: Any) -> Any:
    """Return the section class of `Section | None`, or any other annotation unchanged."""
    ways = get_args(annotation)
    return next((way for way in ways if _is_section(way)), annotation) if type(None) in ways else annotation


def _is_section(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseModel)


def describe_type(value: object) -> str:
    """Describe the type of a value, never its content."""
    if isinstance(value, EnvText):
        return f"other text in the environment variable {value.name}"
    kinds: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (type(None), "nothing"),
        (bool, "true or false"),
        (int, "a whole number"),
        (float, "a number"),
        (str, "a string"),
        ((list, tuple), "a list"),
        (Mapping, "a mapping"),
    )
    return next((word for kind, word in kinds if isinstance(value, kind)), type(value).__name__)


def _describe_choice(value: object) -> str:
    """Quote a short word; describe any other value by its type."""
    is_word = isinstance(value, str) and not isinstance(value, EnvText) and len(value) <= 24
    return f'"{value}"' if is_word else describe_type(value)


def describe_error(detail: ErrorDetails, keys: list[str]) -> str:
    """Describe a pydantic error: expected, found, remedy."""
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind == "missing":
        return "is missing; add it"
    if kind == "extra_forbidden":
        return unknown_key_message(str(detail["loc"][-1]), keys)
    return _describe_mismatch(kind, detail["input"], context) or detail["msg"]


def choice_message(key: str, choices: Iterable[str]) -> str:
    """Describe the valid values for the key of a discriminated union."""
    return f"expected `{key}` to be {join_words(sorted(choices))}"


def _describe_mismatch(kind: str, given: object, context: Mapping[str, Any]) -> str:
    if kind == "literal_error":
        choices = str(context["expected"]).replace("'", "")
        return f"expected {choices}, got {_describe_choice(given)}"
    if kind in _LIMITS:
        words, name = _LIMITS[kind]
        return f"expected {words} {context[name]:g}, got {given}"
    if kind not in _EXPECTED:
        return ""
    expected = _EXPECTED[kind]
    hint = (
        "; remove the quotes" if expected.endswith(("number", "false")) and _is_quoted_scalar(given) else ""
    )
    return f"expected {expected}, got {describe_type(given)}{hint}"


def _is_quoted_scalar(given: object) -> bool:
    """Return whether a text would be a number or a switch without quotes."""
    return (
        isinstance(given, str)
        and re.fullmatch(r"(?i)[-+]?[0-9._]+|true|false|yes|no|on|off", given) is not None
    )


def unknown_key_message(key: str, known: list[str]) -> str:
    """Return `unknown key` with the closest known key, or all of them."""
    near = get_close_matches(key, known, n=1)
    if near:
        return f"unknown key; did you mean {near[0]}?"
    return f"unknown key; known here: {join_words(sorted(known), 'and')}"
