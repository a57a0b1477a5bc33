"""What Gemini's API requires of the tools of a request, and of the order of messages.

Fields: Schema and FunctionDeclaration of Gemini's API, as in google/genai/types.py of the google-genai
package (2026-08-21); `additionalProperties` and constants that are no texts are not for the Developer API
(`process_schema` in _transformers.py there). Texts of errors as clients report them: an unknown name
(zed-industries/zed issue 44875), items and names of functions (cline/cline issue 7339), values of `required`
(chatboxai/chatbox issue 2606), enumerations (anomalyco/opencode issue 2687), fields beside alternatives
(lambda-alpha-labs/Graphenium issue 37), fields of another type (anomalyco/opencode issue 11889), a schema
without a type (UKGovernmentBEIS/inspect_ai pull request 3097), an empty text (livekit/agents issue 1896,
through the compatible endpoint).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tests.harness.strict_providers.server import Body, RejectedRequest

Text = Annotated[str, Field(min_length=1)]
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_PLACE = "tools[0].function_declarations"
_ONLY_FOR = {"properties": "object", "required": "object", "items": "array"}


class Schema(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    type: Literal["object", "array", "string", "integer", "number", "boolean", "null"] | None = None
    format: str | None = None
    title: str | None = None
    description: str | None = None
    nullable: bool | None = None
    default: Any = None
    enum: Annotated[list[Text], Field(min_length=1)] | None = None
    items: Schema | None = None
    properties: dict[str, Schema] | None = None
    required: list[str] | None = None
    any_of: list[Schema] | None = Field(None, alias="anyOf", min_length=1)
    min_items: int | None = Field(None, alias="minItems")
    max_items: int | None = Field(None, alias="maxItems")
    min_properties: int | None = Field(None, alias="minProperties")
    max_properties: int | None = Field(None, alias="maxProperties")
    min_length: int | None = Field(None, alias="minLength")
    max_length: int | None = Field(None, alias="maxLength")
    minimum: float | None = None
    maximum: float | None = None
    pattern: str | None = None
    example: Any = None
    property_ordering: list[str] | None = Field(None, alias="propertyOrdering")


def check_tools(functions: Sequence[Body]) -> None:
    """Check the functions of a request."""
    names = [function["name"] for function in functions]
    for at, function in enumerate(functions):
        place = f"{_PLACE}[{at}]"
        if not _NAME.fullmatch(function["name"]):
            raise RejectedRequest(
                f"{place}.name: [FIELD_INVALID] Invalid function name. Must start with a letter."
            )
        if function["name"] in names[:at]:
            raise RejectedRequest(f"Duplicate function declaration found: {function['name']}")
        if (parameters := function.get("parameters")) is not None:
            _check_parameters(parameters, f"{place}.parameters")


def _check_parameters(parameters: Body, place: str) -> None:
    try:
        schema = Schema.model_validate(parameters)
    except ValidationError as error:
        found = error.errors(include_url=False)[0]
        where = ".".join(map(str, found["loc"][:-1]))
        if found["type"] == "extra_forbidden":
            raise RejectedRequest(
                f"Invalid JSON payload received. Unknown name \"{found['loc'][-1]}\" at '{place}.{where}': "
                "Cannot find field."
            ) from None
        raise RejectedRequest(f"Invalid value at '{place}.{where}.{found['loc'][-1]}'") from None
    _check_schema(schema, f"* GenerateContentRequest.{place}")


def _check_schema(schema: Schema, place: str) -> None:
    known = schema.properties or {}
    for at, name in enumerate(schema.required or ()):
        if name not in known:
            raise RejectedRequest(f"{place}.required[{at}]: property is not defined")
    if schema.type is None and not schema.any_of:
        raise RejectedRequest(f"{place}.type: must be specified")
    if schema.type == "array" and schema.items is None:
        raise RejectedRequest(f"{place}.items: missing field.")
    if schema.enum and schema.type != "string":
        raise RejectedRequest(f"{place}.enum: only allowed for STRING type")
    if schema.any_of and schema.model_fields_set - {"any_of"}:
        raise RejectedRequest(f"{place}: When using any_of, it must be the only field set.")
    _check_fields_of_type(schema, place)
    for name, one in known.items():
        _check_schema(one, f"{place}.properties[{name}]")
    for at, one in enumerate(schema.any_of or ()):
        _check_schema(one, f"{place}.any_of[{at}]")
    if schema.items is not None:
        _check_schema(schema.items, f"{place}.items")


def _check_fields_of_type(schema: Schema, place: str) -> None:
    for field, kind in _ONLY_FOR.items():
        if getattr(schema, field) is not None and schema.type != kind:
            raise RejectedRequest(f"{place}.{field}: only allowed for {kind.upper()} type")


def check_texts(messages: Sequence[Body]) -> None:
    """Check that no message but a result is empty, and that calls follow a question or results."""
    turns = [one for one in messages if one["role"] not in {"system", "developer"}]
    for at, message in enumerate(turns):
        content = message.get("content")
        texts = [content] if isinstance(content, str) else [one.get("text", "x") for one in content or ()]
        calls = message.get("tool_calls")
        if message["role"] != "tool" and (not all(texts) if texts else not calls):
            raise RejectedRequest(
                "Unable to submit request because it has an empty text parameter. Add a value to the "
                "parameter and try again."
            )
        if calls and (at == 0 or turns[at - 1]["role"] == "assistant"):
            raise RejectedRequest(
                "Please ensure that function call turn comes immediately after a user turn or after a "
                "function response turn."
            )
