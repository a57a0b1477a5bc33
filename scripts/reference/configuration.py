"""The keys of config.yaml, from its JSON schema."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from agent.sandbox.options import ContainerOptions, LocalOptions, RemoteOptions
from bot.config import schema
from bot.config.accounts import BUILT_IN, PLATFORMS, AccountConfig
from bot.config.loader import _KEYS, _VALUES
from scripts.reference.markdown import code, page, table

Json = dict[str, Any]
INTRO = """
`config.yaml` is looked for at `--config`, then `ROEBOT_CONFIG_PATH`, then `./config.yaml`, then
`../config.yaml`. Without a file every key has its default. `config.example.yaml` shows all of them.

- `$NAME` as a value takes it from the environment. Where a text begins with a dollar sign, write two.
- A key that is unknown, a value of the wrong type, an unset `$NAME` of an enabled part: the start stops and
  names file, line, key and what is expected. `roebot config check` tells the same without a start.
- A changed file is taken over while the service runs. One that is wrong changes nothing, and the log says so.
  `server`, `runtime` and `database` need a restart.
- The module of a `use` is looked for among the packages that are installed for the service's Python, then in
  the folder of this file.
- `null` stands for the default. Where a list is expected, one value is taken for a list of one.
- `roebot config schema` prints the JSON schema, for editors: [Edit and upgrade the
  configuration](../howto/edit-the-configuration.md).
- What can be switched besides this file, and where: [Switches](feature-switches.md).
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
    "models": "Every other key of a model is passed on to its class, `api_key` for one.",
    "tools": "Every other key of a tool is passed on to what `use` names.",
}
SECTION_NOTES = {
    "guardrails": "The provider's `use` is `package.module:Class`. The default takes the lists `allowed`, "
    "`denied` and `ask`, of which it needs at least one; another class has keys of its own: [Decide about "
    "tool calls](../howto/approve-tool-calls.md).",
    "model_calls": """
- Made again is what may pass: limits, overload, time-outs, broken connections and answers
  ([which ones](states-and-errors.md#failures-of-a-model)).
- Every failure that is left goes to the next of `fallback_models`, a refused key or request for one. A model
  that can't be made, as its package is missing or a setting of it is wrong, is left out at once, and looked
  at again with the next message. Where none is left the chat hears of the last failure.
- Summaries are asked for in the same way, the model of `summarization` first. Titles are asked for once; the
  first words of the person stand for one that fails.
- The reply does not say which model gave it, nor does `/usage`: the log does (`model_fallback`,
  `model_left_out`), and so does `response_metadata` of the stored answer (`roebot_model`).
""",
}
LATER = """
## Not in this version

These names are kept for later versions. They are refused, so that nobody relies on what does not work yet.
"""


def configuration() -> str:
    """The page."""
    whole = schema()
    definitions = whole["$defs"]
    parts = [INTRO]
    plain = {name: shape for name, shape in whole["properties"].items() if not _section(shape)}
    plain.pop("channels", None)
    parts += ["## At the top", _table(plain)]
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
    keys = [".".join(pattern) for pattern in _KEYS]
    values = [f"{'.'.join(path)}: {word}" for path, words in _VALUES.items() for word in sorted(words)]
    return page("Configuration", *parts, LATER, ", ".join(map(code, [*keys, *values])) + ".")


def _providers() -> Iterable[str]:
    """What each provider of sandboxes takes."""
    for use, options in PROVIDERS.items():
        yield f"Further keys of `{use}`:"
        yield _table(options.model_json_schema()["properties"])


def _channels(definitions: Json) -> Iterable[str]:
    common = [name for name in AccountConfig.model_fields if name != "name"]
    yield (
        "## `channels`\n\nAn entry for each account; its key is the account's name. "
        f"{' and '.join(map(code, BUILT_IN))} are there without an entry."
    )
    some = definitions[PLATFORMS["telegram"].__name__]["properties"]
    yield "Keys of every account:"
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
        "description": "The platform; the name of the entry where it is absent.",
        "enum": sorted(PLATFORMS),
    }


def _section(shape: Json) -> str:
    """The definition that a top-level key is a section of, "" for a plain value."""
    targets = [way["$ref"] for way in shape.get("anyOf", []) if "$ref" in way]
    return targets[0].rpartition("/")[2] if targets else ""


def _entry(shape: Json) -> str:
    """The definition that the entries of a top-level list or mapping are sections of, "" for others."""
    ways = shape.get("anyOf", [])
    entries = [way["items"] for way in ways if way.get("type") == "array"]
    entries += [way["additionalProperties"] for way in ways if _holds_sections(way)]
    return _section({"anyOf": entries})


def _is_named(shape: Json) -> bool:
    """Whether its entries have names."""
    return any(_holds_sections(way) for way in shape.get("anyOf", []))


def _holds_sections(way: Json) -> bool:
    return way.get("type") == "object" and isinstance(way.get("additionalProperties"), dict)


def _table(properties: Json) -> str:
    rows = [
        [code(name), _expects(shape), _default(shape), shape.get("description", "")]
        for name, shape in properties.items()
    ]
    return table(["key", "expects", "default", "meaning"], rows)


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
