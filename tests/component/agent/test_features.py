"""Every feature in its three states, and the order of the chain, by what a run does."""

from __future__ import annotations

import dataclasses
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage
from langchain_core.tools import StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver

from agent.factory import create_agent_graph
from agent.features import Next, Prev, RuntimeFeatures
from agent.guardrails import AllowlistProvider
from agent.harness.assembly import BUILT_INS
from agent.middleware.clarification import ClarificationMiddleware
from agent.middleware.deferred_tools import DeferredToolFilterMiddleware
from agent.middleware.guardrail import GuardrailMiddleware
from agent.middleware.loop_detection import LoopDetectionMiddleware
from agent.middleware.memory import MemoryMiddleware
from agent.middleware.model_response import open_calls
from agent.middleware.sandbox import SandboxMiddleware
from agent.middleware.steering import SteeringMiddleware
from agent.middleware.subagent_limit import SubagentLimitMiddleware
from agent.middleware.summarization import SummarizationMiddleware
from agent.middleware.thread_files import ViewImageMiddleware
from agent.middleware.title import TitleMiddleware
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from roebot_testing.agent.sandbox import MemorySandboxProvider

OFF = dict.fromkeys(RuntimeFeatures.__dataclass_fields__, False)
KINDS: list[type[AgentMiddleware[Any, Any]]] = [
    getattr(import_module(slot.use.partition(":")[0]), slot.use.partition(":")[2]) for slot in BUILT_INS
]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default folders are below the current one."""
    monkeypatch.chdir(tmp_path)


@tool
async def look(word: str) -> str:
    """Look at a word."""
    return f"seen {word}"


@tool
async def task(prompt: str) -> str:
    """Give work away."""
    return f"did {prompt}"


def calls(*names: str, **args: Any) -> Script:
    return Script(tools=tuple(ToolUse(name, args, f"c{index}") for index, name in enumerate(names)))


def scripted(*steps: Script) -> ScriptedChatModel:
    return ScriptedChatModel(steps=steps, environ={})


async def run(
    model: ScriptedChatModel, *given: Any, tools: Any = (look, task), **arguments: Any
) -> dict[str, Any]:
    graph = create_agent_graph(model, tools, checkpointer=InMemorySaver(), **arguments)
    config: Any = {"configurable": {"thread_id": "t", "user_id": "web:1", "chat_kind": "private"}}
    values: dict[str, Any] = {}
    for message in given or ("hello",):
        state = message if isinstance(message, dict) else {"messages": [HumanMessage(message)]}
        values = await graph.ainvoke(state, config)
    return values


def only(**feature: Any) -> RuntimeFeatures:
    return RuntimeFeatures(**{**OFF, **feature})


class Own(AgentMiddleware[Any, Any]):
    """Stands for any feature, and is seen."""

    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        return {"title": "own"}


@pytest.mark.parametrize("feature", OFF)
async def test_an_instance_takes_the_place_of_any_feature(feature: str) -> None:
    values = await run(scripted(Script(reply="ok")), features=only(**{feature: Own()}))
    assert values["title"] == "own"
    assert values["messages"][-1].text == "ok"


@pytest.mark.parametrize("feature", OFF)
async def test_any_feature_runs_alone(feature: str) -> None:
    values = await run(scripted(Script(reply="ok")), features=only(**{feature: True}))
    assert values["messages"][-1].text == "ok"


def owner(feature: str) -> type[AgentMiddleware[Any, Any]]:
    """The class whose place an instance given for the feature takes."""
    names = {"auto_title": "title", "vision": "view_image", "subagent": "subagent_limit"}
    [slot] = [number for number, slot in enumerate(BUILT_INS) if slot.name == names.get(feature, feature)]
    return KINDS[slot]


@pytest.mark.parametrize("state", [True, False, "an instance"])
@pytest.mark.parametrize("feature", OFF)
async def test_each_feature_in_its_three_states(feature: str, state: bool | str) -> None:
    """What is anchored beside its middleware runs beside it, or finds no anchor."""
    entered: list[str] = []

    class Beside(AgentMiddleware[Any, Any]):
        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            entered.append("beside")
            return await handler(request)

    class Wraps(Own):
        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            entered.append("own")
            return await handler(request)

    extra = Next(owner(feature))(Beside)()
    features = only(**{feature: Wraps() if isinstance(state, str) else state})
    model = scripted(Script(reply="ok"))
    if state is False:
        with pytest.raises(ValueError, match="which is not in the chain"):
            await run(model, features=features, extra_middleware=[extra])
        return
    values = await run(model, features=features, extra_middleware=[extra])
    assert entered == (["own", "beside"] if isinstance(state, str) else ["beside"])
    assert (values.get("title") == "own") is isinstance(state, str)


async def test_titles() -> None:
    async def title(feature: Any) -> Any:
        values = await run(scripted(Script(reply="Fine.")), features=only(auto_title=feature))
        return values.get("title")

    assert await title(True) == "hello"
    assert await title(False) is None
    assert await title(TitleMiddleware(max_chars=3)) == "hel"


async def test_loops() -> None:
    async def rounds(feature: Any) -> int:
        model = scripted(*[calls("look", word="x")] * 8, Script(reply="done"))
        values = await run(model, features=only(loop_detection=feature))
        return sum(message.type == "tool" for message in values["messages"])

    assert await rounds(False) == 8
    assert await rounds(True) == 4
    assert await rounds(LoopDetectionMiddleware(warn_at=2, stop_at=3)) == 2


async def test_subagents() -> None:
    async def tasks(feature: Any) -> int:
        model = scripted(calls(*["task"] * 15, prompt="x"), Script(reply="done"))
        values = await run(model, features=only(subagent=feature))
        return sum(message.text == "did x" for message in values["messages"])

    assert await tasks(False) == 15
    assert await tasks(True) == 12
    assert await tasks(SubagentLimitMiddleware(most=1)) == 1


async def test_images() -> None:
    async def shown(feature: Any) -> bool:
        model = scripted(Script(reply="ok"))
        image = {"a.png": {"base64": "AAAA", "mime_type": "image/png"}}
        values = await run(
            model,
            {"messages": [HumanMessage("see")], "viewed_images": image},
            features=only(vision=feature),
        )
        seen = "AAAA" in str(model.calls[0].messages[-1].content)
        assert seen == (values["viewed_images"] == {})
        return seen

    assert await shown(True)
    assert not await shown(False)
    assert await shown(ViewImageMiddleware())


async def test_memory() -> None:
    async def remembered(feature: Any) -> bool:
        model = scripted(Script(reply="ok"))
        await run(model, "I like tea", "What do I like?", features=only(memory=feature))
        return "<memory>" in model.calls[-1].texts[0]

    assert await remembered(True)
    assert not await remembered(False)
    assert await remembered(MemoryMiddleware())


async def test_summaries() -> None:
    async def asked(feature: Any, size: int = 10) -> list[str]:
        model = scripted(Script(reply="short"))
        await run(model, *["word " * size] * 12, features=only(summarization=feature))
        return [text for heard in model.calls for text in heard.texts if "<earlier_summary>" in text]

    assert not await asked(False, 30_000)
    assert not await asked(True)
    assert await asked(True, 30_000)
    assert await asked(SummarizationMiddleware(trigger=("messages", 5), keep=("messages", 2)))


async def test_permission() -> None:
    async def result(feature: Any) -> str:
        model = scripted(calls("look", word="x"), Script(reply="done"))
        values = await run(model, features=only(guardrail=feature))
        return str(values["messages"][-2].text)

    assert await result(True) == await result(False) == "seen x"
    denied = await result(GuardrailMiddleware(provider=AllowlistProvider(denied=["look"])))
    assert denied.startswith("Not allowed: the tool look is not allowed here")


async def test_long_lists_of_tools() -> None:
    tools = [
        StructuredTool.from_function(lambda: "x", name=f"tool_{number}", description=f"Tool {number}.")
        for number in range(30)
    ]

    async def listed(feature: Any) -> int:
        model = scripted(Script(reply="ok"))
        await run(model, tools=tools, features=only(deferred_tools=feature))
        return len(model.calls[0].tools)

    everything = await listed(False)
    assert await listed(True) < everything
    assert await listed(DeferredToolFilterMiddleware(threshold=2)) < await listed(True)


async def test_messages_that_join() -> None:
    async def steps(feature: Any) -> bool:
        graph = create_agent_graph(scripted(Script(reply="ok")), features=only(steering=feature))
        return "SteeringMiddleware.before_model" in graph.nodes

    assert await steps(True)
    assert not await steps(False)
    assert await steps(SteeringMiddleware())


async def test_sandbox() -> None:
    async def found(feature: Any) -> tuple[bool, Any]:
        model = scripted(calls("look", word="x"), Script(reply="ok"))
        values = await run(model, features=only(sandbox=feature))
        return "thread_data" in values, (values.get("sandbox") or {}).get("sandbox_id")

    with_folders, name = await found(True)
    assert with_folders
    assert name == "local-t"
    assert await found(False) == (False, None)
    elsewhere = SandboxMiddleware(provider=MemorySandboxProvider())
    assert await found(elsewhere) == (True, "memory-t"), "the thread's folders stay"


async def test_plan_mode() -> None:
    for plan_mode in (True, False):
        model = scripted(Script(reply="ok"))
        await run(model, features=only(), plan_mode=plan_mode)
        assert ("write_todos" in model.calls[0].tools) is plan_mode


async def test_what_is_always_there() -> None:
    model = scripted(calls("look"), Script(reply="done"))
    values = await run(model, features=only())
    assert "ask_clarification" in model.calls[0].tools
    assert values["messages"][-2].status == "error", "a call without its argument"
    assert values["usage"]["output_tokens"] > 0


async def test_a_replaced_feature_brings_the_tools_of_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SubagentLimitMiddleware, "tools", [task], raising=False)
    model = scripted(Script(reply="ok"))
    await run(model, tools=[], features=only(subagent=Own()))
    assert set(model.calls[0].tools) == {"ask_clarification", "task"}


MODEL_CALLS = 2
"""Of the run below: one that calls a tool, one that answers."""


async def test_the_chain_costs_a_step_only_before_each_model_call() -> None:
    async def steps(**arguments: Any) -> int:
        model = scripted(calls("look", word="x"), Script(reply="ok"))
        graph = create_agent_graph(model, [look], checkpointer=InMemorySaver(), **arguments)
        await graph.ainvoke({"messages": [HumanMessage("hello")]}, {"configurable": {"thread_id": "t"}})
        config: Any = {"configurable": {"thread_id": "t"}}
        return len([state async for state in graph.aget_state_history(config)])

    bare = await steps(middleware=[])
    everything = RuntimeFeatures(**{**dict.fromkeys(OFF, True), "steering": False})
    assert await steps(features=everything, plan_mode=True) == bare
    steered = dataclasses.replace(everything, steering=True)
    assert await steps(features=steered, plan_mode=True) == bare + MODEL_CALLS


async def test_nothing_is_placed_before_the_order_of_tool_calls() -> None:
    """It has to see every call that runs, or later calls would wait for ever."""

    @Prev(KINDS[0])
    class TooEarly(AgentMiddleware[Any, Any]):
        pass

    with pytest.raises(ValueError, match="TooEarly can't come before ToolOrderMiddleware, which is always"):
        await run(scripted(Script(reply="ok")), features=only(), extra_middleware=[TooEarly()])


async def test_the_whole_chain_stands_in_its_order() -> None:
    entered: list[str] = []

    def spy(kind: type[AgentMiddleware[Any, Any]]) -> AgentMiddleware[Any, Any]:
        async def awrap_model_call(self: Any, request: Any, handler: Any) -> Any:
            entered.append(kind.__name__)
            return await handler(request)

        made = type(f"Before{kind.__name__}", (AgentMiddleware,), {"awrap_model_call": awrap_model_call})
        return Prev(kind)(made)()

    everything = RuntimeFeatures(**dict.fromkeys(OFF, True))
    await run(
        scripted(Script(reply="ok")),
        features=everything,
        plan_mode=True,
        extra_middleware=[spy(kind) for kind in reversed(KINDS[1:])],
    )
    assert entered == [
        "ThreadDataMiddleware",
        "UploadsMiddleware",
        "SandboxMiddleware",
        "SteeringMiddleware",
        "RunLimitsMiddleware",
        "CallRepairMiddleware",
        "GuardrailMiddleware",
        "ToolErrorHandlingMiddleware",
        "SummarizationMiddleware",
        "TodoListMiddleware",
        "TitleMiddleware",
        "TokenUsageMiddleware",
        "ConversationMiddleware",
        "ServiceToolsMiddleware",
        "MemoryMiddleware",
        "ViewImageMiddleware",
        "ToolResultMiddleware",
        "UnseenFilesMiddleware",
        "DeferredToolFilterMiddleware",
        "SubagentLimitMiddleware",
        "LoopDetectionMiddleware",
        "RunEndMiddleware",
        "AnswerRepairMiddleware",
        "ClarificationMiddleware",
    ]


async def test_guardrail_stands_around_tool_errors_and_clarification_within_everything() -> None:
    """A denied tool is never entered, and an extra without an anchor sees which calls will run."""
    seen: list[list[str]] = []
    entered: list[str] = []

    class Free(AgentMiddleware[Any, Any]):
        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            response = await handler(request)
            seen.append([call["name"] for call in open_calls(response)])
            return response

    @Next(GuardrailMiddleware)
    class Entered(AgentMiddleware[Any, Any]):
        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            entered.append(request.tool_call["name"])
            return await handler(request)

    question = ToolUse("ask_clarification", {"question": "Which?"}, "q")
    model = scripted(
        Script(tools=(ToolUse("look", {"word": "x"}, "c"),)),
        Script(tools=(question, ToolUse("look", {}, "d"))),
    )
    guard = GuardrailMiddleware(provider=AllowlistProvider(denied=["look"]))
    values = await run(model, features=only(guardrail=guard), extra_middleware=[Free(), Entered()])
    assert seen == [["look"], ["ask_clarification"]], "the question stands alone already"
    assert entered == ["ask_clarification"]
    assert values["__interrupt__"][0].value["question"] == "Which?"


def test_the_whole_chain_excludes_its_switches() -> None:
    model = scripted()
    for others, named in (
        ({"features": RuntimeFeatures()}, "features"),
        ({"extra_middleware": [Own()]}, "extra_middleware"),
        ({"plan_mode": True, "features": RuntimeFeatures()}, "features and plan_mode"),
    ):
        with pytest.raises(ValueError, match=f"it can't be combined with {named}"):
            create_agent_graph(model, middleware=[], **others)  # type: ignore[arg-type]
    create_agent_graph(model, middleware=[], extra_middleware=[])


def test_nothing_comes_after_clarification() -> None:
    @Next(ClarificationMiddleware)
    class Late(AgentMiddleware[Any, Any]):
        pass

    with pytest.raises(ValueError, match="Late can't come after ClarificationMiddleware"):
        create_agent_graph(scripted(), extra_middleware=[Late()])


def test_an_anchor_whose_feature_is_off() -> None:
    @Next(TitleMiddleware)
    class Beside(AgentMiddleware[Any, Any]):
        pass

    with pytest.raises(
        ValueError, match=r"Beside is placed @Next\(TitleMiddleware\), which is not in the chain"
    ):
        create_agent_graph(scripted(), extra_middleware=[Beside()])
    create_agent_graph(scripted(), features=only(auto_title=Own()), extra_middleware=[Beside()])
