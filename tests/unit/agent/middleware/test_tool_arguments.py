"""Imprecise calls of a model reach their tool, after what decides about them, and are stored unchanged."""

from __future__ import annotations

from typing import Any

import pytest
import structlog
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.tools import StructuredTool, tool
from langgraph.types import Command

from agent.guardrails import AllowlistProvider
from agent.middleware.answer_rules import (
    NOT_STREAMED,
    AnswerFacts,
    correct_names,
    find_tool_name,
    read_arguments,
)
from agent.middleware.clarification import ClarificationMiddleware, choose_kind, read_options
from agent.middleware.guardrail import GuardrailMiddleware
from agent.middleware.repair import CallRepairMiddleware
from agent.middleware.tool_calls import ToolErrorHandlingMiddleware
from agent.subagents.kinds import TASK
from roebot_testing.agent import Script, ToolUse
from tests.harness.agents import THREAD, calls, chain, say, says, scripted, texts

ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "items": {"type": "array", "items": {"type": "string"}},
        "count": {"type": "integer"},
        "express": {"type": "boolean"},
        "note": {"type": "string"},
    },
    "required": ["items"],
    "additionalProperties": False,
}
ordered: list[dict[str, Any]] = []


@pytest.fixture(autouse=True)
def nothing_ordered() -> None:
    ordered.clear()


async def _place_order(**args: Any) -> str:
    ordered.append(args)
    return "ordered"


order = StructuredTool(name="order", description="Order.", args_schema=ORDER, coroutine=_place_order)
"""A tool with a plain JSON schema, as those of MCP servers are; nothing converts its arguments."""


@tool
async def read_lines(path: str, start_line: int | None = None) -> str:
    """Read."""
    return f"{path} from {start_line}"


@pytest.mark.guard(
    "arguments are fitted to the tool's schema",
    "agent/middleware/repair.py",
    "        fitted = fit_request(request)\n        call",
    "        fitted = request\n        call",
    against="imprecise models",
)
async def test_a_tool_with_a_json_schema_gets_values_of_its_types() -> None:
    call = calls("order", "c1", items='["tea"]', count="3", express="True", note=None)
    graph = chain(scripted(call, says("ok")), CallRepairMiddleware(), tools=[order])
    with structlog.testing.capture_logs() as logs:
        values = await say(graph, "go")
    assert ordered == [{"items": ["tea"], "count": 3, "express": True}]
    [entry] = [one for one in logs if one["event"] == "tool_arguments_fitted"]
    assert entry["changes"] == [
        "items: text to list",
        "count: text to number",
        "express: text to switch",
        "note: null removed",
    ]
    written = values["messages"][1].tool_calls[0]["args"]
    assert written == {"items": '["tea"]', "count": "3", "express": "True", "note": None}


async def test_a_precise_call_is_passed_on_without_a_word() -> None:
    call = calls("order", "c1", items=["tea"], count=3)
    with structlog.testing.capture_logs() as logs:
        await say(chain(scripted(call, says("ok")), CallRepairMiddleware(), tools=[order]), "go")
    assert ordered == [{"items": ["tea"], "count": 3}]
    assert not [one for one in logs if one["event"] == "tool_arguments_fitted"]


async def test_other_names_of_arguments_are_known() -> None:
    call = calls("read_lines", "c1", filePath="notes.md", startLine="7")
    values = await say(chain(scripted(call, says("ok")), CallRepairMiddleware(), tools=[read_lines]), "go")
    assert texts(values)[2] == "notes.md from 7"


@pytest.mark.guard(
    "an argument that a tool would ignore is named",
    "agent/middleware/tool_arguments.py",
    "    return [name for name in args if name not in known]",
    "    return []",
    against="nothing is dropped",
)
async def test_an_argument_that_the_tool_lacks_is_named() -> None:
    """Ignoring it would let the model believe that it had an effect."""
    call = calls("read_lines", "c1", path="a", encoding="latin-1", strict=None)
    values = await say(chain(scripted(call, says("ok")), CallRepairMiddleware(), tools=[read_lines]), "go")
    assert values["messages"][2].status == "error"
    assert texts(values)[2] == (
        'read_lines has no argument "encoding"; it has: path, start_line. The call was not run.'
    )


async def test_an_unknown_argument_without_a_value_is_removed() -> None:
    call = calls("read_lines", "c1", path="a", start_line=2, encoding=None, strict=False)
    with structlog.testing.capture_logs() as logs:
        graph = chain(scripted(call, says("ok")), CallRepairMiddleware(), tools=[read_lines])
        assert texts(await say(graph, "go"))[2] == "a from 2"
    [entry] = [one for one in logs if one["event"] == "tool_arguments_fitted"]
    assert entry["changes"] == [
        "encoding: empty and unknown, removed",
        "strict: empty and unknown, removed",
    ]


async def test_a_tool_with_a_json_schema_gets_unknown_arguments_too() -> None:
    """Servers check what they get, and may allow more than they describe."""
    call = calls("order", "c1", items=["tea"], urgent="very")
    await say(chain(scripted(call, says("ok")), CallRepairMiddleware(), tools=[order]), "go")
    assert ordered == [{"items": ["tea"], "urgent": "very"}]


async def test_what_cannot_be_fitted_is_explained_by_the_tool() -> None:
    call = calls("read_lines", "c1", path="a", start_line="the first")
    parts = CallRepairMiddleware(), ToolErrorHandlingMiddleware()
    values = await say(chain(scripted(call, says("ok")), *parts, tools=[read_lines]), "go")
    assert values["messages"][2].status == "error"
    assert "start_line" in texts(values)[2]
    assert texts(values)[-1] == "ok"


async def test_people_decide_about_the_arguments_that_the_tool_gets() -> None:
    guardrail = GuardrailMiddleware(provider=AllowlistProvider(ask=["order"]))
    call = calls("order", "c1", items="tea", count="3")
    graph = chain(scripted(call, says("ok")), CallRepairMiddleware(), guardrail, tools=[order])
    [asked] = (await say(graph, "go"))["__interrupt__"]
    assert asked.value["args"] == {"items": ["tea"], "count": 3}
    answer = {"decision": "approve", "covers": asked.value["covers"]}
    values = await graph.ainvoke(Command(resume=answer), THREAD)
    assert ordered == [asked.value["args"]]
    assert texts(values)[-1] == "ok"


@pytest.mark.guard(
    "a question is asked whatever its options look like",
    "agent/middleware/clarification.py",
    '    found = fit_arguments(_OPTIONS, {"options": value}).args["options"]',
    "    found = value",
    against="imprecise models",
)
@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ('["Blue", "Red"]', ["Blue", "Red"]),
        ([{"label": "Blue", "value": 1}, {"text": "Red"}], ["Blue", "Red"]),
        ("Blue\nRed", ["Blue", "Red"]),
        ([1, 2], ["1", "2"]),
        (["Blue", "", "Blue", " Red "], ["Blue", "Red"]),
        (None, []),
        ("null", []),
    ],
)
@pytest.mark.parametrize("fitted", [True, False])
async def test_a_question_is_asked_whatever_its_options_look_like(
    written: Any, shown: list[str], fitted: bool
) -> None:
    """With the middleware and without it: graphs of other programs have their own chain."""
    parts = [*([CallRepairMiddleware()] if fitted else []), ClarificationMiddleware()]
    call = calls("ask_clarification", "c1", question="Which?", kind="colour choice", options=written)
    [asked] = (await say(chain(scripted(call, says("ok")), *parts), "go"))["__interrupt__"]
    assert asked.value["options"] == shown
    assert (asked.value["question"], asked.value["kind"]) == ("Which?", "missing_info")


def test_options_and_kinds_that_are_precise_stay() -> None:
    assert read_options(["a", "b"]) == ["a", "b"]
    assert choose_kind("suggestion") == "suggestion"


@pytest.mark.parametrize(
    "written",
    [
        "{'path': 'a', 'start_line': 2}",
        '{"path": "a", "start_line": 2,}',
        '```json\n{"path": "a", "start_line": 2}\n```',
    ],
)
async def test_arguments_that_are_complete_but_no_json_are_read(written: str) -> None:
    """The scripted model streams them in pieces, as providers do."""
    call = Script(tools=(ToolUse("read_lines", written, "c1"),), fragment=5)
    graph = chain(scripted(call, says("ok")), CallRepairMiddleware(), tools=[read_lines])
    values = await say(graph, "go")
    assert texts(values)[2] == "a from 2"


@pytest.mark.parametrize("written", ['{"path": "a', "{'path': 'a'", "a", "[1]"])
def test_arguments_that_break_off_are_never_completed(written: str) -> None:
    answer = AIMessage(
        "", invalid_tool_calls=[invalid_tool_call(name="read_lines", args=written, id="c1", error="x")]
    )
    assert read_arguments(answer, AnswerFacts((), NOT_STREAMED)) is answer


def test_an_invalid_call_is_recovered_next_to_others() -> None:
    invalid = [
        invalid_tool_call(name="a", args="{'x': 1}", id="1", error="x"),
        invalid_tool_call(name="b", args="{'x': ", id="2", error="x"),
        invalid_tool_call(name=None, args="{}", id="3", error="x"),
    ]
    answer = read_arguments(AIMessage("", invalid_tool_calls=invalid), AnswerFacts((), NOT_STREAMED))
    assert [(call["name"], call["args"], call["id"]) for call in answer.tool_calls] == [("a", {"x": 1}, "1")]
    assert [call["id"] for call in answer.invalid_tool_calls] == ["2", "3"]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("read_lines", "read_lines"),
        ("functions.read_lines", "read_lines"),
        ("default_api:read_lines", "read_lines"),
        ("Read-Lines", "read_lines"),
        ("ReadLines", "read_lines"),
        ("read_lines<|channel|>commentary", "read_lines"),
        ("functions.read_lines<|channel|>json", "read_lines"),
        ("mcp.search", "mcp.search"),
        ("other.tool", "other_tool"),
        ("other_tool", "other_tool"),
        ("two words!", "two_words"),
        ("same", "same"),
        ("x" * 99, "x" * 64),
        ("<|call|>", "unnamed"),
        ("", "unnamed"),
    ],
)
def test_the_tool_that_was_meant(written: str, name: str) -> None:
    assert find_tool_name(written, ["read_lines", "order", "mcp.search", "sa_me", "s-ame"]) == name


@pytest.mark.guard(
    "the name of a tool is corrected before it is stored",
    "agent/middleware/answer_rules.py",
    "    return replace_calls(answer, [*calls, *answer.invalid_tool_calls])",
    "    return answer",
    against="imprecise models",
)
async def test_a_name_is_corrected_before_it_is_stored_and_the_tool_runs() -> None:
    call = calls("functions.read_lines<|channel|>commentary", "c1", path="a", start_line=2)
    values = await say(chain(scripted(call, says("ok")), CallRepairMiddleware(), tools=[read_lines]), "go")
    assert [one["name"] for one in values["messages"][1].tool_calls] == ["read_lines"]
    assert texts(values)[2:] == ["a from 2", "ok"]


def test_a_name_is_corrected_in_every_form_that_providers_use() -> None:
    wrong, right = "functions.order", "order"
    answer = AIMessage(
        [
            {"type": "text", "text": "One moment."},
            {"type": "tool_use", "id": "1", "name": wrong, "input": {}},
            {"type": "function_call", "id": "fc_2", "call_id": "2", "name": wrong, "arguments": "{}"},
        ],
        tool_calls=[{"name": wrong, "args": {}, "id": "1"}, {"name": wrong, "args": {}, "id": "2"}],
        additional_kwargs={"tool_calls": [{"id": "1", "function": {"name": wrong, "arguments": "{}"}}]},
    )
    found = correct_names(answer, ["order"])
    assert [call["name"] for call in found.tool_calls] == [right, right]
    assert [block.get("name") for block in found.content if isinstance(block, dict)] == [None, right, right]
    assert found.additional_kwargs["tool_calls"][0]["function"] == {"name": right, "arguments": "{}"}
    assert correct_names(found, ["order"]) is found


@pytest.mark.parametrize(
    ("name", "shown"), [("order", "<message>tea</message>"), (TASK, "<·message>tea<·/message>")]
)
async def test_marks_of_results_are_taken_out_of_what_is_written_back(name: str, shown: str) -> None:
    got: list[Any] = []

    @tool(name)
    async def write(items: list[str], about: dict[str, Any]) -> str:
        """Write."""
        got.extend([items, about])
        return "ok"

    marked = "<·message>tea<·/message>"
    call = calls(name, "c1", items=[marked, "<MessageList>"], about={"text": marked})
    values = await say(chain(scripted(call, says("ok")), CallRepairMiddleware(), tools=[write]), "go")
    assert got == [[shown, "<MessageList>"], {"text": shown}]
    assert values["messages"][1].tool_calls[0]["args"]["items"][0] == marked, "the call stays as it was made"
