"""The agent's half: model entries, and loading without the bot's sections."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from agent.config.errors import ConfigErrors
from agent.config.loader import BOT_SECTIONS, LoadedAgentConfig, load_agent_config
from agent.config.models import AgentConfig, ModelEntry
from bot.config import Config

ENTRY = {
    "name": "gpt",
    "use": "langchain_openai:ChatOpenAI",
    "model": "gpt-5-mini",
    "api_key": "sk-hunter2",
    "temperature": 0.5,
    "timeout": None,
    "default_headers": {"Authorization": "Bearer hunter2", "X-Team": "red"},
    "fallbacks": [{"token": "hunter2"}, "plain"],
    "logit_bias": {"50256": -100},
    "when_thinking_enabled": {"reasoning": {"effort": "high"}, "api_key": "sk-thinking"},
}


def test_other_keys_are_kept_and_passed_on() -> None:
    entry = ModelEntry.model_validate(ENTRY)
    assert entry.extra == {
        "api_key": SecretStr("sk-hunter2"),
        "temperature": 0.5,
        "timeout": None,
        "default_headers": {"Authorization": SecretStr("Bearer hunter2"), "X-Team": "red"},
        "fallbacks": [{"token": SecretStr("hunter2")}, "plain"],
        "logit_bias": {"50256": -100},
    }
    assert entry.build_arguments() == {
        "model": "gpt-5-mini",
        "api_key": "sk-hunter2",
        "temperature": 0.5,
        "timeout": None,
        "default_headers": {"Authorization": "Bearer hunter2", "X-Team": "red"},
        "fallbacks": [{"token": "hunter2"}, "plain"],
        "logit_bias": {"50256": -100},
    }
    assert "hunter2" not in repr(entry)


def test_thinking_lays_its_keys_over_the_others() -> None:
    entry = ModelEntry.model_validate(ENTRY)
    arguments = entry.build_arguments(thinking=True)
    assert arguments["reasoning"] == {"effort": "high"}
    assert arguments["api_key"] == "sk-thinking"
    assert arguments["temperature"] == 0.5


def test_named_arguments_are_passed_on_where_they_are_set() -> None:
    entry = ModelEntry(name="m", use="a:B", use_responses_api=False, output_version="responses/v1")
    assert entry.build_arguments() == {"use_responses_api": False, "output_version": "responses/v1"}
    assert ModelEntry(name="m", use="a:B").build_arguments() == {}


def test_defaults_and_label() -> None:
    entry = ModelEntry(name="m", use="a:B")
    assert (entry.supports_thinking, entry.supports_vision, entry.supports_reasoning_effort) == (False,) * 3
    assert entry.supports_tools is True
    assert entry.label == "m"
    assert ModelEntry(name="m", use="a:B", display_name="Em").label == "Em"


def test_extra_may_be_given_as_such() -> None:
    entry = ModelEntry(name="m", use="a:B", extra={"seed": 1})
    assert entry.extra == {"seed": 1}
    assert ModelEntry.model_validate(entry.model_dump()) == entry
    assert entry.model_copy(update={"name": "n"}).extra == {"seed": 1}


@pytest.mark.parametrize(
    "use", ["", "a", "a.b", ":B", "a:", "a:b:C", "a-b:C", "a..b:C", "a:B\n", "os:system('x')"]
)
def test_use_names_a_class(use: str) -> None:
    with pytest.raises(ValidationError):
        ModelEntry(name="m", use=use)


def load(folder: Path, text: str, env: dict[str, str] | None = None) -> LoadedAgentConfig:
    (folder / "config.yaml").write_text(text)
    return load_agent_config(folder / "config.yaml", env or {}, folder)


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    assert load_agent_config(None, {}, tmp_path / "inner") == LoadedAgentConfig(AgentConfig(), None, (), "")


def test_the_bots_sections_are_left_alone(tmp_path: Path) -> None:
    text = (
        "config_version: 1\n"
        "channels: {telegram: {bot_token: $UNSET}, nonsense: 5}\n"
        "server: {token: $UNSET}\nbudgets: {}\n"
        "models: [{name: m, use: 'a:B', api_key: $KEY}]\n"
        "limits: {max_runs: 7}\n"
    )
    loaded = load(tmp_path, text, {"KEY": "hunter2"})
    assert loaded.config.models[0].build_arguments() == {"api_key": "hunter2"}
    assert loaded.config.limits.max_runs == 7
    assert loaded.path == tmp_path / "config.yaml"
    assert loaded.fingerprint
    assert loaded.warnings == ()


def test_every_section_of_the_bot_is_known_to_the_agent() -> None:
    own = Config.model_fields.keys() - AgentConfig.model_fields.keys()
    assert own == BOT_SECTIONS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("modles: []", "config.yaml:2: modles: unknown key; did you mean models?"),
        ("acp_agents: {a: {}}", "config.yaml:2: acp_agents.a.command: is missing; add it"),
        (
            "acp_agents: {a: {command: x, auto_approve: true}}",
            "config.yaml:2: acp_agents.a.auto_approve: unknown key; did you mean auto_approve_permissions?",
        ),
        (
            "acp_agents: {'a b': {command: x}}",
            "config.yaml:2: acp_agents: 'a b' is not a valid agent name: letters, digits, - and _, "
            "32 at most; rename it",
        ),
        (
            "checkpointer: {connection_string: x}",
            "config.yaml:2: checkpointer.connection_string: connection_string is not supported in this "
            "version; remove it",
        ),
        (
            "memory: {fact_confidence_threshold: 2}",
            "config.yaml:2: memory.fact_confidence_threshold: expected at most 1, got 2",
        ),
        ("memory: {max_facts: 0}", "config.yaml:2: memory.max_facts: expected at least 1, got 0"),
        (
            "memory: {debounce_seconds: -1}",
            "config.yaml:2: memory.debounce_seconds: expected at least 0, got -1",
        ),
        (
            "checkpointer: {type: postgres}",
            "config.yaml:2: checkpointer.type: postgres is not supported in this version; "
            "choose another one or remove it",
        ),
        (
            "models: [{name: m, use: 5}]",
            "config.yaml:2: models[0].use: expected a string, got a whole number",
        ),
    ],
)
def test_the_agents_own_half_is_checked(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        load(tmp_path, f"config_version: 1\n{text}\n")
    assert str(caught.value) == message


def test_an_outdated_file_is_a_warning_here_too(tmp_path: Path) -> None:
    (warning,) = load(tmp_path, "models: []\n").warnings
    assert "roebot config upgrade" in warning.message
