"""The checkpointer that `langgraph.json` names for LangGraph's own server."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from agent.lead import make_compaction_graph, make_lead_agent
from agent.runtime.loader import load_object, read_graphs_file
from agent.runtime.saver import RuntimeSaver
from roebot_testing.agent import ScriptedChatModel
from tests.harness.agents import say, texts

ROOT = Path(__file__).parents[2]
NAMED: dict[str, Any] = json.loads((ROOT / "langgraph.json").read_text())
BASE = ("aput", "aput_writes", "aget_tuple", "alist", "adelete_thread")
"""What LangGraph's server requires (docs.langchain.com/langsmith/custom-checkpointer)."""


MAKE = load_object(NAMED["checkpointer"]["path"], ROOT)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("ROEBOT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ROEBOT_CONFIG_PATH", raising=False)
    return tmp_path


async def test_threads_outlive_the_server(folder: Path) -> None:
    for turn in (1, 2):
        async with MAKE() as saver:
            assert isinstance(saver, RuntimeSaver)
            model = ScriptedChatModel(environ={})
            graph = create_agent_graph(model, features=RuntimeFeatures(sandbox=False), checkpointer=saver)
            assert texts(await say(graph, "Hello")) == ["Hello"] * 2 * turn
    assert (folder / "home/checkpoints.db").is_file()


async def test_memory_as_configured(folder: Path) -> None:
    (folder / "config.yaml").write_text("config_version: 1\ncheckpointer: {type: memory}\n")
    async with MAKE() as saver:
        assert isinstance(saver, InMemorySaver)
    assert not (folder / "home").exists()


def test_the_saver_has_what_the_server_requires() -> None:
    for name in BASE:
        assert getattr(RuntimeSaver, name) is not getattr(BaseCheckpointSaver, name)
    assert inspect.signature(MAKE).parameters == {}


def test_the_bundled_runtime_reads_the_file_too() -> None:
    sources = read_graphs_file(ROOT / "langgraph.json").sources
    assert sources["lead_agent"]() is make_lead_agent
    assert sources["compaction"]() is make_compaction_graph
