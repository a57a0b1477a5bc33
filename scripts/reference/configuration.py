"""Configuration reference, from the JSON schema of config.yaml."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from agent.config.upgrade import UNSUPPORTED_KEYS, UNSUPPORTED_VALUES
from agent.sandbox.options import ContainerOptions, LocalOptions, RemoteOptions
from bot.config import schema
from bot.config.accounts import AccountConfig
from bot.config.platforms import built_in_platforms
from bot.domain import LOCAL_PLATFORMS
from scripts.reference.markdown import code, page, table

Json = dict[str, Any]
INTRO = """
Roebot looks for `config.yaml` at `--config`, `ROEBOT_CONFIG_PATH`, `./config.yaml`, `../config.yaml` and in
the data directory, in that order. If there is no file, every key has its default value. For an example of
every key, see `config.example.yaml`.

- A value of the form `$NAME` is read from the environment. To start a value with a literal dollar sign,
  write two.
- If a key is unknown, a value has the wrong type, or a `$NAME` in an enabled section is unset, the service
  does not start. The error names the file, line, key and expected value. `roebot config check` reports the
  same errors without starting the service.
- Changes take effect while the service is running, except those to `server`, `runtime` and `database`,
  which require a restart. If the file is invalid, the service logs the error and keeps its current
  settings.
- The module named in a `use` key is imported from the packages installed for the service's Python or,
  failing that, from the folder that contains this file.
- `null` means the default. Where a list is expected, a single value is also accepted.
- `roebot config schema` prints the JSON schema for use in editors; see [Edit and upgrade the
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
    "string": "string",
    "object": "mapping",
    "null": "null",
}
ENTRY_NOTES = {
    "models": "All other keys of a model, such as `api_key`, are passed to its class.",
    "tools": "All other keys of a tool are passed to the object that `use` names.",
}
SECTION_NOTES = {
    "guardrails": "`use` names the provider as `package.module:Class`. The default provider takes the lists "
    "`allowed`, `denied` and `ask`, and requires at least one of them; other classes have their own keys. "
    "See [Approve or deny tool calls](../howto/approve-tool-calls.md).",
    "model_calls": """
- Temporary failures are retried: rate limits, overload, timeouts, lost connections and malformed answers
  ([full list](states-and-errors.md#model-failures)).
- After any other failure, such as a rejected key or request, the next model in `fallback_models` is called.
  A model that can't be created because its package is missing or a setting is invalid is skipped, and tried
  again with the next message. If every model fails, the chat shows the last failure.
- Summaries follow the same rules, starting with the model set in `summarization`. The model of
  `title` is asked only once; if that fails, the first words of the message are the title.
- The name of the model that answered is recorded in the log (`model_fallback`, `model_left_out`) and in the
  `response_metadata` of the stored answer (`roebot_model`). It does not appear in the reply or in `/usage`.
""",
}
LATER = """
## Reserved keys

These keys and values are reserved for future versions. Using one is an error.
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
            parts += _subagent_types(definitions) if name == "subagents" else []
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


def _subagent_types(definitions: Json) -> Iterable[str]:
    yield "### `subagents.types.*`"
    yield _table(definitions["SubagentTypeConfig"]["properties"])


def _channels(definitions: Json) -> Iterable[str]:
    common = [name for name in AccountConfig.model_fields if name != "name"]
    yield (
        "## `channels`\n\nOne entry per account. The key of each entry is the account's name. "
        f"{' and '.join(map(code, LOCAL_PLATFORMS))} exist without an entry."
    )
    platforms = built_in_platforms()
    some = definitions[platforms[LOCAL_PLATFORMS[0]].__name__]["properties"]
    yield "Common keys of all accounts:"
    yield _table({name: some[name] for name in common} | {"platform": _platforms()})
    for platform, model in platforms.items():
        own = {
            name: shape
            for name, shape in definitions[model.__name__]["properties"].items()
            if name not in common
        }
        if own:
            yield f"### `channels.{platform}`"
            yield _table(own)
    yield "### `channels.*.apps[]`"
    yield _table(definitions["AppRule"]["properties"])
    yield "### `channels.*.access`"
    yield _table(definitions["AccessOverrides"]["properties"])


def _platforms() -> Json:
    return {
        "description": "Platform; default: the entry's key.",
        "enum": sorted(built_in_platforms()),
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
    ways = [_way(way) for way in _alternatives(shape)]
    named = dict.fromkeys(way for way in ways if way and way != "null")
    if any(way.startswith("list of ") for way in named):
        named.pop("string", None)
    return " or ".join(named)


def _alternatives(shape: Json) -> Iterable[Json]:
    """Yield the alternatives of a value, also those of an alternative."""
    for way in shape.get("anyOf", [shape]):
        yield from _alternatives(way) if "anyOf" in way else [way]


def _word(value: object) -> str:
    """Return a value as the file has it."""
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _way(way: Json) -> str:
    if str(way.get("pattern", "")).startswith(r"^\$[A-Za-z_]"):
        return ""
    if "enum" in way:
        return " or ".join(code(_word(word)) for word in way["enum"] if word is not None)
    if "const" in way:
        return code(_word(way["const"]))
    if "$ref" in way:
        return {"AccessOverrides": "see below"}.get(way["$ref"].rpartition("/")[2], "mapping")
    if way.get("type") == "array":
        return f"list of {_way(way['items']) or 'string'}s"
    return KINDS.get(str(way.get("type")), "")
