"""The scripted model and the ready graphs."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from langchain_core import exceptions as lc
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

import roebot_testing.agent
from agent.errors import ModelCallFailed
from agent.factory import create_agent_graph
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from roebot_testing.agent import graphs as ready
from roebot_testing.agent.script import FAULTS, parse_markers

THREAD: RunnableConfig = {"configurable": {"thread_id": "t-1"}}


class Sleeps(list[float]):
    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


def model(**fields: Any) -> ScriptedChatModel:
    return ScriptedChatModel(**{"environ": {}, "sleep": Sleeps(), **fields})


async def streamed(chat: ScriptedChatModel, text: str) -> list[str]:
    return [chunk.text async for chunk in chat.astream(text) if chunk.text]


async def run(graph: Any, text: str) -> dict[str, Any]:
    saved = graph.copy({"checkpointer": InMemorySaver()})
    values: dict[str, Any] = await saved.ainvoke({"messages": [HumanMessage(text)]}, THREAD)
    return values


async def test_it_echoes_token_by_token_without_markers() -> None:
    assert await streamed(model(), "one two\nthree [delay=2]") == ["one ", "two\n", "three"]
    assert "".join(await streamed(model(), "  spaced   out ")) == "spaced   out"


async def test_it_echoes_every_message_since_the_last_answer() -> None:
    answer = await model().ainvoke(
        [HumanMessage("old"), AIMessage("old"), HumanMessage("one [every=0]"), HumanMessage("two")]
    )
    assert answer.text == "one\ntwo"


async def test_waits_are_asked_of_the_clock_that_was_given() -> None:
    sleeps = Sleeps()
    answer = await streamed(model(sleep=sleeps), "[delay=1.5] [every=0.25] [tokens=3]")
    assert answer == ["word1 ", "word2 ", "word3 "]
    assert sleeps == [1.5, 0.25, 0.25, 0.25], "the last chunk closes the answer"


@pytest.mark.parametrize(
    ("script", "environ", "text", "expected"),
    [
        (Script(reply="argument"), {}, "hi", "argument"),
        (Script(reply="argument"), {"ROEBOT_SCRIPT_REPLY": "variable"}, "hi", "variable"),
        (Script(reply="argument"), {"ROEBOT_SCRIPT_REPLY": "variable"}, "hi [reply=marker]", "marker"),
        (Script(tokens=9), {}, "[reply=short]", "short"),
        (Script(), {"ROEBOT_SCRIPT_REPLY": ""}, "echo", "echo"),
        (Script(), {"UNRELATED": "x"}, "[unknown=1]", "[unknown=1]"),
    ],
)
async def test_a_marker_beats_the_environment_which_beats_the_argument(
    script: Script, environ: dict[str, str], text: str, expected: str
) -> None:
    assert (await model(script=script, environ=environ).ainvoke(text)).text == expected


async def test_usage_is_counted_and_both_ways_agree() -> None:
    chat = model()
    answer = await chat.ainvoke("one two three")
    assert answer.usage_metadata == {"input_tokens": 3, "output_tokens": 3, "total_tokens": 6}
    assert answer.response_metadata["finish_reason"] == "stop"
    assert chat.invoke("one two three").text == answer.text
    assert [chunk.text for chunk in chat.stream("a b")][:2] == ["a ", "b"]


@pytest.mark.parametrize("kind", FAULTS)
async def test_faults_are_of_the_classes_that_providers_raise(kind: str) -> None:
    seen: list[str] = []
    with pytest.raises(FAULTS[kind][0], match="scripted"):
        async for chunk in model().astream(f"one two three [fail={kind}] [after=2]"):
            seen.append(chunk.text)
    assert seen == ["one ", "two "]


async def test_a_fault_after_the_end_comes_at_the_end() -> None:
    with pytest.raises(lc.ModelTimeoutError):
        await model().ainvoke("one [fail=timeout] [after=99]")
    with pytest.raises(ValueError, match="unknown fault 'typo'; known: auth"):
        await model().ainvoke("[fail=typo]")


async def test_it_calls_a_tool_and_then_answers() -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    graph = create_agent_graph(model(), [add], middleware=[], system_prompt="Add.", name="adder")
    values = await graph.ainvoke({"messages": [HumanMessage('sum it [tool=add {"a": 1, "b": 2}]')]})
    kinds = [type(message) for message in values["messages"]]
    assert kinds == [HumanMessage, AIMessage, ToolMessage, AIMessage]
    assert values["messages"][2].content == "3"
    assert values["messages"][3].text == "sum it"
    assert graph.name == "adder"
    scripted = model(script=Script(tool=ToolUse("add", {"a": 2, "b": 2}), reply="done"))
    values = await create_agent_graph(scripted, [add], middleware=[]).ainvoke(
        {"messages": [HumanMessage("go")]}
    )
    assert [message.text for message in values["messages"][2:]] == ["4", "done"]


async def test_calls_come_several_at_once_and_in_fragments() -> None:
    uses = (ToolUse("add", {"a": 1, "b": 22}, "x"), ToolUse("add", {"a": 3, "b": 4}))
    chat = model(script=Script(reply="let me see", tools=uses, fragment=3))
    pieces = [piece for chunk in [c async for c in chat.astream("go")] for piece in chunk.tool_call_chunks]
    assert [piece["name"] for piece in pieces if piece["name"]] == ["add", "add"]
    assert max(len(piece["args"] or "") for piece in pieces) == 3
    whole = await chat.ainvoke("go")
    assert whole.text == "let me see"
    assert [call["args"] for call in whole.tool_calls] == [{"a": 1, "b": 22}, {"a": 3, "b": 4}]
    assert whole.tool_calls[0]["id"] == "x"
    assert whole.response_metadata["finish_reason"] == "tool_calls"


async def test_arguments_may_be_rubbish() -> None:
    answer = await model(script=Script(tools=(ToolUse("add", "no JSON", "x"),))).ainvoke("go")
    assert answer.tool_calls == []
    assert [call["args"] for call in answer.invalid_tool_calls] == ["no JSON"]


async def test_thoughts_come_first_as_blocks_of_their_own() -> None:
    answer = await model(script=Script(reply="Four it is.", thinking="two and two")).ainvoke("go")
    assert answer.text == "Four it is."
    assert [block["type"] for block in answer.content] == ["thinking", "text"]
    assert answer.content[0]["thinking"] == "two and two"


async def test_usage_is_what_the_script_says() -> None:
    answer = await model(script=Script(reply="hi", usage=(1_000, 20))).ainvoke("go")
    assert answer.usage_metadata == {"input_tokens": 1_000, "output_tokens": 20, "total_tokens": 1_020}


async def test_steps_are_taken_one_after_the_other_and_calls_are_remembered() -> None:
    chat = model(steps=(Script(reply="one"), Script(reply="two")), remember=2)
    assert [(await chat.ainvoke(text)).text for text in "abc"] == ["one", "two", "two"]
    assert [heard.texts for heard in chat.calls] == [["b"], ["c"]]


def test_markers_are_split_from_the_text() -> None:
    assert parse_markers("[delay=1.0] hi [reply=a = b] there") == (
        "hi  there",
        {"delay": "1.0", "reply": "a = b"},
    )


async def test_the_listed_graphs_exist_and_are_named(tmp_path: Path) -> None:
    listed = json.loads((Path(roebot_testing.agent.__file__).parent / "langgraph.json").read_text())["graphs"]
    for name, place in listed.items():
        module, _, attribute = place.partition(":")
        graph = getattr(import_module(module), attribute)
        assert name in {graph.name, "lead_agent"}


async def test_echo_and_slow() -> None:
    assert (await run(ready.echo, "hello"))["messages"][-1].text == "hello"
    assert (await run(ready.slow, "[every=0]"))["messages"][-1].text.split()[-1] == "word40"


async def test_the_long_answer_has_what_renderers_find_hard() -> None:
    text = (await run(ready.markdown12k, "go"))["messages"][-1].text
    assert len(text) >= 12_000
    assert text == ready.long_markdown()
    assert text.count("```") % 2 == 0
    for part in ("|---|", "👋🏽", "中文字", "< y &"):
        assert part in text


async def test_failing_and_crashing() -> None:
    with pytest.raises(ModelCallFailed, match="overloaded or unavailable"):
        await run(ready.failing, "go")
    with pytest.raises(RuntimeError, match="scripted failure on 1 messages"):
        await run(ready.crashing, "go")


@pytest.mark.parametrize("given", ["red", {"answer": "red"}])
async def test_the_question_waits_and_takes_its_answer(given: Any) -> None:
    graph = ready.interrupting.copy({"checkpointer": InMemorySaver()})
    asked = await graph.ainvoke({"messages": [HumanMessage("a colour")]}, THREAD)
    assert asked["__interrupt__"][0].value == {
        "type": "clarification",
        "question": "Which one do you mean: a colour?",
        "options": ["red", "blue"],
    }
    done = await graph.ainvoke(Command(resume=given), THREAD)
    assert done["messages"][-1].text == "You chose red."


async def test_a_made_file_is_in_the_outputs_and_in_the_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROEBOT_HOME", str(tmp_path))
    values = await run(ready.artifact, "please")
    assert values["artifacts"] == ["/mnt/user-data/outputs/report.md"]
    outputs = tmp_path / "threads" / "t-1" / "user-data" / "outputs"
    assert (outputs / "report.md").read_text() == "# Report\n\nplease\n"
    values = await run(ready.artifact, "[file=../big.bin] [size=5000]")
    assert values["artifacts"] == ["/mnt/user-data/outputs/big.bin"]
    assert (outputs / "big.bin").stat().st_size == 5000


async def test_markers_and_variables_steer_answers_to_people_alone() -> None:
    scripted = ScriptedChatModel(environ={"ROEBOT_SCRIPT_FAIL": "auth"}, script=Script(reply="A title"))
    said = [HumanMessage("Person: [fail=timeout] [delay=100] hi")]
    answer = await scripted.ainvoke(said, {"tags": ["nostream"]})
    assert answer.text == "A title"
    with pytest.raises(Exception, match="scripted: no answer in time"):
        await scripted.ainvoke([HumanMessage("[fail=timeout] hi")])
