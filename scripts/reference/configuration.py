"""Configuration reference, from the JSON schema of config.yaml."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from agent.config.upgrade import UNSUPPORTED_KEYS, UNSUPPORTED_VALUES
from agent.sandbox.options import ContainerOptions, LocalOptions, RemoteOptions
from bot.config import schema
from bot.config.accounts import BUILT_IN, PLATFORMS, AccountConfig
from scripts.reference.markdown import code, page, table

Json = dict[str, Any]
INTRO = """
`config.yaml` is looked for at `--config`, `ROEBOT_CONFIG_PATH`, `./config.yaml` and `../config.yaml`, in
this order. Without a file every key has its default. `config.example.yaml` shows all keys.

- `$NAME` as a value is read from the environment. To start a text with a dollar sign, write two.
- An unknown key, a value of the wrong type, or an unset `$NAME` of an enabled section stops the start with
  an error that names file, line, key and expected value. `roebot config check` reports the same without a
  start.
- Changes apply while the service runs. An invalid file changes nothing and is reported in the log.
  `server`, `runtime` and `database` need a restart.
- The module of a `use` is looked for in the packages installed for the service's Python, then in the folder
  of this file.
- `null` stands for the default. A single value is accepted where a list is expected.
- `roebot config schema` prints the JSON schema for editors: [Edit and upgrade the
  configuration](../howto/edit-the-configuration.md).
- For settings outside this file, see [Feature switches](feature-switches.md).
"""
PROVIDERS = {
    "agent.sandbox.local:LocalSandboxProvider": LocalOptions,
    "agent.sandbox.container:ContainerSandboxProvider": ContainerOptions,
    "agent.sandbox.remote:RemoteSandboxProvider": RemoteOptions,
}
KINDS = {
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "string": "text",
    "object": "mapping",
    "null": "null",
}
ENTRY_NOTES = {
    "models": "Every other key of a model, such as `api_key`, is passed to its class.",
    "tools": "Every other key of a tool is passed to the object that `use` names.",
}
SECTION_NOTES = {
    "guardrails": "The provider's `use` is `package.module:Class`. The default takes the lists `allowed`, "
    "`denied` and `ask` and needs at least one of them; other classes have their own keys. See [Approve or "
    "deny tool calls](../howto/approve-tool-calls.md).",
    "model_calls": """
- Temporary failures are retried: rate limits, overload, timeouts, lost connections and broken answers
  ([full list](states-and-errors.md#model-failures)).
- After any other failure, such as a rejected key or request, the next of `fallback_models` is called. A
  model that can't be created, because its package is missing or a setting is invalid, is skipped and
  checked again with the next message. If no model is left, the chat shows the last failure.
- Summaries work in the same way, starting with the model of `summarization`. Titles are requested once; if
  that fails, the first words of the message become the title.
- The model that answered is recorded in the log (`model_fallback`, `model_left_out`) and in the
  `response_metadata` of the stored answer (`roebot_model`), not in the reply or in `/usage`.
""",
}
LATER = """
## Reserved keys

These names are reserved for later versions and are rejected.
"""


def render_configuration() -> str:
    """Return the page as Markdown."""
    whole = schema()
    definitions = whole["$defs"]
    parts = [INTRO]
    plain = {name: shape for name, shape in whole["properties"].items() if not _section(shape)}
    plain.pop("channels", None)
    parts += ["## Top level", _table(plain)]
    for name, shape in whole["properties"].items():
        if target := _section(shape):
            parts += [f"## `{name}`", shape["description"], _table(definitions[target]["properties"])]
            parts += [SECTION_NOTES[name]] if name in SECTION_NOTES else []
            parts += _providers() if name == "sandbox" else []
        if name == "channels":
            parts += _channels(definitions)
        if target := _entry(shape):
            sign = ".*" if _is_named(shape) else "[]"
            about = [f"## `{name}{sign}`", shape["description"], _table(definitions[target]["properties"])]
            parts += [*about, *([ENTRY_NOTES[name]] if name in ENTRY_NOTES else [])]
    keys = [".".join(pattern) for pattern in UNSUPPORTED_KEYS]
    choices = UNSUPPORTED_VALUES.items()
    values = [f"{'.'.join(path)}: {word}" for path, words in choices for word in sorted(words)]
    return page("Configuration", *parts, LATER, ", ".join(map(code, [*keys, *values])) + ".")


def _providers() -> Iterable[str]:
    """Yield the additional keys of each sandbox provider."""
    for use, options in PROVIDERS.items():
        yield f"Additional keys of `{use}`:"
        yield _table(options.model_json_schema()["properties"])


def _channels(definitions: Json) -> Iterable[str]:
    common = [name for name in AccountConfig.model_fields if name != "name"]
    yield (
        "## `channels`\n\nOne entry per account; its key is the account's name. "
        f"{' and '.join(map(code, BUILT_IN))} exist without an entry."
    )
    some = definitions[PLATFORMS["telegram"].__name__]["properties"]
    yield "Common keys of all accounts:"
    yield _table({name: some[name] for name in common} | {"platform": _platforms()})
    for platform, model in PLATFORMS.items():
        own = {
            name: shape
            for name, shape in definitions[model.__name__]["properties"].items()
            if name not in common
        }
        if own:
            yield f"### `channels.{platform}`"
            yield _table(own)
    yield "### `channels.*.access`"
    yield _table(definitions["AccessOverrides"]["properties"])


def _platforms() -> Json:
    return {
        "description": "The platform; default: the name of the entry.",
        "enum": sorted(PLATFORMS),
    }


def _section(shape: Json) -> str:
    """Return the definition of a top-level section, or "" for a plain value."""
    targets = [way["$ref"] for way in shape.get("anyOf", []) if "$ref" in way]
    return targets[0].rpartition("/")[2] if targets else ""


def _entry(shape: Json) -> str:
    """Return the definition of the entries of a top-level list or mapping, or "" for other keys."""
    ways = shape.get("anyOf", [])
    entries = [way["items"] for way in ways if way.get("type") == "array"]
    entries += [way["additionalProperties"] for way in ways if _holds_sections(way)]
    return _section({"anyOf": entries})


def _is_named(shape: Json) -> bool:
    """Return True for a mapping of named entries, False for a list."""
    return any(_holds_sections(way) for way in shape.get("anyOf", []))


def _holds_sections(way: Json) -> bool:
    return way.get("type") == "object" and isinstance(way.get("additionalProperties"), dict)


def _table(properties: Json) -> str:
    rows = [
        [code(name), _expects(shape), _default(shape), shape.get("description", "")]
        for name, shape in properties.items()
    ]
    return table(["key", "type", "default", "description"], rows)


def _default(shape: Json) -> str:
    default = shape.get("default", "")
    return code(json.dumps(default)) if default != "" else ""


def _expects(shape: Json) -> str:
    ways = [_way(way) for way in shape.get("anyOf", [shape])]
    named = dict.fromkeys(way for way in ways if way and way != "null")
    if any(way.startswith("list of ") for way in named):
        named.pop("text", None)
    return ", ".join(named)


def _way(way: Json) -> str:
    if str(way.get("pattern", "")).startswith(r"^\$[A-Za-z_]"):
        return ""
    if "enum" in way:
        return " or ".join(code(word) for word in way["enum"] if word is not None)
    if "const" in way:
        return code(way["const"])
    if "$ref" in way:
        return {"AccessOverrides": "see below"}.get(way["$ref"].rpartition("/")[2], "an entry")
    if way.get("type") == "array":
        return f"list of {_way(way['items']) or 'text'}"
    kinds = {"integer": "whole number", "number": "number", "boolean": "true or false", "string": "text"}
    return kinds.get(
        str(way.get("type")), {"object": "mapping", "null": "null"}.get(str(way.get("type")), "")
    )
