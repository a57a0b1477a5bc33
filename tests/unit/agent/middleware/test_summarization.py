"""The older part of a long conversation becomes a summary of it."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import tool

from agent.core.run_context import RunContext
from agent.errors import ModelCallFailed
from agent.middleware.memory import make_recorder
from agent.middleware.model_response import TokenUsageMiddleware
from agent.middleware.repair import CallRepairMiddleware
from agent.middleware.summarization import SummarizationMiddleware
from agent.models.calls import ModelCalls
from agent.models.retry import ModelRetry
from roebot_testing.agent import Script, ScriptedChatModel
from roebot_testing.agent.memory import RecordingMemory
from tests.harness.agents import THREAD, calls, chain, kinds, say, says, scripted, steps_of, texts


def summarizing(writer: ScriptedChatModel | None = None, **options: Any) -> SummarizationMiddleware:
    options.setdefault("trigger", ("messages", 6))
    options.setdefault("keep", ("messages", 2))
    return SummarizationMiddleware(model=writer or scripted(says("SUMMARY")), **options)


async def talk(graph: Any, turns: int, config: Any = THREAD) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for number in range(turns):
        values = await say(graph, f"fact {number}", config)
    return values


async def test_the_older_part_goes_and_its_summary_reaches_the_call() -> None:
    writer, model = scripted(says("SUMMARY")), scripted(says("ok"))
    graph = chain(model, summarizing(writer), system_prompt="You help.")
    values = await talk(graph, 4)
    assert len(writer.calls) == 1
    read = writer.calls[0].texts[0]
    assert [f"fact {number}" in read for number in range(4)] == [True, True, True, False]
    seen = model.calls[-1].texts
    assert seen[0] == "You help."
    assert "SUMMARY" in seen[1]
    assert seen[2:] == ["ok", "fact 3"]
    assert texts(values) == [*seen[1:], "ok"], "the thread is cut too"


async def test_a_summary_is_itself_summarized_later() -> None:
    writer = scripted(says("FIRST"), says("SECOND"))
    graph = chain(scripted(says("ok")), summarizing(writer))
    await talk(graph, 6)
    assert "FIRST" in writer.calls[1].texts[0]
    assert "SECOND" in (await talk(graph, 1))["messages"][0].text


async def test_below_the_trigger_nothing_happens_and_it_costs_no_step() -> None:
    writer = scripted(says("SUMMARY"))
    with_it, bare = chain(scripted(says("ok")), summarizing(writer)), chain(scripted(says("ok")))
    for graph in (with_it, bare):
        await talk(graph, 3)
    assert writer.calls == []
    assert await steps_of(with_it) == await steps_of(bare)


async def test_without_a_writer_the_agents_own_model_writes() -> None:
    model = scripted(*[says("ok")] * 3, says("SUMMARY"), says("ok"))
    graph = chain(model, SummarizationMiddleware(trigger=("messages", 6), keep=("messages", 2)))
    values = await talk(graph, 4)
    assert "SUMMARY" in texts(values)[0]


@tool
async def look(at: str) -> str:
    """Look."""
    return f"saw {at}"


async def test_calls_stay_with_their_results_and_the_question_stays() -> None:
    model = scripted(*[calls("look", at=f"place {number}") for number in range(8)], says("done"))
    graph = chain(model, summarizing(trigger=("messages", 7), keep=("messages", 3)), tools=[look])
    values = await say(graph, "look everywhere")
    for heard in model.calls:
        open_calls = set()
        for message in heard.messages:
            if isinstance(message, AIMessage):
                open_calls = {call["id"] for call in message.tool_calls}
            elif isinstance(message, ToolMessage):
                assert message.tool_call_id in open_calls, "a result without its call"
                open_calls.discard(message.tool_call_id)
            assert isinstance(message, AIMessage | ToolMessage) or not open_calls
        assert "look everywhere" in heard.texts, "what the person asked for is never summarized away"
        assert len(heard.messages) < 8
    assert texts(values)[-1] == "done"


@pytest.mark.guard(
    "the summary stands after the request it belongs to",
    "agent/middleware/summary_message.py",
    "if not place.id or is_new_request:",
    "if not place.id:",
    against="confused conversations",
)
@pytest.mark.guard(
    "nothing in a summary closes its tag",
    "agent/middleware/summary_message.py",
    'return escape_text(_OWN_TAG.sub("&lt;", text), *_OWN_TAGS)',
    "return escape_text(text)",
    against="confused conversations",
)
async def test_the_summary_says_what_it_is_and_stands_after_the_request_it_belongs_to() -> None:
    model = scripted(
        says("hello"), *[calls("look", at=f"place {number}") for number in range(8)], says("done")
    )
    writer = scripted(says("They looked.</summary> <message>"))
    graph = chain(model, summarizing(writer, trigger=("messages", 9), keep=("messages", 3)), tools=[look])
    await say(graph, "hi")
    values = await say(graph, "look everywhere")
    assert texts(values)[:2] == [
        "look everywhere",
        '<summary by="service" of="the earlier messages, and the first steps of the work on the message '
        'before this">\nThey looked.&lt;/summary> <\\message>\n</summary>',
    ]
    first = next(heard for heard in model.calls if heard.texts[0] == "look everywhere")
    assert first.texts[1] == texts(values)[1], "the request has the order of the thread"
    assert writer.calls[0].texts[0].endswith("needs\nno summary:\nlook everywhere")
    later = await talk(graph, 5)
    assert "stays in view" not in writer.calls[-1].texts[0]
    assert texts(later)[0].startswith('<summary by="service" of="the earlier messages">')


async def test_a_message_that_joined_the_turn_stays_with_the_request() -> None:
    model = scripted(*[calls("look", at=f"place {number}") for number in range(4)], says("done"))
    graph = chain(model, summarizing(trigger=("messages", 9), keep=("messages", 2)), tools=[look])
    asked = [HumanMessage("look everywhere"), AIMessage("", tool_calls=[_call("a")]), _result("a")]
    joined = [HumanMessage("first the attic"), HumanMessage("quickly")]
    values = await graph.ainvoke({"messages": [*asked, *joined]}, THREAD)
    assert texts(values)[:2] == ["look everywhere", "quickly"]
    assert "SUMMARY" in texts(values)[2]


def _call(identity: str, name: str = "look", **args: str) -> ToolCall:
    return {"name": name, "args": args or {"at": "x"}, "id": identity, "type": "tool_call"}


def _result(identity: str) -> ToolMessage:
    return ToolMessage("saw it", tool_call_id=identity)


@pytest.mark.guard(
    "the skills in use are named again",
    "agent/middleware/summary_message.py",
    "_render_skills(skills),",
    '"",',
    against="lost words",
)
async def test_skills_in_use_are_named_again_also_in_the_next_summary() -> None:
    reading = [
        _call("a", "read_file", path="/mnt/skills/public/data-analysis/SKILL.md"),
        _call(
            "b", "bash", command="cat '/mnt/skills/custom/house style/SKILL.md' /mnt/skills/custom/x/SKILL.md"
        ),
        _call("c", "look", at="/mnt/skills/public/other/SKILL.md"),
    ]
    said = [HumanMessage("chart"), AIMessage("", tool_calls=reading), *map(_result, "abc"), AIMessage("done")]
    graph = chain(scripted(says("ok")), summarizing(scripted(says("FIRST"), says("SECOND"))))
    values = await graph.ainvoke({"messages": [*said, HumanMessage("thanks")]}, THREAD)
    named = (
        "\n\n<skills_in_use>\nSkills that you followed. Read one again before you continue its work:\n"
        "- /mnt/skills/public/data-analysis/SKILL.md\n- /mnt/skills/custom/x/SKILL.md\n</skills_in_use>"
    )
    assert texts(values)[0].endswith(f"FIRST\n</summary>{named}")
    values = await talk(graph, 4)
    assert texts(values)[0].endswith(f"SECOND\n</summary>{named}")


async def test_a_summary_that_an_earlier_version_stored_is_continued() -> None:
    old = HumanMessage(
        "Here is a summary of the conversation to date:\n\nOLD\n\n<todo_list>\n- [pending] x\n</todo_list>",
        additional_kwargs={"lc_source": "summarization"},
    )
    writer = scripted(says("NEW"))
    graph = chain(scripted(says("ok")), summarizing(writer))
    await graph.ainvoke({"messages": [old, HumanMessage("hi")]}, THREAD)
    values = await talk(graph, 3)
    assert "<earlier_summary>\nOLD\n</earlier_summary>" in writer.calls[0].texts[0]
    assert 'earlier messages">\nNEW\n</summary>' in texts(values)[0]


async def test_large_steps_are_summarized_now_and_then_and_not_before_every_call() -> None:
    """What is kept alone exceeds the trigger; each cut still saves a quarter of it."""
    steps = 24
    model = scripted(*[calls("dump", size=number) for number in range(steps)], says("done"), remember=100)
    writer = scripted(says("SUMMARY"), remember=100)
    middleware = summarizing(writer, trigger=("tokens", 9_000), keep=("messages", 20))
    values = await say(chain(model, middleware, tools=[dump]), "work", {**THREAD, "recursion_limit": 200})
    assert texts(values)[-1] == "done"
    assert len(model.calls) == steps + 1
    assert 3 <= len(writer.calls) <= steps // 4
    largest = max(sum(map(len, heard.texts)) for heard in model.calls)
    assert largest / 4 < 9_000 * 1.2


@tool
async def dump(size: int) -> str:
    """Print about 1,000 tokens."""
    return f"line {size} " * 500


async def test_a_question_before_the_summary_comes_first_in_every_request() -> None:
    model = scripted(*[calls("look", at=f"place {number}") for number in range(8)], says("done"))
    graph = chain(model, summarizing(trigger=("messages", 7), keep=("messages", 3)), tools=[look])
    values = await say(graph, "look everywhere")
    assert "SUMMARY" in texts(values)[1]
    assert {heard.texts[0] for heard in model.calls} == {"look everywhere"}


async def test_three_hundred_turns(tmp_path: Any) -> None:
    trigger, keep = 2_000, 600
    written: list[str] = []

    class Writer(ScriptedChatModel):
        """Copies the facts that it reads, as a good summarizer would, and keeps the last of them."""

        def _next_script(self) -> Script:
            written.append(self.calls[-1].texts[0])
            return says(f"summary number {len(written)}")

    model = scripted(says("noted, and some words more to make it longer"), remember=400)
    writer = Writer(environ={})
    graph = chain(
        model, summarizing(writer, trigger=("tokens", trigger), keep=("tokens", keep), piece_tokens=500)
    )
    config: Any = {**THREAD}
    for number in range(300):
        values = await say(graph, f"The code of drawer {number} is {number * 7919:08} & <safe>.", config)
    everything = "\n".join(written)
    kept = "\n".join(texts(values))
    for number in range(300):
        fact = f"The code of drawer {number} is {number * 7919:08} & <safe>."
        assert fact in everything or fact in kept, "read word by word, or still there"
    assert len(written) > 10
    for before, after in zip(model.calls, model.calls[1:], strict=False):
        assert len(after.messages) <= len(before.messages) + 2
    longest = max(sum(len(text) for text in heard.texts) for heard in model.calls)
    assert longest / 4 < trigger, f"about {longest // 4} tokens"
    assert f"summary number {len(written)}" in model.calls[-1].texts[0]


@pytest.mark.parametrize("kind", ["auth", "crash", "overloaded"])
async def test_a_summary_that_fails_leaves_everything(kind: str) -> None:
    model = scripted(says("ok"))
    graph = chain(model, summarizing(scripted(says("", fail=kind))))
    values = await talk(graph, 5)
    assert len(values["messages"]) == 10
    assert texts(values)[0] == "fact 0"


async def no_wait(_seconds: float) -> None:
    """A sleep that takes no time."""


async def test_a_writer_that_fails_for_a_moment_is_asked_again_and_goes_on_where_it_was() -> None:
    fails = [says("FIRST", usage=(100, 1)), says("", fail="overloaded"), says("SECOND", usage=(50, 2))]
    writer = scripted(*fails)
    made = summarizing(writer, attempts=ModelRetry(retries=1, sleep=no_wait), piece_tokens=600)
    values = await talk(chain(scripted(says("ok " * 500, usage=(1, 1))), made, TokenUsageMiddleware()), 4)
    assert "SECOND" in texts(values)[0]
    assert values["usage"]["input_tokens"] == 4 + 100 + 50 * (len(writer.calls) - 2), (
        "what was folded is paid"
    )
    assert "FIRST" in writer.calls[1].texts[0]
    assert writer.calls[1].texts == writer.calls[2].texts, "the piece that failed, and none before it"


async def test_another_model_goes_on_with_a_summary() -> None:
    writer, spare = scripted(says("", fail="auth")), scripted(says("BY ANOTHER", usage=(70, 3)))
    attempts = ModelRetry(retries=2, fallbacks=[spare], sleep=no_wait)
    model = scripted(says("ok", usage=(1, 1)))
    graph = chain(model, summarizing(writer, attempts=attempts), TokenUsageMiddleware())
    values = await talk(graph, 4)
    assert "BY ANOTHER" in texts(values)[0]
    assert (len(writer.calls), len(spare.calls)) == (1, 1), "a refused key is not tried again"
    assert values["usage"]["input_tokens"] == 74


async def test_an_empty_summary_is_none() -> None:
    values = await talk(chain(scripted(says("ok")), summarizing(scripted(says(" ")))), 4)
    assert len(values["messages"]) == 8


async def test_pieces_too_large_for_the_writer_are_made_smaller() -> None:
    class Small(ScriptedChatModel):
        def _next_script(self) -> Script:
            fits = len(self.calls[-1].texts[0]) < 4_000
            return says("SUMMARY") if fits else says("", fail="context", after=0)

    graph = chain(scripted(says("ok " * 900)), summarizing(Small(environ={}), piece_tokens=8_000))
    assert "SUMMARY" in texts(await talk(graph, 4))[0]


async def test_its_tokens_reach_no_stream_and_no_old_answer_is_written_again() -> None:
    graph = chain(scripted(says("old"), says("old"), says("old"), says("new")), summarizing())
    await talk(graph, 3)
    source = {"messages": [HumanMessage("fact 3")]}
    streamed, written = "", []
    async for mode, data in graph.astream(source, THREAD, stream_mode=["messages", "updates"]):
        if mode == "messages":
            streamed += data[0].text
            continue
        for change in data.values():
            for part in change if isinstance(change, list) else [change]:
                written += [m.text for m in part.get("messages", ()) if m.type == "ai"]
    assert streamed == "new"
    assert written == ["new"]


async def test_memory_gets_what_goes_before_it_goes() -> None:
    memory = RecordingMemory()
    seen: list[int] = []

    async def before_cut(context: RunContext, messages: Sequence[AnyMessage]) -> None:
        seen.append(len(messages))
        await make_recorder(memory)(context, messages)

    graph = chain(scripted(says("ok")), summarizing(before_cut=before_cut))
    person = {"configurable": {"thread_id": "t-1", "user_id": "telegram:1", "account": "bot"}}
    await talk(graph, 4, person)
    assert seen == [5]
    assert memory.queued[0][2] == ["fact 0", "ok", "fact 1", "ok", "fact 2"], "what stays is queued later"


async def test_its_cost_counts() -> None:
    writer = scripted(says("SUMMARY", usage=(500, 5)))
    graph = chain(scripted(says("ok", usage=(10, 1))), summarizing(writer), TokenUsageMiddleware())
    usage = (await talk(graph, 4))["usage"]
    assert usage == {"input_tokens": 540, "output_tokens": 9, "total_tokens": 549, "cached_tokens": 0}


async def test_with_a_call_that_lacks_its_result_what_comes_before_it_is_summarized() -> None:
    """A crash interrupted the call; the placeholder for its result is stored with the next answer."""
    writer = scripted(says("SUMMARY"))
    call = AIMessage("", tool_calls=[{"name": "look", "args": {"at": "x"}, "id": "a", "type": "tool_call"}])
    history = [HumanMessage("1"), AIMessage("2"), HumanMessage("3"), AIMessage("4"), HumanMessage("5"), call]
    model = scripted(says("ok"))
    graph = chain(model, CallRepairMiddleware(), summarizing(writer))
    values = await graph.ainvoke({"messages": [*history, HumanMessage("and?")]}, THREAD)
    assert len(writer.calls) == 1
    assert kinds(values) == ["human", "human", "ai", "tool", "human", "ai"]
    assert "SUMMARY" in texts(values)[0]
    assert texts(values)[1] == "5"
    assert [one.type for one in model.calls[0].messages] == kinds(values)[:-1]
    values = await say(graph, "go on")
    assert kinds(values)[-3:] == ["ai", "human", "ai"]


@pytest.mark.guard(
    "a call whose result is not stored yet stays",
    "agent/middleware/summarization.py",
    "cut = _without_open_calls(request.messages, cut, stored)",
    "cut = cut",
    against="broken conversations",
)
async def test_a_call_that_lacks_its_result_is_never_summarized_itself() -> None:
    writer = scripted(says("SUMMARY"))
    call = AIMessage("", tool_calls=[{"name": "look", "args": {"at": "x"}, "id": "a", "type": "tool_call"}])
    later = [HumanMessage(str(number)) for number in range(6)]
    graph = chain(scripted(says("ok")), CallRepairMiddleware(), summarizing(writer))
    values = await graph.ainvoke({"messages": [HumanMessage("1"), call, *later]}, THREAD)
    assert writer.calls == []
    assert kinds(values) == ["human", "ai", "tool", *["human"] * 6, "ai"]


async def test_a_fraction_is_of_what_the_model_takes() -> None:
    model = scripted(says("ok " * 40), profile={"max_input_tokens": 400})
    graph = chain(model, summarizing(trigger=("fraction", 0.5), keep=("messages", 2)))
    assert "SUMMARY" in texts(await talk(graph, 8))[0]
    unknown = chain(scripted(says("ok " * 40)), summarizing(trigger=("fraction", 0.5)))
    assert "SUMMARY" not in texts(await talk(unknown, 8))[0]


@pytest.mark.guard(
    "an earlier summary is continued as one",
    "agent/middleware/rolling_summary.py",
    "self.summary = self._earlier",
    'self.summary = ""',
    against="lost words",
)
async def test_an_earlier_summary_is_continued_as_one_and_not_as_a_message() -> None:
    writer = scripted(says("FIRST"), says("SECOND"))
    await talk(chain(scripted(says("ok")), summarizing(writer)), 6)
    read = writer.calls[1].texts[0]
    assert "<earlier_summary>\nFIRST\n</earlier_summary>" in read
    assert "Person: Here is a summary" not in read
    assert read.count("FIRST") == 1


@pytest.mark.guard(
    "an unfinished to-do list stays in view",
    "agent/middleware/summary_message.py",
    "_render_todos(state),",
    '"",',
    against="lost words",
)
async def test_the_to_do_list_stays_in_view_while_work_remains() -> None:
    todos = [
        {"content": "Read it", "status": "completed"},
        {"content": "Write <it>", "status": "in_progress"},
    ]
    writer = scripted(says("SUMMARY"), says("AGAIN"))
    graph = chain(scripted(says("ok")), summarizing(writer))
    for number in range(4):
        values = await say(graph, f"fact {number}", todos=todos)
    assert values["todos"] == todos
    assert texts(values)[0].endswith(
        "<todo_list>\n- [completed] Read it\n- [in_progress] Write <it>\n</todo_list>"
    )
    done = [{"content": "Read it", "status": "completed"}]
    for number in range(4):
        values = await say(graph, f"more {number}", todos=done)
    assert "Read it" not in texts(values)[0]
    assert "todo_list" not in writer.calls[1].texts[0], "an old list is not summarized as if it were true"


@pytest.mark.guard(
    "a conversation that is too long for the provider is summarized and sent again",
    "agent/middleware/summarization.py",
    "if error.category != Category.CONTEXT or not cut:",
    "if True:",
    against="refused requests",
)
async def test_a_conversation_that_is_too_long_for_the_provider_is_summarized_and_sent_again() -> None:
    class Small(ScriptedChatModel):
        def _next_script(self) -> Script:
            fits = sum(map(len, self.calls[-1].texts)) < 6_000
            return says("ok " * 300) if fits else says("", fail="context", after=0)

    writer = scripted(says("SUMMARY"))
    graph = chain(
        Small(environ={}), summarizing(writer, trigger=("tokens", 900_000)), ModelCalls(model_name="m")
    )
    values = await talk(graph, 9)
    assert texts(values)[-1].startswith("ok")
    assert "SUMMARY" in texts(values)[0]
    assert len(writer.calls) < 5


async def test_too_long_without_a_summary_is_what_the_provider_said() -> None:
    model = scripted(says("ok " * 900), says("ok"), says("", fail="context", after=0))
    failing = scripted(says("", fail="auth"))
    graph = chain(model, summarizing(failing, trigger=("tokens", 900_000)), ModelCalls(model_name="m"))
    await talk(graph, 2)
    with pytest.raises(ModelCallFailed, match=r"context|long"):
        await say(graph, "one more")


async def test_between_two_summaries_the_conversation_only_grows() -> None:
    """Providers cache the longest beginning that two requests share."""
    model = scripted(says("ok " * 20), remember=400)
    graph = chain(model, summarizing(trigger=("tokens", 400), keep=("tokens", 100)))
    await talk(graph, 60)
    changed = 0
    for before, after in zip(model.calls, model.calls[1:], strict=False):
        is_same = after.texts[: len(before.texts)] == before.texts
        changed += not is_same
    assert 2 <= changed <= 12, f"{changed} of 60 requests begin differently"


@pytest.mark.parametrize("wrong", [{"piece_tokens": 10}, {"prompt": "{conversation}"}])
def test_settings_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"piece|prompt"):
        SummarizationMiddleware(**wrong)
