"""The sections about how the agent works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent.config.models import AgentConfig
from agent.config.upgrade import upgrade_text
from agent.core.run_meter import Price, RunLimits

if TYPE_CHECKING:
    from .conftest import Folder

V = "config_version: 1\n"
MODELS = "models: [{name: a, use: 'x:Y'}, {name: b, use: 'x:Y'}]\n"


def test_the_published_defaults() -> None:
    config = AgentConfig()
    assert config.title.model_dump() == {
        "enabled": True,
        "max_words": 6,
        "max_chars": 60,
        "prompt_template": None,
        "model_name": None,
    }
    assert config.summarization.enabled
    assert [size.as_tuple() for size in config.summarization.trigger] == [("fraction", 0.75)]
    assert config.summarization.keep.as_tuple() == ("fraction", 0.25)
    assert config.summarization.model_name is None
    assert not config.guardrails.enabled
    assert config.guardrails.provider.use == "agent.middleware.guardrail:AllowlistProvider"
    assert config.tools == config.tool_groups == config.model_calls.fallback_models == ()
    assert config.model_calls.retries == 2


def test_limits_of_a_run_are_counted_with_the_prices_of_the_models(folder: Folder) -> None:
    model = "models: [{name: a, use: 'x:Y', price: {input: 1, output: 5.5, cached_input: 0.1}}]\n"
    config = folder.load(V + model + "run_limits: {tool_calls: 0, tools: {bash: 9}, cost: 2.5}\n").config
    limits = config.run_limits.to_limits(config.prices)
    assert (limits.tool_calls, limits.for_tool("bash"), limits.for_tool("ls")) == (0, 9, 150)
    assert (limits.cost, limits.prices) == (2.5, {"a": Price(1, 5.5, 0.1)})
    assert config.models[0].build_arguments() == {}
    assert AgentConfig().run_limits.to_limits({}) == RunLimits()


def test_sizes_are_of_the_kind_that_langchain_takes(folder: Folder) -> None:
    config = folder.load(
        V + "summarization: {trigger: [{type: fraction, value: 0.5}], keep: {type: tokens, value: 9}}"
    ).config
    assert [size.as_tuple() for size in config.summarization.trigger] == [("fraction", 0.5)]
    assert repr(config.summarization.keep.as_tuple()) == "('tokens', 9)"


def test_further_keys_go_to_the_class_and_their_secrets_show_nowhere(folder: Folder) -> None:
    config = folder.load(
        V + "tools: [{name: t, group: g, use: 'a.b:c', api_key: $K, limit: 3}]\n"
        "guardrails: {provider: {use: 'a:B', token: $K, tools: [x]}}\n",
        {"K": "very-secret"},
    ).config
    assert config.tools[0].extra_arguments() == {"api_key": "very-secret", "limit": 3}
    assert config.guardrails.provider.extra_arguments() == {"token": "very-secret", "tools": ["x"]}
    assert "very-secret" not in repr(config)


def test_a_provider_that_is_switched_off_needs_no_variable(folder: Folder) -> None:
    folder.load(V + "guardrails: {enabled: false, provider: {use: 'a:B', token: $UNSET}}\n")


def test_without_models_a_name_is_looked_for_later(folder: Folder) -> None:
    text = "model_calls: {fallback_models: [local]}\nsummarization: {model_name: local}\n"
    assert folder.load(V + text).config.model_calls.fallback_models == ("local",)


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ("tools: [{name: t, group: g}]", "tools[0].use", "is missing; add it"),
        (
            "tools: [{name: t, group: g, use: here}]",
            "tools[0].use",
            "expected package.module:name, such as langchain_openai:ChatOpenAI",
        ),
        (
            "tools: [{name: t, group: g, use: 'a:b'}, {name: t, group: g, use: 'a:c'}]",
            "tools",
            "two tools have the name t; rename one",
        ),
        (
            "tools: [{name: t, group: g, use: 'a:b'}]\ntool_groups: [{name: h}]",
            "tool_groups",
            "the tool t belongs to the group g, which is not listed; add it",
        ),
        ("tool_groups: [{name: g}, {name: g}]", "tool_groups", "two groups have the name g; rename one"),
        ("tool_groups: [{name: g, x: 1}]", "tool_groups[0].x", "unknown key; known here: name"),
        (
            MODELS + "model_calls: {fallback_models: [a, c]}",
            "model_calls",
            "there is no model named c; known: a, b",
        ),
        (
            MODELS + "summarization: {model_name: c}",
            "summarization",
            "there is no model named c; known: a, b",
        ),
        (MODELS + "title: {model_name: c}", "title", "there is no model named c; known: a, b"),
        (MODELS + "memory: {model_name: c}", "memory", "there is no model named c; known: a, b"),
        (
            MODELS + "run_limits: {cost: 2}",
            "run_limits",
            "cost needs the price of every model; add price to a, b",
        ),
        (
            "run_limits: {cost: 2}",
            "run_limits",
            "cost needs the price of every model; add price to a model in models",
        ),
        ("run_limits: {tool_calls: -1}", "run_limits.tool_calls", "expected at least 0, got -1"),
        ("run_limits: {warn_at: 1.5}", "run_limits.warn_at", "expected at most 1, got 1.5"),
        ("run_limits: {tools: {bash: 0}}", "run_limits.tools.bash", "expected at least 1, got 0"),
        (
            MODELS + "subagents: {types: {bash: {model_name: c}}}",
            "subagents",
            "there is no model named c; known: a, b",
        ),
        (
            "subagents: {types: {critic: {prompt: Be strict.}}}",
            "subagents.types",
            "the new type critic has no description; add it",
        ),
        (
            "subagents: {types: {'a b': {description: d, prompt: p}}}",
            "subagents.types",
            "'a b' is not a valid name of a type: letters, digits, - and _, 32 at most; rename it",
        ),
        (
            "subagents: {types: {bash: {max_turns: 201}}}",
            "subagents.types.bash.max_turns",
            "expected at most 200, got 201",
        ),
        (
            "subagents: {types: {bash: {promt: x}}}",
            "subagents.types.bash.promt",
            "unknown key; did you mean prompt?",
        ),
        (
            "summarization: {trigger: []}",
            "summarization.trigger",
            "expected at least one size; enabled: false switches summaries off",
        ),
        (
            "summarization: {keep: {type: fraction, value: 2}}",
            "summarization.keep",
            "expected a fraction of at most 1, got 2",
        ),
        (
            "summarization: {keep: {type: messages, value: 1.5}}",
            "summarization.keep",
            "expected a whole number of messages, got 1.5",
        ),
        (
            "title: {prompt_template: 'A {thing}'}",
            "title.prompt_template",
            "expected only {max_words} and {user} in braces; write other braces twice",
        ),
    ],
)
def test_what_stops_the_start(folder: Folder, text: str, key: str, message: str) -> None:
    [line] = folder.refuse(V + text + "\n")
    assert line.split(": ", 1)[1] == f"{key}: {message}"


def test_an_upgrade_leaves_sections_that_have_defaults_out() -> None:
    old = "# mine\ntitle:\n  # short ones\n  max_words: 3\n\nlimits: {queue: 1}   # few\n"
    assert upgrade_text(old, "c.yaml")[0] == old.replace("title:", "config_version: 1\ntitle:")
