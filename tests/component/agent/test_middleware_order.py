"""The order of the built-in chain, by what it does to a run: each of these fails the other way round."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage
from langchain_core.tools import StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from agent.guardrails import AllowlistProvider
from agent.middleware.clarification import NOT_RUN
from agent.middleware.guardrail import GuardrailMiddleware
from agent.middleware.memory import MemoryMiddleware
from agent.middleware.summarization import SummarizationMiddleware
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from roebot_testing.agent.memory import RecordingMemory

CONFIG: Any = {"configurable": {"thread_id": "t", "user_id": "web:1", "chat_kind": "private"}}
IMAGE = {"a.png": {"base64": "AAAA", "mime_type": "image/png"}}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default folders are below the current one."""
    monkeypatch.chdir(tmp_path)


@tool
async def task(prompt: str) -> str:
    """Give work away."""
    return f"did {prompt}"


def graph(
    model: ScriptedChatModel, *, tools: Sequence[Any] = (task,), store: Any = None, **given: Any
) -> Any:
    """The whole chain, with these in the place of defaults."""
    everything = dict.fromkeys(RuntimeFeatures.__dataclass_fields__, True)
    features = RuntimeFeatures(**{**everything, "auto_title": False, **given})
    built = create_agent_graph(model, tools, system_prompt="You help.", features=features, plan_mode=True)
    return built.copy({"checkpointer": InMemorySaver(), "store": store})


def scripted(*steps: Script) -> ScriptedChatModel:
    return ScriptedChatModel(steps=steps, environ={})


async def say(agent: Any, text: str = "go", **state: Any) -> dict[str, Any]:
    values: dict[str, Any] = await agent.ainvoke({"messages": [HumanMessage(text)], **state}, CONFIG)
    return values


async def test_only_steering_has_a_step_of_its_own() -> None:
    steps = []
    source = {"messages": [HumanMessage("go")]}
    async for update in graph(scripted(Script(reply="ok"))).astream(source, CONFIG, stream_mode="updates"):
        steps += update
    assert steps == ["SteeringMiddleware.before_model", "model"]


async def test_a_summary_is_made_of_whole_pairs() -> None:
    """DanglingToolCall around Summarization: the summarizer reads the result that was lacking."""
    writer = scripted(Script(reply="SUMMARY"))
    summaries = SummarizationMiddleware(model=writer, trigger=("messages", 6), keep=("messages", 1))
    model = scripted(Script(reply="ok"))
    agent = graph(model, summarization=summaries)
    call = {"name": "task", "args": {"prompt": "x"}, "id": "a"}
    history = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
    ]
    await agent.aupdate_state(CONFIG, {"messages": history}, as_node="model")
    for text in ("second", "third", "fourth"):
        await say(agent, text)
    assert "Interrupted: this call has no result" in writer.calls[0].texts[0]


async def test_a_denied_call_is_not_recorded_as_begun() -> None:
    """Guardrail around ToolErrorHandling, which keeps the record."""
    kept: list[Any] = []

    class Watched(InMemoryStore):
        async def abatch(self, ops: Any) -> Any:
            kept.extend(ops)
            return await super().abatch(ops)

    steps = (Script(tools=(ToolUse("task", {"prompt": "x"}, "c"),)), Script(reply="ok"))
    guard = GuardrailMiddleware(provider=AllowlistProvider(denied=["task"]))
    await say(graph(scripted(*steps), store=Watched(), guardrail=guard))
    assert not [op for op in kept if getattr(op, "value", None)]
    await say(graph(scripted(*steps), store=Watched()))
    assert [op for op in kept if getattr(op, "value", None)]


async def test_what_is_remembered_is_said_after_all_that_conversations_share() -> None:
    """Memory is around DeferredToolFilter, but what belongs to a conversation ends the prompt."""
    memory = RecordingMemory()
    model = scripted(Script(reply="ok"))
    many = [
        StructuredTool.from_function(lambda: "x", name=f"tool_{n}", description=f"Tool {n}.")
        for n in range(30)
    ]
    agent = graph(model, tools=many, memory=MemoryMiddleware(store=memory))
    await say(agent, "I like tea")
    await say(agent, "well?")
    system = model.calls[-1].texts[0]
    parts = ("You help.", "`write_todos`", "You have more tools", "<memory>")
    places = [system.index(part) for part in parts]
    assert places == sorted(places)


async def test_a_summary_is_not_made_of_what_is_only_shown() -> None:
    """Summarization around Memory and ViewImage: neither counts for it, nor goes into a summary."""
    writer = scripted(Script(reply="SUMMARY"))
    model = scripted(Script(reply="ok"))
    summaries = SummarizationMiddleware(model=writer, trigger=("messages", 4), keep=("messages", 2))
    agent = graph(model, summarization=summaries)
    await say(agent, "I like tea", viewed_images=IMAGE)
    await say(agent, "second", viewed_images=IMAGE)
    assert writer.calls == [], "three messages and an image"
    await say(agent, "third", viewed_images=IMAGE)
    assert len(writer.calls) == 1
    assert "images that you opened" not in writer.calls[0].texts[0]
    last = model.calls[-1].messages[-1]
    assert last.text.startswith("The images that you opened"), "but the model sees them behind the summary"


async def test_the_warning_stands_behind_the_images() -> None:
    """ViewImage around LoopDetection, both of which add a message at the end."""
    stuck = Script(tools=(ToolUse("look", {}, "c"),))

    @tool
    async def look() -> str:
        """Look."""
        return "seen"

    model = scripted(stuck, stuck, stuck, Script(reply="ok"))

    class Opens(AgentMiddleware[Any, Any]):
        async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any]:
            return {"viewed_images": IMAGE}

    everything = dict.fromkeys(RuntimeFeatures.__dataclass_fields__, True)
    features = RuntimeFeatures(**{**everything, "sandbox": False, "auto_title": False})
    agent = create_agent_graph(
        model, [look], features=features, extra_middleware=[Opens()], checkpointer=InMemorySaver()
    )
    await say(agent)
    ends = [message.text for message in model.calls[-1].messages[-2:]]
    assert ends[0].startswith("The images that you opened")
    assert "same tool call" in ends[1]


async def test_a_loop_of_too_many_subagents_is_seen() -> None:
    """SubagentLimit around LoopDetection: it refuses calls of the answer that the other has judged whole."""
    many = Script(tools=tuple(ToolUse("task", {"prompt": str(n)}, f"c{n}") for n in range(15)))
    values = await say(graph(scripted(many)))
    results = [message.text for message in values["messages"] if message.type == "tool"]
    assert len(results) == 4 * 15
    assert sum(text.startswith("Not run") for text in results) == 4 * 3
    assert "again and again" in values["messages"][-1].text


async def test_a_question_stands_alone_before_anything_judges_the_answer() -> None:
    """Clarification is the last: the limit does not count the calls beside a question, which are not run."""
    question = ToolUse("ask_clarification", {"question": "Which?"}, "q")
    many = Script(tools=(question, *(ToolUse("task", {"prompt": str(n)}, f"c{n}") for n in range(15))))
    values = await say(graph(scripted(many)))
    assert values["__interrupt__"][0].value["question"] == "Which?"
    assert {message.text for message in values["messages"] if message.type == "tool"} == {NOT_RUN}
