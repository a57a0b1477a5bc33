"""config.example.yaml: complete, true and ready to be used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
import yaml
from pydantic import BaseModel

from agent.config.document import parse_document
from agent.config.harness import AcpAgent, SubagentTypeConfig, ToolEntry, ToolGroup
from agent.config.models import ModelEntry
from agent.tools.assembly import load_tool
from bot.config import AccessOverrides, AppRule, Config, schema
from bot.config.platforms import built_in_platforms
from bot.platforms.local.account import WebAccount
from bot.platforms.telegram.account import TelegramAccount
from tests.unit.bot.config.conftest import Folder, folder

__all__ = ["folder"]

EXAMPLE = (Path(__file__).resolve().parents[2] / "config.example.yaml").read_text(encoding="utf-8")
ENV = {
    "ROEBOT_TOKEN": "Zq3-Tx8_Lm2Pw7Rk5Vn1Bc9Hj4Df6",
    "LANGGRAPH_API_KEY": "runtime-key",
    "ROEBOT_SIGNING_KEY": "signing-key",
    "ROEBOT_OIDC_SECRET": "client-secret",
    "ALERTS_SECRET": "alerts-secret",
    "TELEGRAM_BOT_TOKEN": "1:a",
    "SLACK_BOT_TOKEN": "xoxb-1",
    "SLACK_APP_TOKEN": "xapp-1",
    "FEISHU_APP_ID": "cli_1",
    "FEISHU_APP_SECRET": "feishu-secret",
    "DISCORD_BOT_TOKEN": "discord-token",
    "OPENAI_API_KEY": "openai-key",
    "TAVILY_API_KEY": "tavily-key",
    "PAGERDUTY_TOKEN": "pagerduty-token",
}


def uncommented(text: str) -> str:
    """The text with its examples switched on; remarks have exactly one space after the sign."""
    return re.sub(r"^( *)#(?! \S)", r"\1", text, flags=re.MULTILINE)


def keys(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from (f"{name}.{key}" for key in keys(inner))
        elif name not in {"channels", "models", "extra"}:
            yield name


def test_it_is_the_default_configuration_and_needs_no_variable(folder: Folder) -> None:
    loaded = folder.load(EXAMPLE)
    assert loaded.config == Config()
    assert loaded.warnings == ()


def test_its_examples_work_when_they_are_switched_on(folder: Folder) -> None:
    config = folder.load(uncommented(EXAMPLE), ENV).config
    telegram = config.channels["telegram"]
    assert isinstance(telegram, TelegramAccount)
    assert telegram.bot_token is not None
    assert telegram.bot_token.get_secret_value() == "1:a"
    assert {account.name for account in config.accounts} == set(built_in_platforms())
    assert config.models[0].build_arguments() == {"model": "gpt-5-mini", "api_key": "openai-key"}
    assert [tool.name for tool in config.tools] == ["lookup", "web_search", "web_fetch"]
    assert config.tools[1].extra_arguments() == {"api_key": "tavily-key"}
    assert [load_tool(tool).name for tool in config.tools[1:]] == ["web_search", "web_fetch"]
    assert config.server.token is not None
    assert [str(entry) for entry in config.access_for("telegram").members] == ["telegram:123456789"]


def test_the_examples_show_the_defaults(folder: Folder) -> None:
    data = parse_document(uncommented(EXAMPLE), "c.yaml").data
    shown = data["channels"]["telegram"]
    for name, field in TelegramAccount.model_fields.items():
        if name not in {"name", "access", "apps", "bot_token", "base_url", "assistant_id"}:
            assert shown[name] == field.default, name


def test_every_key_is_in_it() -> None:
    data = parse_document(uncommented(EXAMPLE), "c.yaml").data
    for key in keys(Config):
        value = data
        for part in key.split("."):
            assert part in value, key
            value = value[part]
    assert data["models"][0].keys() - {"api_key"} == ModelEntry.model_fields.keys() - {"extra"}
    assert data["tools"][0].keys() == ToolEntry.model_fields.keys() - {"extra"}
    assert data["tool_groups"][0].keys() == ToolGroup.model_fields.keys()
    assert data["acp_agents"]["codex"].keys() == AcpAgent.model_fields.keys()
    assert data["subagents"]["types"]["critic"].keys() == SubagentTypeConfig.model_fields.keys()
    assert data["channels"]["telegram"].keys() == TelegramAccount.model_fields.keys() - {"name"}
    assert data["channels"]["telegram"]["apps"][0].keys() == AppRule.model_fields.keys()
    assert data["channels"]["telegram"]["access"].keys() == AccessOverrides.model_fields.keys()
    assert data["channels"]["telegram"].keys() > WebAccount.model_fields.keys() - {"name"}


def test_every_key_has_a_comment() -> None:
    previous = ""
    for line in EXAMPLE.splitlines():
        if re.match(r"^ *#? *-? *[a-z_]+:", line) and not line.startswith("# "):
            assert " # " in line or previous.startswith("# "), line
        previous = line
    assert len(EXAMPLE.splitlines()) > 80


@pytest.mark.parametrize("make", [str, uncommented])
def test_it_fits_the_schema(make: object) -> None:
    assert callable(make)
    jsonschema.validate(yaml.safe_load(make(EXAMPLE)), schema())
