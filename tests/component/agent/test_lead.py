"""The lead agent from configuration to answer, with scripted models from a real config file."""

import asyncio
import threading
from datetime import date
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent.catalog.source import ModelSource
from agent.config.errors import ConfigErrors
from agent.core.run_context import RunOptions
from agent.errors import ModelCallFailed, ModelUnavailable, ModelUnknown
from agent.lead import MAX_GRAPHS, LeadAgent, make_lead_agent
from agent.models.spec import ModelSpec
from roebot_testing.agent import ScriptedChatModel

TWO_MODELS = """
models:
  - {name: first, use: "roebot_testing.agent:ScriptedChatModel", script: {reply: one}}
  - {name: second, display_name: Second, use: "roebot_testing.agent:ScriptedChatModel", script: {reply: two}}
"""


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Day:
    def __init__(self) -> None:
        self.today = date(2026, 11, 21)

    def __call__(self) -> date:
        return self.today


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(TWO_MODELS)
    return path


def lead(path: Path, *, clock: Clock | None = None, day: Day | None = None) -> LeadAgent:
    source = ModelSource(path, environ={}, cwd=path.parent, clock=clock or Clock())
    return LeadAgent(source, path.parent / "home", today=day or Day())


async def answer(agent: LeadAgent, text: str = "hello", **switches: object) -> str:
    graph = await agent.get_graph(RunOptions(**switches))  # type: ignore[arg-type]
    result = await graph.copy({"checkpointer": InMemorySaver()}).ainvoke(
        {"messages": [{"role": "user", "content": text}]}, {"configurable": {"thread_id": "t"}}
    )
    return str(result["messages"][-1].text)


async def test_the_first_model_answers_and_another_can_be_asked_for(config: Path) -> None:
    agent = lead(config)
    assert await answer(agent) == "one"
    assert await answer(agent, model_name="second") == "two"


async def test_an_unknown_model_names_the_known_ones(config: Path) -> None:
    with pytest.raises(ModelUnknown, match=r'no model named "third"\. Available: first, second'):
        await lead(config).get_graph(RunOptions(model_name="third"))


async def test_a_graph_is_kept_for_each_model(config: Path) -> None:
    day = Day()
    agent = lead(config, day=day)
    first = await agent.get_graph(RunOptions())
    assert await agent.get_graph(RunOptions(model_name="first")) is first
    assert await agent.get_graph(RunOptions(model_name="second")) is not first
    day.today = date(2026, 11, 22)
    assert await agent.get_graph(RunOptions()) is first, "middleware tells the date"


async def test_only_the_graphs_of_late_are_kept(config: Path) -> None:
    names = [f"model-{number}" for number in range(MAX_GRAPHS + 1)]
    models = "".join(
        f'  - {{name: {name}, use: "roebot_testing.agent:ScriptedChatModel"}}\n' for name in names
    )
    config.write_text(f"models:\n{models}")
    agent = lead(config)
    first = await agent.get_graph(RunOptions(model_name=names[0]))
    for name in names[1:]:
        assert await agent.get_graph(RunOptions(model_name=names[0])) is first
        await agent.get_graph(RunOptions(model_name=name))
    for name in names[1:]:
        await agent.get_graph(RunOptions(model_name=name))
    assert await agent.get_graph(RunOptions(model_name=names[0])) is not first


@pytest.mark.long
async def test_a_file_that_changes_while_a_graph_is_made(config: Path) -> None:
    clock = Clock()
    source = ModelSource(config, environ={}, cwd=config.parent, clock=clock)
    making, go_on = threading.Event(), threading.Event()

    def make(spec: ModelSpec, **_: object) -> ScriptedChatModel:
        if not making.is_set():
            making.set()
            go_on.wait(10)
        return ScriptedChatModel(model_name=str(spec.settings), environ={})

    agent = LeadAgent(source, config.parent, today=Day(), make_model=make)
    slow = asyncio.create_task(agent.get_graph(RunOptions()))
    await asyncio.to_thread(making.wait, 10)
    config.write_text(TWO_MODELS.replace("reply: one", "reply: changed"))
    clock.now = 2.0
    current = await agent.get_graph(RunOptions())
    go_on.set()
    assert await slow is not current, "the run that began goes on with what it found"
    assert await agent.get_graph(RunOptions()) is current


async def test_a_changed_file_is_seen_and_a_broken_one_keeps_the_last_good(config: Path) -> None:
    clock = Clock()
    agent = lead(config, clock=clock)
    assert await answer(agent) == "one"
    config.write_text(TWO_MODELS.replace("reply: one", "reply: changed"))
    assert await answer(agent) == "one", "looked at once a second"
    clock.now = 2.0
    assert await answer(agent) == "changed"
    config.write_text("models: [{name: x")
    clock.now = 4.0
    assert await answer(agent) == "changed"
    config.write_text(TWO_MODELS)
    clock.now = 6.0
    assert await answer(agent) == "one"


async def test_a_file_that_never_was_good_says_so(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("models: 3")
    with pytest.raises(ConfigErrors, match="models"):
        await lead(path).get_graph(RunOptions())


async def test_what_a_model_lacks_is_left_out_or_refused(config: Path) -> None:
    agent = lead(config)
    plain = await agent.get_graph(RunOptions())
    assert await agent.get_graph(RunOptions(thinking=True, effort="high")) is plain
    config.write_text(TWO_MODELS + "allow_degradation: false\n")
    strict = lead(config)
    with pytest.raises(ModelUnavailable, match="does not support thinking or a reasoning effort"):
        await strict.get_graph(RunOptions(thinking=True, effort="high"))


async def test_thinking_lays_its_keys_over_the_others(config: Path) -> None:
    config.write_text(
        "models:\n  - {name: m, use: 'roebot_testing.agent:ScriptedChatModel', script: {reply: quick},\n"
        "     supports_thinking: true, when_thinking_enabled: {script: {reply: thought over}}}\n"
    )
    agent = lead(config)
    assert await answer(agent) == "quick"
    assert await answer(agent, thinking=True) == "thought over"


async def test_a_failing_model_ends_in_one_clear_line(config: Path) -> None:
    config.write_text("models: [{name: m, use: 'roebot_testing.agent:ScriptedChatModel'}]")
    with pytest.raises(ModelCallFailed) as caught:
        await answer(lead(config), "[fail=auth] hi")
    assert str(caught.value) == ('The model "m" failed: its provider rejected the API key. Replace the key.')
    assert caught.value.category == "auth"
    assert not caught.value.retryable
    assert caught.value.__cause__ is None


async def test_the_factory_reads_environment_and_header(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROEBOT_CONFIG_PATH", str(config))
    monkeypatch.setenv("ROEBOT_HOME", str(tmp_path / "home"))
    first = await make_lead_agent({"configurable": {}})
    second = await make_lead_agent({"configurable": {"x-model": "second"}})
    assert first is await make_lead_agent({})
    assert second is not first
    assert second is await make_lead_agent({"configurable": {"model_name": "second"}})
