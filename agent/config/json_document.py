"""A JSON file as a document: strict JSON, with the line of every key as far as it can be known."""

from __future__ import annotations

import json
from typing import Any

from agent.config.document import ConfigDocument, parse_document
from agent.config.errors import ConfigErrors, one_error


def parse_json(text: str, file: str) -> ConfigDocument:
    """The document in the text; an empty one is an empty mapping.

    Raises ConfigErrors: no JSON, a key twice, a number that JSON does not have, not a mapping.
    """
    if not text.strip():
        return ConfigDocument(file, {})
    try:
        data = json.loads(text, object_pairs_hook=_refuse_duplicates, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise one_error(file, f"is not valid JSON: {error.msg}", line=error.lineno) from error
    except RecursionError as error:
        raise one_error(file, "is nested too deeply") from error
    except ValueError as error:
        raise one_error(file, str(error)) from error
    if not isinstance(data, dict):
        raise one_error(file, "expected a mapping ({…}) at the top of the file", line=1)
    return ConfigDocument(file, data, _find_lines(text, file))


def _find_lines(text: str, file: str) -> dict[Any, int]:
    # JSON is YAML but for tabs between values; within its strings there are none.
    try:
        return parse_document(text.replace("\t", " "), file).lines
    except ConfigErrors:
        return {}


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key[:60]!r} is there twice in one mapping")
        found[key] = value
    return found


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"is not valid JSON: {name} is no number of JSON")
