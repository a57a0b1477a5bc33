"""The older part of a long conversation becomes a summary of it."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import tool

from agent.core.interfaces import SandboxError
from agent.core.run_context import RunContext
from agent.errors import ModelCallFailed
from agent.middleware.dangling import DanglingToolCallMiddleware
from agent.middleware.memory import make_recorder
from agent.middleware.model_response import TokenUsageMiddleware
from agent.middleware.summarization import SummarizationMiddleware
from agent.middleware.transcripts import Transcripts, list_entries
from agent.models.calls import ModelCalls
from agent.models.retry import ModelRetry
from agent.uploads.transcripts import Author, Entry
from roebot_testing.agent import Script, ScriptedChatModel
from roebot_testing.agent.memory import RecordingMemory
from roebot_testing.agent.sandbox import MemorySandbox, MemorySandboxProvider
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


class Full(MemorySandboxProvider):
    """A provider whose sandboxes are full."""

    def get(self, sandbox_id: str) -> MemorySandbox | None:
        sandbox = super().get(sandbox_id)
        if sandbox is not None:
            sandbox.released = True
        return sandbox


async def transcript(provider: MemorySandboxProvider, number: int) -> str:
    sandbox = provider.get(await provider.acquire("t-1"))
    assert sandbox is not None
    found = await sandbox.read_file(f"/mnt/user-data/workspace/.transcripts/{number:03}.txt")
    await provider.release("memory-t-1")
    return found.decode()


NAMED = (
    "<transcript>\nThe removed messages, word for word: /mnt/user-data/workspace/.transcripts/{files}. "
    "Search there for what the summary leaves out.\n</transcript>"
)


async def test_what_goes_is_kept_in_a_file_that_the_summary_names() -> None:
    provider = MemorySandboxProvider()
    graph = chain(scripted(says("ok")), summarizing(transcripts=Transcripts(provider)))
    values = await talk(graph, 4)
    assert texts(values)[0].endswith(NAMED.format(files="001.txt"))
    first = await transcript(provider, 1)
    assert [f"fact {number}" in first for number in range(4)] == [True, True, True, False]
    values = await talk(graph, 3)
    assert texts(values)[0].endswith(NAMED.format(files="002.txt (before it: 001.txt to 001.txt)"))
    second = await transcript(provider, 2)
    assert "SUMMARY" not in second, "only what people and the agent wrote"
    assert await transcript(provider, 1) == first
    assert provider.held == [], "no sandbox stays acquired"


async def test_a_cut_that_is_repeated_writes_the_same_file() -> None:
    """As after a crash between the file and the checkpoint."""
    provider = MemorySandboxProvider()
    model = scripted(*[says("ok")] * 3, says("", fail="overloaded"), says("ok"))
    graph = chain(model, summarizing(transcripts=Transcripts(provider)))
    await talk(graph, 3)
    with pytest.raises(Exception, match="overloaded"):
        await say(graph, "fact 3")
    values = await say(graph, "fact 4")
    assert texts(values)[0].endswith(NAMED.format(files="001.txt"))
    assert (await transcript(provider, 1)).count("fact 0") == 1
    with pytest.raises(SandboxError):
        await transcript(provider, 2)


async def test_a_transcript_that_cannot_be_written_is_not_named() -> None:
    values = await talk(chain(scripted(says("ok")), summarizing(transcripts=Transcripts(Full()))), 4)
    assert texts(values)[0].endswith("SUMMARY\n</summary>")


class Failing(MemorySandboxProvider):
    """A provider of another author, which fails with errors of its own while `error` is set."""

    error: Exception | None = None

    async def acquire(self, thread_id: str) -> str:
        if self.error is not None:
            raise self.error
        return await super().acquire(thread_id)


async def test_a_summary_says_what_no_transcript_holds() -> None:
    provider = Failing()
    graph = chain(scripted(says("ok")), summarizing(transcripts=Transcripts(provider)))
    await talk(graph, 4)
    provider.error = RuntimeError("down")
    values = await talk(graph, 3)
    first = NAMED.format(files="001.txt")
    assert texts(values)[0].endswith(
        first.replace("Search", "Those that were removed last could not be stored. Search")
    ), "the summary is kept, and names no file for what it replaced"
    provider.error = None
    values = await talk(graph, 3)
    later = NAMED.format(files="003.txt (before it: 001.txt to 002.txt)")
    assert texts(values)[0].endswith(later.replace("Search", "Some of them could not be stored. Search"))


def test_a_transcript_tells_who_wrote_what_and_whom_an_answer_answers() -> None:
    def person(identity: str, sender: str = "") -> HumanMessage:
        return HumanMessage(
            f"says {identity}", id=identity, additional_kwargs={"sender": sender} if sender else {}
        )

    asked = AIMessage("", id="a1", tool_calls=[_call("a")])
    summary = HumanMessage("SUMMARY", id="s", additional_kwargs={"lc_source": "summarization"})
    note = HumanMessage("NOTE", id="n", additional_kwargs={"lc_source": "note"})
    said = [person("h1", "x:1"), summary, asked, _result("a").model_copy(update={"id": "t1", "name": "look"})]
    said += [person("h2", "x:2"), person("h3"), AIMessage("done", id="a2"), note, person("h4")]
    one, two, three, four = (Author("h1", "x:1"), Author("h2", "x:2"), Author("h3", ""), Author("h4", ""))
    assert list_entries(said, said[1:]) == [
        Entry("assistant", '(called look with {"at": "x"})', (one,)),
        Entry("tool", "saw it", (one,), "look"),
        Entry("person", "says h2", (two,)),
        Entry("person", "says h3", (three,)),
        Entry("assistant", "done", (two, three)),
        Entry("service", "NOTE", (two, three)),
        Entry("person", "says h4", (four,)),
    ]


async def test_an_answer_is_known_to_answer_a_message_that_an_earlier_cut_removed() -> None:
    provider = MemorySandboxProvider()
    graph = chain(scripted(says("ok")), summarizing(transcripts=Transcripts(provider)))
    for number in range(6):
        said = HumanMessage(f"fact {number}", id=f"h{number}", additional_kwargs={"sender": f"x:{number}"})
        await graph.ainvoke({"messages": [said]}, THREAD)
    answered = '=== {"type": "assistant", "answers": [["h%d", "%s"]]}\nok\n'
    assert answered % (1, "x:1") in await transcript(provider, 1)
    assert (await transcript(provider, 2)).startswith(answered % (2, ""))


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
    graph = chain(model, DanglingToolCallMiddleware(), summarizing(writer))
    values = await graph.ainvoke({"messages": [*history, HumanMessage("and?")]}, THREAD)
    assert len(writer.calls) == 1
    assert kinds(values) == ["human", "human", "ai", "tool", "human", "ai"]
    assert "SUMMARY" in texts(values)[0]
    assert texts(values)[1] == "5"
    assert [one.type for one in model.calls[0].messages] == kinds(values)[:-1]
    values = await say(graph, "go on")
    assert kinds(values)[-3:] == ["ai", "human", "ai"]


async def test_a_call_that_lacks_its_result_is_never_summarized_itself() -> None:
    writer = scripted(says("SUMMARY"))
    call = AIMessage("", tool_calls=[{"name": "look", "args": {"at": "x"}, "id": "a", "type": "tool_call"}])
    later = [HumanMessage(str(number)) for number in range(6)]
    graph = chain(scripted(says("ok")), DanglingToolCallMiddleware(), summarizing(writer))
    values = await graph.ainvoke({"messages": [HumanMessage("1"), call, *later]}, THREAD)
    assert writer.calls == []
    assert kinds(values) == ["human", "ai", "tool", *["human"] * 6, "ai"]


async def test_a_fraction_is_of_what_the_model_takes() -> None:
    model = scripted(says("ok " * 40), profile={"max_input_tokens": 400})
    graph = chain(model, summarizing(trigger=("fraction", 0.5), keep=("messages", 2)))
    assert "SUMMARY" in texts(await talk(graph, 8))[0]
    unknown = chain(scripted(says("ok " * 40)), summarizing(trigger=("fraction", 0.5)))
    assert "SUMMARY" not in texts(await talk(unknown, 8))[0]


async def test_an_earlier_summary_is_continued_as_one_and_not_as_a_message() -> None:
    writer = scripted(says("FIRST"), says("SECOND"))
    await talk(chain(scripted(says("ok")), summarizing(writer)), 6)
    read = writer.calls[1].texts[0]
    assert "<earlier_summary>\nFIRST\n</earlier_summary>" in read
    assert "Person: Here is a summary" not in read
    assert read.count("FIRST") == 1


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
