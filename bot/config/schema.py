"""JSON schema of config.yaml, for editors. Checks that need the whole file run at the start only."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from bot.config.models import Config

_VARIABLE = {"type": "string", "pattern": r"^\$[A-Za-z_][A-Za-z0-9_]*$"}
_NULL = {"type": "null"}


def schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12)."""
    shape = Config.model_json_schema(schema_generator=_FileSchema)
    del shape["description"]
    return {"$schema": _FileSchema.schema_dialect, **shape, "title": "Roebot configuration"}


class _FileSchema(GenerateJsonSchema):
    """Adds what the loader accepts in addition to a value of the type.

    This is `$NAME` for a number, switch or choice, `null` for a key with a default, and one item for a list.
    """

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        return _any_of(super().int_schema(schema), _VARIABLE)

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        return _any_of(super().float_schema(schema), _VARIABLE)

    def bool_schema(self, schema: core_schema.BoolSchema) -> JsonSchemaValue:
        return _any_of(super().bool_schema(schema), _VARIABLE)

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        return _any_of(super().literal_schema(schema), _VARIABLE)

    def tuple_schema(self, schema: core_schema.TupleSchema) -> JsonSchemaValue:
        shape = super().tuple_schema(schema)
        return shape if "$ref" in shape["items"] else _any_of(shape, shape["items"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        shape = super().default_schema(schema)
        about = {"default": shape.pop("default")} if "default" in shape else {}
        return {**about, **_any_of(shape, _NULL)}

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _any_of(*shapes: JsonSchemaValue) -> JsonSchemaValue:
    """Return a schema for all of the shapes, without one inside another."""
    ways = [way for shape in shapes for way in (shape["anyOf"] if shape.keys() == {"anyOf"} else [shape])]
    return {"anyOf": [way for index, way in enumerate(ways) if way not in ways[:index]]}
