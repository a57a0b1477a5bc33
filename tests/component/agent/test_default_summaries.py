"""Long threads are summarized without any configuration, at a share of each model's context window."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from agent.catalog.source import ModelSource
from agent.config.models import AgentConfig
from agent.core.run_context import RunOptions
from agent.features import RuntimeFeatures
from agent.harness.compaction import build_compaction_graph
from agent.harness.lead_chain import ChainParts, build_chain
from agent.lead import Additions, LeadAgent
from agent.middleware.summarization import SummarizationMiddleware
from agent.models.context_window import UNKNOWN_WINDOW, find_context_window
from agent.models.local.bundled import local_spec
from agent.models.providers import PROVIDERS, find_class, with_model
from agent.models.resolve import build_model
from agent.models.spec import ModelSpec
from agent.skills.skill import READER_TOOLS
from agent.uploads.folders import ThreadFolders
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from roebot_testing.agent.memory import RecordingMemory

WINDOWS = {
    "openai": 272_000,
    "anthropic": 872_000,
    "gemini": 1_048_576,
    "deepseek": 616_000,
    "mistral": 128_000,
    "groq": 131_072,
    "openrouter": 128_000,
}
"""Tokens of input that fit beside an answer, for the model that each provider's key enables."""


def spec_of(name: str) -> ModelSpec:
    provider = next(one for one in PROVIDERS if one.name == name)
    spec = provider.find_model({provider.variables[0]: "key"})
    assert spec is not None
    return replace(spec, use=find_class(spec))


def summaries_of(spec: ModelSpec, tmp_path: Path) -> list[SummarizationMiddleware]:
    """The summaries in the chain of the configured lead agent."""
    parts = ChainParts(AgentConfig(), spec, RunOptions(), ThreadFolders(tmp_path), RecordingMemory())
    return [one for one in build_chain(parts) if isinstance(one, SummarizationMiddleware)]


@pytest.mark.parametrize("name", WINDOWS)
def test_the_share_is_of_each_providers_window(name: str, tmp_path: Path) -> None:
    spec = spec_of(name)
    model = build_model(spec)
    assert find_context_window(model) == WINDOWS[name]
    [found] = summaries_of(spec, tmp_path)
    rules = found.rules_for(model)
    assert (rules.trigger, rules.keep) == ([{"fraction": 0.75}], ("fraction", 0.25))
    just_below = [HumanMessage("four" * 10_000)] * (int(rules.window * 0.74) // 10_003)
    assert rules.select_due(just_below) == []
    due = [*just_below, *[HumanMessage("four" * 10_000)] * (2 + rules.window // 50_000)]
    assert sum(len(one.text) // 4 for one in due[len(rules.select_due(due)) :]) <= rules.window // 4


def test_an_unknown_window_is_taken_for_a_small_one_until_it_is_configured() -> None:
    spec = with_model(spec_of("openrouter"), "somebody/new-model")
    assert find_context_window(build_model(spec)) == UNKNOWN_WINDOW
    assert find_context_window(build_model(replace(spec, context_window=9_000))) == 9_000
    assert find_context_window(build_model(replace(spec_of("openai"), context_window=9_000))) == 9_000


def test_the_configuration_names_a_window() -> None:
    entry = {"name": "m", "use": "roebot_testing.agent:ScriptedChatModel", "context_window": 5_000}
    [entry_] = AgentConfig.model_validate({"models": [entry]}).models
    assert entry_.context_window == 5_000
    assert entry_.build_arguments() == {}


def test_the_bundled_model_and_the_factory_have_none(tmp_path: Path) -> None:
    assert summaries_of(local_spec(), tmp_path) == []
    assert RuntimeFeatures().summarization is False


async def test_a_long_thread_of_the_lead_agent_stays_within_its_window(tmp_path: Path) -> None:
    """As the configuration is without a word about summaries; the model refuses what is too long."""
    window = 6_000
    seen: list[int] = []

    class Strict(ScriptedChatModel):
        def _next_script(self) -> Script:
            texts = self.calls[-1].texts
            if "<earlier_summary>" in texts[0]:
                return Script(reply="They told me codes of drawers.")
            size = sum(map(len, texts)) // 4
            seen.append(size)
            return (
                Script(reply="Noted. " * 20) if size < window else Script(reply="", fail="context", after=0)
            )

    def make(spec: ModelSpec, **_: Any) -> BaseChatModel:
        return Strict(environ={}, profile={"max_input_tokens": window})

    listed = {
        "models": [{"name": "m", "use": "roebot_testing.agent:ScriptedChatModel"}],
        "sandbox": {"enabled": False},
        "web_tools": {"enabled": False},
        "title": {"enabled": False},
        "memory": {"enabled": False},
    }
    source = ModelSource(overrides=listed, read_file=False, environ={})
    agent = LeadAgent(source, tmp_path, additions=Additions(checkpointer=InMemorySaver()), make_model=make)
    config: Any = {"configurable": {"thread_id": "t"}}
    for number in range(60):
        graph = await agent.get_graph(RunOptions())
        said = HumanMessage(f"The code of drawer {number} is {number * 7919}. " + "And so on. " * 40)
        values = await graph.ainvoke({"messages": [said]}, config)
    assert len(values["messages"]) < 60
    assert "codes of drawers" in values["messages"][0].text
    assert max(seen) < window
    assert len(seen) == 60, "none was refused and sent again"


ASKS: Any = {"configurable": {"thread_id": "t"}}
FILE = "user-data/workspace/.transcripts/001.txt"


class Searching(ScriptedChatModel):
    """Writes summaries; answers, but asked "how many?" it searches the transcript that the summary names."""

    def _next_script(self) -> Script:
        heard = self.calls[-1]
        if "<earlier_summary>" in heard.texts[0]:
            return Script(reply="They sent a log.")
        named = re.search(r"word for word: (\S+\.txt)", "\n".join(heard.texts))
        if heard.messages[-1].type == "tool":
            return Script(reply=heard.texts[-1])
        if "how many" in heard.texts[-1] and named:
            return Script(tools=(ToolUse("read_file", {"path": named[1]}),))
        return Script(reply="Noted." if named is None else "There is a transcript.")


async def talk_with(home: Path, *said: str, **config: Any) -> tuple[LeadAgent, InMemorySaver, str]:
    """Say something to a lead agent with summaries from the sixth message on; the answer comes last."""
    listed = {
        "models": [{"name": "m", "use": "roebot_testing.agent:ScriptedChatModel"}],
        "summarization": {
            "trigger": [{"type": "messages", "value": 6}],
            "keep": {"type": "messages", "value": 2},
        },
        **{name: {"enabled": False} for name in ("web_tools", "title", "memory", "guardrails")},
        **config,
    }
    source, saver = ModelSource(overrides=listed, read_file=False, environ={}), InMemorySaver()

    def make(*_: Any, **__: Any) -> BaseChatModel:
        return Searching(environ={})

    agent = LeadAgent(source, home, additions=Additions(checkpointer=saver), make_model=make)
    values: dict[str, Any] = {}
    for text in said:
        values = await (await agent.get_graph(RunOptions())).ainvoke({"messages": [HumanMessage(text)]}, ASKS)
    return agent, saver, values["messages"][-1].text


LOG = "INFO x\nERROR y\nERROR z"


async def test_what_a_summary_has_replaced_can_be_counted_in_its_transcript(tmp_path: Path) -> None:
    _, _, answer = await talk_with(tmp_path, LOG, "b", "c", "d", "how many ERROR lines had the log?")
    assert answer.count("ERROR") == 2
    assert "ERROR y\nERROR z" in (tmp_path / "threads" / "t" / FILE).read_text()


@pytest.mark.parametrize(
    "config",
    [
        {"sandbox": {"enabled": False}},
        {
            "tools": [
                {"name": name, "group": "g", "use": f"agent.tools.sandbox:{name}"} for name in READER_TOOLS
            ]
        },
    ],
    ids=["without a sandbox", "without its own readers"],
)
async def test_an_agent_that_could_not_read_it_has_no_transcript(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    _, _, answer = await talk_with(tmp_path, LOG, "b", "c", "d", **config)
    assert answer == "Noted."
    assert not (tmp_path / "threads" / "t" / FILE).exists()


async def test_a_summary_on_request_leaves_a_transcript_too(tmp_path: Path) -> None:
    agent, saver, _ = await talk_with(tmp_path, LOG + " long" * 900, "b")
    graph = build_compaction_graph(agent.prepare_summaries, agent.load_limits).copy({"checkpointer": saver})
    values = await graph.ainvoke({"messages": []}, ASKS)
    assert "001.txt" in values["messages"][0].text
    assert "ERROR y" in (tmp_path / "threads" / "t" / FILE).read_text()
