"""The JSON schema says of a file what the loader says of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from agent.config.document import parse_document
from bot.config import schema

if TYPE_CHECKING:
    from .conftest import Folder

V = "config_version: 1\n"
ENV = {"PORT": "80", "ON": "true", "WORD": "edit", "LIST": "web:me"}


def is_valid(text: str) -> bool:
    data: dict[str, Any] = parse_document(text, "c.yaml").data
    return jsonschema.Draft202012Validator(schema()).is_valid(data)


def test_it_is_a_schema_and_json() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    assert json.loads(json.dumps(schema())) == schema()
    assert schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_every_key_is_described() -> None:
    whole = schema()
    for section in (whole, *whole["$defs"].values()):
        for name, shape in section["properties"].items():
            assert shape.get("description"), name


@pytest.mark.parametrize(
    "text",
    [
        "server: {port: $PORT, token: abc}",
        "server:",
        "server: {port: null}",
        "channels: {web: {enabled: $ON, rate_scale: 2}, terminal: }",
        "channels: {telegram: {bot_token: '1:a', streaming: $WORD}}",
        "channels: {work: {platform: telegram, bot_token: '1:a', access: {owners: 'work:1'}}}",
        "channels:",
        "access: {owners: 'telegram:1', members: [$LIST, 'web:x']}",
        "models: [{name: m, use: 'a:B', api_key: k, anything: {x: [1]}, supports_vision: $ON}]",
        "limits: {queue: 3}",
        "tools: [{name: a, group: g, use: 'a:b', anything: {x: 1}}]\ntool_groups: [{name: g}]",
        "title: {enabled: $ON, prompt_template: 'Name {user}'}",
        "title:",
        "summarization: {trigger: [{type: fraction, value: 0.5}, {type: messages, value: 9}]}",
        "guardrails: {enabled: true, provider: {use: 'a:B', path: x}}",
        "guardrails: {provider: null}",
        "models: [{name: m, use: 'a:B'}]\nmodel_calls: {retries: 2, fallback_models: m}",
        "allow_degradation: $ON",
    ],
)
def test_what_the_loader_takes_fits(folder: Folder, text: str) -> None:
    folder.load(V + text + "\n", ENV)
    assert is_valid(V + text)


@pytest.mark.parametrize(
    "text",
    [
        "server: {port: '80'}",
        "server: {port: 70000}",
        "server: {prot: 80}",
        "server: 5",
        "serve: {}",
        "channels: {work: {bot_token: x}}",
        "channels: {work: {platform: web}}",
        "channels: {web: {platform: telegram}}",
        "channels: {Work: {platform: telegram, bot_token: x}}",
        "channels: {telegram: {bot_token: [x]}}",
        "channels: {telegram: {bot_token: x, streaming: fast}}",
        "channels: {web: {name: web}}",
        "channels: {slack: {bot_token: x, mode: polling}}",
        "channels: []",
        "access: {owners: 123456}",
        "access: {owners: ['telegram']}",
        "models: [{name: m}]",
        "models: [{use: 'a:B', name: null}]",
        "models: {name: m, use: 'a:B'}",
        "allow_degradation: 1",
        "tools: [{name: a, use: 'a:b'}]",
        "tools: {name: a}",
        "tool_groups: [g]",
        "title: {max_words: 0}",
        "summarization: {trigger: [{type: words, value: 1}]}",
        "summarization: {keep: 20}",
        "guardrails: {provider: allow}",
        "model_calls: {retries: -1}",
        "acp_agents: {a: {}}",
        "memory: {max_facts: 0}",
        "config_version: 2",
    ],
)
def test_what_the_loader_refuses_does_not_fit(folder: Folder, text: str) -> None:
    whole = text if text.startswith("config_version") else V + text
    assert folder.refuse(whole + "\n", ENV)
    assert not is_valid(whole)
