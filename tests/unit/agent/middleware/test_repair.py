"""Calls without a result get one before the model sees them, and in the thread."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call, tool_call
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool

from agent.guardrails import AllowlistProvider
from agent.middleware.call_results import UNANSWERED, UNREADABLE
from agent.middleware.guardrail import GuardrailMiddleware
from agent.middleware.model_response import TokenUsageMiddleware
from agent.middleware.repair import GIVEN_UP, CallRepairMiddleware
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from tests.harness.agents import THREAD, calls, chain, kinds, say, says, scripted, steps_of, texts


def called(*ids: str) -> AIMessage:
    return AIMessage(
        "", tool_calls=[tool_call(name="work", args={}, id=call_id) for call_id in ids], id="+".join(ids)
    )


def result(call_id: str) -> ToolMessage:
    return ToolMessage(f"result of {call_id}", tool_call_id=call_id, id=f"r-{call_id}")


async def turn(*messages: AnyMessage) -> tuple[dict[str, Any], tuple[Any, ...], Any]:
    """The thread afterwards, what the model saw, and the graph."""
    model = scripted(says("done"))
    graph = chain(model, CallRepairMiddleware())
    values = await graph.ainvoke({"messages": list(messages)}, THREAD)
    return values, model.calls[-1].messages, graph


async def test_an_unanswered_call_gets_an_error_right_behind_it_and_keeps_it() -> None:
    values, seen, graph = await turn(HumanMessage("go"), called("a"), HumanMessage("and now?"))
    for messages in (seen, values["messages"]):
        assert kinds(messages)[:4] == ["human", "ai", "tool", "human"]
        assert messages[2].text == UNANSWERED
        assert (messages[2].tool_call_id, messages[2].name, messages[2].status) == ("a", "work", "error")
    assert texts(values)[-1] == "done"
    again = await graph.ainvoke({"messages": [HumanMessage("more")]}, THREAD)
    assert texts(again)[-2:] == ["more", "done"]
    assert kinds(again).count("tool") == 1, "it was stored"


class Adds(AgentMiddleware[Any, Any]):
    """Shows the model a message more, without storing it."""

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(request.override(messages=[*request.messages, HumanMessage("by the way")]))


async def test_what_others_only_show_is_not_stored() -> None:
    model = scripted(says("done"))
    graph = chain(model, Adds(), CallRepairMiddleware())
    values = await graph.ainvoke({"messages": [HumanMessage("go"), called("a"), HumanMessage("hm")]}, THREAD)
    assert texts(model.calls[0].messages) == ["go", "", UNANSWERED, "hm", "by the way"]
    assert texts(values) == ["go", "", UNANSWERED, "hm", "done"]
    assert texts(await say(graph, "more"))[5:] == ["more", "done"]


async def test_results_that_are_there_stay_and_the_lacking_one_follows_them() -> None:
    values, seen, _ = await turn(HumanMessage("go"), called("a", "b"), result("b"), HumanMessage("well?"))
    assert texts(seen) == ["go", "", "result of b", UNANSWERED, "well?"]
    assert texts(values) == [*texts(seen), "done"]


async def test_a_result_elsewhere_comes_home_and_one_of_no_call_goes() -> None:
    _, seen, _ = await turn(
        HumanMessage("go"), called("a"), HumanMessage("wait"), result("a"), result("never called")
    )
    assert texts(seen) == ["go", "", "result of a", "wait"]


@tool
async def work(what: str) -> str:
    """Work."""
    return f"did {what}"


BROKEN = Script(tools=(ToolUse("work", "what: it", "x"),))


async def test_an_answer_with_nothing_but_unreadable_calls_is_asked_for_again() -> None:
    model = scripted(BROKEN, calls("work", what="it"), says("done"))
    values = await say(chain(model, CallRepairMiddleware(), tools=[work]), "go")
    assert texts(values) == ["go", "", "did it", "done"], "the unreadable one leaves no trace"
    assert kinds(model.calls[1].messages) == ["human", "ai", "tool"]
    assert "could not be read" in model.calls[1].texts[-1]


async def test_what_is_asked_for_again_cost_something_too() -> None:
    broken = Script(tools=BROKEN.tools, usage=(10, 2))
    model = scripted(broken, broken, says("done", usage=(12, 3)))
    graph = chain(model, CallRepairMiddleware(), TokenUsageMiddleware(), tools=[work])
    usage = (await say(graph, "go"))["usage"]
    assert usage == {"input_tokens": 32, "output_tokens": 7, "total_tokens": 39, "cached_tokens": 0}


async def test_a_model_that_keeps_writing_rubbish_says_so() -> None:
    model = scripted(BROKEN)
    values = await say(chain(model, CallRepairMiddleware(retries=1), tools=[work]), "go")
    assert texts(values) == [
        "go",
        GIVEN_UP["en"].format(tools="work"),
    ]
    assert len(model.calls) == 2
    assert values["messages"][-1].invalid_tool_calls == []


@pytest.mark.parametrize("order", ["ab", "ba", "aab", "bab", "bba"])
async def test_each_call_gets_one_result_in_order_also_an_unreadable_one(order: str) -> None:
    written = {"a": {"what": "it"}, "b": "what: it"}
    uses = [ToolUse("work", written[kind], f"{kind}{number}") for number, kind in enumerate(order)]
    model = scripted(Script(tools=tuple(uses)), says("done"))
    values = await streamed(model)
    expected = [UNREADABLE if kind == "b" else "did it" for kind in order]
    assert texts(values) == ["go", "", *expected, "done"]
    _, answer, *results, _ = values["messages"]
    assert answer.invalid_tool_calls == []
    ids = [use.id for use in uses]
    assert [call["id"] for call in answer.tool_calls] == [one.tool_call_id for one in results] == ids
    assert [one.tool_call_id for one in model.calls[1].messages[2:]] == ids


@pytest.mark.parametrize("name", ["nothing", "functions.work", "a b"])
async def test_an_unreadable_call_of_another_name_gets_its_result_too(name: str) -> None:
    uses = ToolUse("work", {"what": "it"}, "a"), ToolUse(name, "what: it", "b")
    model = scripted(Script(tools=uses), says("done"))
    values = await say(chain(model, CallRepairMiddleware(), tools=[work]), "go")
    assert texts(values) == ["go", "", "did it", UNREADABLE, "done"]


async def test_nobody_is_asked_about_an_unreadable_call() -> None:
    uses = ToolUse("work", {"what": "it"}, "a"), ToolUse("risky", "what: it", "b")
    model = scripted(Script(tools=uses), says("done"))
    guard = GuardrailMiddleware(provider=AllowlistProvider(ask=["risky"]))
    risky = work.model_copy(update={"name": "risky"})
    graph = chain(model, CallRepairMiddleware(), guard, tools=[work, risky])
    assert texts(await say(graph, "go")) == ["go", "", "did it", UNREADABLE, "done"]


async def test_no_older_answer_is_written_again() -> None:
    history = [
        HumanMessage("go"),
        called("a"),
        HumanMessage("and?"),
        AIMessage("old answer"),
        HumanMessage("hm"),
    ]
    graph = chain(scripted(says("done")), CallRepairMiddleware())
    written = []
    async for update in graph.astream({"messages": history}, THREAD, stream_mode="updates"):
        for change in update.values():
            for part in change if isinstance(change, list) else [change]:
                written += [m.text for m in part["messages"] if m.type == "ai"]
    assert set(written) == {"done"}, "clients would show it as new"


async def test_a_call_that_could_not_be_read_is_answered_too() -> None:
    broken = AIMessage("", invalid_tool_calls=[invalid_tool_call(name="work", args="{", id="x", error="?")])
    values, seen, _ = await turn(HumanMessage("go"), broken, HumanMessage("well?"))
    assert kinds(seen) == ["human", "ai", "tool", "human"]
    assert seen[2].tool_call_id == "x"
    assert seen[2].status == "error"
    assert kinds(values) == [*kinds(seen), "ai"]


async def test_a_whole_conversation_is_left_alone_and_costs_no_step() -> None:
    values, seen, graph = await turn(HumanMessage("go"), called("a"), result("a"))
    assert texts(seen) == ["go", "", "result of a"]
    assert texts(values) == [*texts(seen), "done"]
    bare = chain(scripted(says("done")))
    await bare.ainvoke({"messages": [HumanMessage("go"), called("a"), result("a")]}, THREAD)
    assert await steps_of(graph) == await steps_of(bare)


async def test_ids_that_begin_anew_in_each_answer_are_told_apart() -> None:
    model = scripted(calls("work", "call_0", what="one"), calls("work", "call_0", what="two"), says("done"))
    graph = chain(model, CallRepairMiddleware(), tools=[work])
    values = await say(graph, "go")
    assert texts(model.calls[2].messages) == ["go", "", "did one", "", "did two"]
    assert texts(values)[-1] == "done"


@pytest.mark.parametrize("lacking", [0, 1])
async def test_of_two_calls_with_one_id_the_one_without_a_result_gets_an_error(lacking: int) -> None:
    first, second = called("a"), called("a").model_copy(update={"id": "second"})
    results = [result("a"), ToolMessage("result of the second", tool_call_id="a", id="r-2")]
    del results[lacking]
    parts: list[AnyMessage] = [
        HumanMessage("go"),
        first,
        HumanMessage("again"),
        second,
        HumanMessage("well?"),
    ]
    parts.insert(4 if lacking == 0 else 2, results[0])
    _, seen, _ = await turn(*parts)
    told = [message.text for message in seen if message.type == "tool"]
    assert told == ([UNANSWERED, "result of the second"] if lacking == 0 else ["result of a", UNANSWERED])


class Unnumbered(ScriptedChatModel):
    """Sends each call in one piece, without an index."""

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        async for chunk in super()._astream(*args, **kwargs):
            if isinstance(chunk.message, AIMessageChunk):
                for piece in chunk.message.tool_call_chunks:
                    piece["index"] = None
            yield chunk


async def streamed(model: ScriptedChatModel) -> dict[str, Any]:
    """The values after a turn whose answers were streamed."""
    graph = chain(model, CallRepairMiddleware(), tools=[work])
    async for _ in graph.astream({"messages": [HumanMessage("go")]}, THREAD, stream_mode="messages"):
        pass
    values: dict[str, Any] = (await graph.aget_state(THREAD)).values
    return values


async def test_calls_that_a_provider_does_not_number_are_told_apart() -> None:
    both = Script(tools=(ToolUse("work", {"what": "one"}, "a"), ToolUse("work", {"what": "two"}, "b")))
    values = await streamed(Unnumbered(steps=[both, says("done")], environ={}))
    assert texts(values)[2:] == ["did one", "did two", "done"]


@pytest.mark.parametrize("args", ['{"what": "half of i', '{"what": "it"', "[1, 2", '{"what": "it"} and more'])
async def test_arguments_that_break_off_are_not_completed(args: str) -> None:
    broken = Script(tools=(ToolUse("work", args, "x"),), fragment=4)
    model = scripted(broken, calls("work", what="it"), says("done"))
    assert texts(await streamed(model)) == ["go", "", "did it", "done"]


async def test_a_call_that_broke_off_is_not_run_and_the_whole_one_beside_it_is() -> None:
    uses = ToolUse("work", {"what": "one"}, "a"), ToolUse("work", '{"what": "tw', "b")
    both = Script(tools=uses, fragment=4)
    values = await streamed(scripted(both, says("done")))
    assert texts(values) == ["go", "", "did one", UNREADABLE, "done"]
    assert [call["id"] for call in values["messages"][1].tool_calls] == ["a", "b"]


async def test_a_call_without_arguments_needs_none() -> None:
    values = await streamed(scripted(Script(tools=(ToolUse("work", "", "x"),)), says("done")))
    assert "what" in texts(values)[2], "the tool says which argument it lacks"


async def seen(model: ScriptedChatModel) -> list[dict[str, str]]:
    """What people see of a turn: the text of each answer by its id, whenever it has changed."""
    graph = chain(model, CallRepairMiddleware(), tools=[work])
    views: list[dict[str, str]] = [{}]
    given = {"messages": [HumanMessage("go")]}
    async for mode, part in graph.astream(given, THREAD, stream_mode=["messages", "updates"]):
        said = dict(views[-1])
        if mode == "messages" and isinstance(part[0], AIMessage):
            said[part[0].id or ""] = said.get(part[0].id or "", "") + part[0].text
        elif mode == "updates" and "model" in part:
            changes = part["model"] if isinstance(part["model"], list) else [part["model"]]
            said |= {m.id: m.text for change in changes for m in change.get("messages", ()) if m.type == "ai"}
        views.append(said)
    return views


EARLY = "I write it right now."
BOTH = Script(reply=EARLY, tools=BROKEN.tools)


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize(
    ("again", "stays"),
    [
        (calls("work", what="it"), ["", "done"]),
        (Script(reply="Once more.", tools=(ToolUse("work", {"what": "it"}),)), ["Once more.", "done"]),
    ],
)
async def test_the_text_of_an_answer_that_is_asked_for_again_gives_way(
    again: Script, stays: list[str], streaming: bool
) -> None:
    views = await seen(scripted(BOTH, again, says("done"), disable_streaming=not streaming))
    assert any(list(view.values()) == [EARLY] for view in views)
    assert list(views[-1].values()) == stays
    assert all(len(view) == 1 for view in views if EARLY in view.values()), "nothing stands beside it"


async def test_where_all_tries_are_unreadable_only_the_last_word_stays() -> None:
    views = await seen(scripted(BOTH, BOTH, BROKEN))
    [said] = views[-1].values()
    assert said == GIVEN_UP["en"].format(tools="work")


async def test_an_answer_without_a_text_is_asked_for_again_in_the_open() -> None:
    uses = (ToolUse("work", {"what": "it"}),)
    views = await seen(scripted(BROKEN, Script(reply="One moment now.", tools=uses), says("done")))
    told = [list(view.values()) for view in views]
    assert any("One " in texts_ for texts_ in told), "it was streamed"
    assert told[-1][-2:] == ["One moment now.", "done"]
