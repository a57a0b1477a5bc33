"""The table of switches names everything that can be switched, and nothing that can't."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import pytest

from agent.config.models import AgentConfig
from agent.core.run_context import MODEL_HEADER, RunOptions
from agent.features import RuntimeFeatures
from agent.harness.lead_chain import ChainParts, select_features
from agent.memory.store import InProcessMemoryStore
from agent.models.spec import ModelSpec
from agent.uploads.folders import ThreadFolders
from bot.app.features import installed_commands
from bot.config.accounts import AccountConfig
from bot.config.models import Config
from scripts.reference.switches import ROWS, render_feature_switches

VALUES = {"model_name": "m", "reasoning_effort": "high", "agent_name": "a"}


def _model(annotation: Any) -> Any:
    """The section in an annotation: itself, or that of a list's entries."""
    return next((one for one in (*getattr(annotation, "__args__", ()), annotation) if _is_section(one)), None)


def _is_section(one: Any) -> bool:
    return hasattr(one, "model_fields")


def _exists(section: Any, path: str) -> bool:
    name, _, rest = path.partition(".")
    field = section.model_fields.get(name.removesuffix("[]"))
    return field is not None and (not rest or _exists(_model(field.annotation), rest))


def test_every_feature_is_in_the_table_once() -> None:
    named = [row.feature for row in ROWS if row.feature]
    assert sorted(named) == sorted(field.name for field in fields(RuntimeFeatures))


def test_every_switch_of_a_run_is_in_the_table_and_switches() -> None:
    named = [name for row in ROWS for name in row.run]
    asked: Mapping[str, Any] = {name: VALUES.get(name, True) for name in named}
    # The bot names the turn that a run answers, and the skills of its chat; neither is a switch.
    told = {"turn_id": "7", "allowed_skills": [["chart"]]}
    assert all(asdict(RunOptions.of({**asked, **told})).values()), "a switch of a run is not in the table"
    for name in named:
        assert RunOptions.of({name: asked[name]}) != RunOptions(), f"{name} switches nothing"
    assert RunOptions.of({MODEL_HEADER: "m"}).model_name == "m"


@pytest.mark.parametrize("path", [path for row in ROWS for path in row.config])
def test_a_key_of_the_configuration_exists(path: str) -> None:
    assert _exists(Config, path)
    assert not _exists(Config, f"{path}_too")


def test_accounts_and_chats_have_what_the_table_gives_them() -> None:
    assert {row.account for row in ROWS if row.account} <= set(AccountConfig.model_fields)
    commands = installed_commands()
    assert all(commands.get(row.chat.removeprefix("/")) for row in ROWS if row.chat)


def test_a_feature_is_as_the_table_says_where_nothing_is_configured() -> None:
    spec = ModelSpec(name="m", use="x:Y", model="m", display_name="M")
    parts = ChainParts(
        AgentConfig(), spec, RunOptions(), ThreadFolders.__new__(ThreadFolders), InProcessMemoryStore()
    )
    found = select_features(parts)
    told = {row.feature: row.default.partition(":")[0] for row in ROWS if row.feature}
    assert told.pop("vision") == "depends on the model"
    assert {name: "on" if getattr(found, name) else "off" for name in told} == told


def test_the_page_has_a_line_for_each() -> None:
    lines = render_feature_switches().splitlines()
    for row in ROWS:
        assert sum(line.startswith(f"| {row.what} |") for line in lines) == 1
