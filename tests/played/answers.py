"""Answers as they are written by hand."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import yaml

from tests.harness.strict_providers import Reply

NOTHING = "nothing"
_CALL = re.compile(r"^=== *(.*?) *$", re.MULTILINE)
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class _Loader(yaml.SafeLoader):
    """YAML without dates: arguments are JSON, in which a date is a text."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[Any]]] = {
        first: [one for one in found if one[0] != "tag:yaml.org,2002:timestamp"]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


class UnreadableAnswer(ValueError):
    """The answer does not follow the format; the text says where."""


def parse_answer(text: str) -> Reply:
    """Return the reply that was written. Raises UnreadableAnswer."""
    said, *parts = _CALL.split(text)
    if parts[::2] == [NOTHING] and not "".join([said, *parts[1::2]]).strip():
        return Reply()
    calls = tuple(_parse_call(name, given) for name, given in zip(parts[::2], parts[1::2], strict=True))
    if not calls and not said.strip():
        raise UnreadableAnswer(f"The answer is empty. If that is meant, write `=== {NOTHING}`.")
    return Reply(said.strip(), calls)


def _parse_call(name: str, given: str) -> tuple[str, dict[str, Any]]:
    if not _NAME.fullmatch(name):
        raise UnreadableAnswer(f"{name!r} is not the name of a tool.")
    try:
        found = yaml.load(given, _Loader) or {}
    except yaml.YAMLError as error:
        raise UnreadableAnswer(f"The arguments of {name} are not YAML: {error}") from error
    if not isinstance(found, dict):
        raise UnreadableAnswer(f"The arguments of {name} are not a mapping of names to values.")
    return name, {str(key): value for key, value in found.items()}
