"""JSON schema of config.yaml, for editors. Checks that need the whole file run at the start only."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import models_json_schema

from agent.config.harness import GuardrailProviderConfig, SandboxConfig, ToolEntry
from agent.config.models import CONFIG_VERSION, ModelEntry
from bot.config.accounts import ACCOUNT_NAME, BUILT_IN, PLATFORMS
from bot.config.models import Config

_FROM_ENV = {"type": "string", "pattern": r"^\$[A-Za-z_][A-Za-z0-9_]*$"}


def schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12). `$NAME` is valid for every number, switch and choice."""
    _, generated = models_json_schema(
        [(Config, "validation"), *((model, "validation") for model in PLATFORMS.values())],
        ref_template="#/$defs/{model}",
    )
    definitions = {name: _section(shape, generated["$defs"]) for name, shape in generated["$defs"].items()}
    whole = definitions.pop("Config")
    definitions.pop("AccountConfig")
    for entry in (ModelEntry, ToolEntry, GuardrailProviderConfig, SandboxConfig):
        definitions[entry.__name__]["properties"].pop("extra")
        definitions[entry.__name__]["additionalProperties"] = True
    for platform, model in PLATFORMS.items():
        _fit_account(definitions[model.__name__], platform)
    whole["properties"]["channels"] = _channels(whole["properties"]["channels"]["description"])
    whole["properties"]["config_version"]["anyOf"] = [
        {"type": "integer", "minimum": 0, "maximum": CONFIG_VERSION},
        {"type": "string", "pattern": "^[0-9]+$"},
        {"type": "null"},
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Roebot configuration",
        "type": "object",
        "additionalProperties": False,
        "properties": whole["properties"],
        "$defs": definitions,
    }


def _section(definition: dict[str, Any], others: dict[str, Any]) -> dict[str, Any]:
    """Return the definition of a section with every accepted form of its values."""
    required = definition.get("required", [])
    properties = {}
    for name, shape in definition.get("properties", {}).items():
        # pydantic leaves a description out where it is the one of the section.
        target = others.get(shape.get("$ref", "").rpartition("/")[2], {})
        described = {"description": target.get("description"), **shape}
        properties[name] = _property(described, required=name in required)
    return {**definition, "properties": properties}


def _property(shape: dict[str, Any], *, required: bool) -> dict[str, Any]:
    about: dict[str, Any] = {key: shape[key] for key in ("description", "default") if key in shape}
    core = {key: value for key, value in shape.items() if key not in {"description", "default", "title"}}
    ways = list(core.get("anyOf", [core]))
    array = next((way for way in ways if way.get("type") == "array"), None)
    if array and "$ref" not in array["items"]:
        ways.append(array["items"])
    if any(_is_narrow(way) for way in ways):
        ways.append(_FROM_ENV)
    if not required and {"type": "null"} not in ways:
        ways.append({"type": "null"})
    return {**about, "anyOf": ways}


def _is_narrow(way: dict[str, Any]) -> bool:
    """Return True if the schema form rejects an environment reference."""
    return way.get("type") in {"integer", "number", "boolean"} or "enum" in way or "const" in way


def _fit_account(definition: dict[str, Any], platform: str) -> None:
    """Drop the account name, which is the entry's key; make the platform optional if the key implies it."""
    definition["properties"].pop("name")
    definition["required"] = [name for name in definition.get("required", []) if name != "name"]
    definition["properties"]["platform"] = {
        "description": "The platform; the name of the entry where it is absent.",
        "enum": [platform, None],
    }


def _channels(description: str) -> dict[str, Any]:
    named = {
        platform: {"anyOf": [{"$ref": f"#/$defs/{model.__name__}"}, {"type": "null"}]}
        for platform, model in PLATFORMS.items()
    }
    others = [
        {
            "allOf": [{"$ref": f"#/$defs/{model.__name__}"}],
            "properties": {"platform": {"const": platform}},
            "required": ["platform"],
        }
        for platform, model in PLATFORMS.items()
        if platform not in BUILT_IN
    ]
    entries = {
        "type": "object",
        "propertyNames": {"pattern": f"^{ACCOUNT_NAME.pattern}$"},
        "properties": named,
        "additionalProperties": {"anyOf": others},
    }
    return {"description": description, "anyOf": [entries, {"type": "null"}]}
