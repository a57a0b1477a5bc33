"""What OpenAI requires of the schemas of tools, in both of its APIs.

As the API answers (makenotion/notion-mcp-server issue 340, RooCodeInc/Roo-Code issue 10726): an object with
properties, without alternatives at the top level, whose arrays have items.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tests.harness.strict_providers.server import Body, RejectedRequest

_FORBIDDEN = ("oneOf", "anyOf", "allOf", "enum", "not")


def check_schemas(functions: Iterable[Body]) -> None:
    """Check the parameters of functions; one without parameters takes none."""
    for function in functions:
        schema = function.get("parameters")
        if not schema:
            continue
        start = f"Invalid schema for function '{function['name']}':"
        if schema.get("type") != "object":
            raise RejectedRequest(f"{start} schema must be a JSON Schema of 'type: \"object\"'.")
        if found := [name for name in _FORBIDDEN if name in schema]:
            raise RejectedRequest(f"{start} schema must not have '{found[0]}' at the top level.")
        if "properties" not in schema:
            raise RejectedRequest(f"{start} In context=(), object schema missing properties.")
        for place, one in walk_schemas(schema):
            if one.get("type") == "array" and "items" not in one:
                raise RejectedRequest(f"{start} In context={place}, array schema missing items.")


def walk_schemas(schema: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Body]]:
    """Yield each schema within a schema, with its place."""
    if not isinstance(schema, dict):
        return
    yield place, schema
    for name, value in (schema.get("properties") or {}).items():
        yield from walk_schemas(value, (*place, "properties", name))
    yield from walk_schemas(schema.get("items"), (*place, "items"))
    for kind in ("anyOf", "oneOf", "allOf"):
        for at, value in enumerate(schema.get(kind) or ()):
            yield from walk_schemas(value, (*place, kind, str(at)))
