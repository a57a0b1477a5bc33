"""From the wire of the LangGraph API to what people may see."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.shared.run_identity import PRESENTED_FILES
from bot.domain import ProgressItem, ProgressState
from bot.runtime.events import read_answer, text_of, translate_event
from bot.runtime.interface import (
    ArtifactsPresented,
    AttemptStarted,
    EventsMissing,
    JoinedMessage,
    MessageJoined,
    MessageText,
    RemarkRecognized,
    RunEnded,
    RunFailed,
    RunInterrupted,
    TextDelta,
    ThreadTitled,
    TodosUpdated,
    TokenUsage,
    ToolCall,
    ToolProgress,
    ToolResult,
    UsageReported,
)

ROOT = {"langgraph_checkpoint_ns": "model:1"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
LS = {"id": "c1", "name": "ls", "args": {"path": "/"}}
TASK = {"id": "c2", "name": "task", "args": {"description": "Look  it\nup"}}
TODOS = {"id": "c3", "name": "write_todos", "args": {}}
ASKS = {"id": "c4", "name": "ask_clarification", "args": {}}
REMARK = [RemarkRecognized("m1")]
TOKENS = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
NAMES = st.sampled_from(["messages", "updates", "metadata", "error", "gap", "end", "values", "custom", "x"])


def chunk(text: Any, *, kind: str = "AIMessageChunk", **metadata: Any) -> list[Any]:
    return [{"type": kind, "id": "m1", "content": text}, {**ROOT, **metadata}]


@pytest.mark.parametrize(
    ("name", "data", "events"),
    [
        ("metadata", {"run_id": "r", "attempt": 2}, [AttemptStarted(2)]),
        ("metadata", {"run_id": "r"}, [AttemptStarted(1)]),
        ("messages", chunk("hi"), [TextDelta("m1", "hi")]),
        (
            "messages",
            chunk([{"type": "text", "text": "a"}, {"type": "thinking", "thinking": "b"}]),
            [TextDelta("m1", "a")],
        ),
        ("messages", chunk(""), []),
        ("messages", [{**chunk("")[0], "tool_call_chunks": [{"name": "ls", "args": ""}]}, ROOT], REMARK),
        ("messages", [{**chunk("")[0], "tool_call_chunks": [{"name": None, "args": "{"}]}, ROOT], []),
        ("messages", [{**chunk("so")[0], "tool_calls": [LS]}, ROOT], [TextDelta("m1", "so"), *REMARK]),
        ("messages", [{**chunk("")[0], "tool_calls": [LS, ASKS]}, ROOT], []),
        ("messages", [{**chunk("")[0], "tool_calls": 5, "tool_call_chunks": [3]}, ROOT], []),
        ("messages", chunk("tool says", kind="tool"), []),
        ("messages", chunk("human", kind="human"), []),
        ("messages", chunk("inner", langgraph_checkpoint_ns="tools:1|model:2"), []),
        ("messages", chunk("title", tags=["nostream"]), []),
        (
            "updates",
            {"model": {"messages": [{"type": "ai", "id": "m1", "content": "all"}]}},
            [MessageText("m1", "all")],
        ),
        ("updates", {"tools": {"messages": [{"type": "tool", "id": "t", "content": "x"}]}}, []),
        (
            "updates",
            {"model": {"messages": [{"type": "ai", "id": "m", "content": "", "tool_calls": [LS, TODOS]}]}},
            [
                MessageText("m", "", remark=True),
                ToolCall("c1", "ls", {"path": "/"}),
                ToolCall("c3", "write_todos", {}),
                ToolProgress(ProgressItem("c1", "ls", ProgressState.ACTIVE)),
            ],
        ),
        ("updates", {"model": {"messages": [{"type": "ai", "content": []}]}}, []),
        (
            "updates",
            {
                "model": {
                    "messages": [{"type": "ai", "content": "so", "tool_calls": [TASK, {"name": "x"}, 3]}]
                }
            },
            [
                MessageText("", "so", remark=True),
                ToolCall("c2", "task", {"description": "Look  it\nup"}),
                ToolProgress(ProgressItem("c2", "Look it up", ProgressState.PENDING)),
            ],
        ),
        (
            "updates",
            {"tools": {"messages": [{"type": "tool", "tool_call_id": "c1", "name": "ls", "content": "x"}]}},
            [ToolResult("c1", "ls", "x"), ToolProgress(ProgressItem("c1", "", ProgressState.DONE))],
        ),
        (
            "updates",
            {"tools": {"messages": [{"type": "tool", "tool_call_id": "c1", "status": "error"}]}},
            [
                ToolResult("c1", "", "", failed=True),
                ToolProgress(ProgressItem("c1", "", ProgressState.FAILED)),
            ],
        ),
        (
            "updates",
            {"tools": {"messages": [{"type": "tool", "tool_call_id": "c3", "name": "write_todos"}]}},
            [ToolResult("c3", "write_todos", "")],
        ),
        (
            "updates",
            {"tools": {"todos": [{"content": " a\n b ", "status": "in_progress"}, {"content": "x" * 99}, 7]}},
            [
                TodosUpdated(
                    (
                        ProgressItem("todo:0", "a b", ProgressState.ACTIVE),
                        ProgressItem("todo:1", "x" * 79 + "…", ProgressState.PENDING),
                    )
                )
            ],
        ),
        (
            "custom",
            {"type": "task_started", "task_id": "c2", "description": "Look it up"},
            [ToolProgress(ProgressItem("c2", "Look it up", ProgressState.ACTIVE))],
        ),
        (
            "custom",
            {"type": "task_timed_out", "task_id": "c2"},
            [ToolProgress(ProgressItem("c2", "", ProgressState.FAILED))],
        ),
        (
            "custom",
            {
                "type": "task_timed_out",
                "task_id": "c2",
                "description": "Look it up",
                "error": "It was stopped",
            },
            [ToolProgress(ProgressItem("c2", "Look it up ⏱", ProgressState.FAILED))],
        ),
        (
            "custom",
            {"type": "task_failed", "task_id": "c2", "description": "Look it up", "error": "It failed"},
            [ToolProgress(ProgressItem("c2", "Look it up", ProgressState.FAILED))],
        ),
        ("custom", {"type": "task_started"}, []),
        ("custom", {"type": "other", "task_id": "c2"}, []),
        ("custom", "tokens of somebody", []),
        ("updates", {"out": {"artifacts": ["/mnt/a.png"]}}, [ArtifactsPresented(("/mnt/a.png",))]),
        (
            "updates",
            {"out": [{"artifacts": ["a"]}, {"artifacts": ["b"]}]},
            [ArtifactsPresented(("a",)), ArtifactsPresented(("b",))],
        ),
        (
            "updates",
            {"__interrupt__": [{"id": "i", "value": {"question": "?"}}]},
            [RunInterrupted("i", {"question": "?"})],
        ),
        ("updates", {"node": None}, []),
        (
            "updates",
            {"model": {"usage": TOKENS, "title": " A\ntitle "}},
            [ThreadTitled("A title"), UsageReported(TokenUsage(10, 2, 12))],
        ),
        ("updates", {"model": {"title": None}}, []),
        ("updates", {"model": {"title": ["x"]}}, []),
        (
            "updates",
            {"model": [{"usage": TOKENS}, {"usage": {**TOKENS, "total_tokens": 20}}]},
            [UsageReported(TokenUsage(10, 2, 12)), UsageReported(TokenUsage(10, 2, 20))],
        ),
        (
            "updates",
            {"model": {"messages": [{"type": "ai", "id": "m1", "content": "all"}], "usage": TOKENS}},
            [MessageText("m1", "all"), UsageReported(TokenUsage(10, 2, 12))],
        ),
        ("updates", {"tools": {"usage": TOKENS}, "__metadata__": {"cached": True}}, []),
        ("updates", {"tools": {"usage": TOKENS}, "__metadata__": {}}, [UsageReported(TokenUsage(10, 2, 12))]),
        (
            "updates",
            {"model": {"usage": {**TOKENS, "cached_tokens": 8, "cost": 0.5, "currency": "EUR"}}},
            [UsageReported(TokenUsage(10, 2, 12, 8, 0.5, "EUR"))],
        ),
        (
            "updates",
            {"model": {"usage": {**TOKENS, "cached_tokens": -8, "cost": "much", "currency": 3}}},
            [UsageReported(TokenUsage(10, 2, 12))],
        ),
        ("updates", {"model": {"usage": {"input_tokens": 10}}}, []),
        ("updates", {"model": {"usage": {**TOKENS, "output_tokens": -1}}}, []),
        ("updates", {"model": {"usage": {**TOKENS, "output_tokens": "2"}}}, []),
        ("updates", {"model": {"usage": {**TOKENS, "total_tokens": 10**30}}}, []),
        ("updates", {"model": {"usage": "many"}}, []),
        (
            "updates",
            {"steer": {"messages": [{"type": "human"}], "steered": {"turn": "7", "ids": ["a", "b"]}}},
            [MessageJoined(("a", "b"))],
        ),
        ("updates", {"steer": {"steered": {"turn": "7", "ids": "a"}}}, []),
        ("updates", {"steer": {"steered": None}}, []),
        ("error", {"error": "ValueError", "message": "bad"}, [RunFailed("ValueError", "bad")]),
        ("error", "plain", [RunFailed("Error", "plain")]),
        ("gap", {}, [EventsMissing()]),
        ("end", {"status": "success"}, [RunEnded("success")]),
        ("end", None, [RunEnded("")]),
        ("values", {"messages": []}, []),
    ],
)
def test_each_event_is_what_it_means(name: str, data: Any, events: list[Any]) -> None:
    assert list(translate_event(name, data)) == events


@given(name=NAMES, data=JSON)
def test_nothing_on_the_wire_breaks_the_reader(name: str, data: Any) -> None:
    list(translate_event(name, data))


@given(content=JSON)
def test_text_of_any_content_is_text(content: Any) -> None:
    assert isinstance(text_of(content), str)


def test_the_answer_to_a_turn_is_what_follows_its_messages() -> None:
    state = {
        "values": {
            "messages": [
                {"type": "human", "id": "old", "content": "before"},
                {"type": "ai", "id": "a0", "content": "old answer"},
                {"type": "human", "id": "h1", "content": "one"},
                {"type": "human", "id": "h2", "content": "two"},
                {"type": "ai", "id": "a1", "content": "let me see"},
                {"type": "tool", "id": "t1", "content": "secret"},
                {"type": "ai", "id": "a2", "content": "there"},
                {"type": "human", "id": "later", "content": "next"},
                {"type": "ai", "id": "a3", "content": "not this"},
            ],
            "artifacts": ["/mnt/x"],
        },
        "tasks": [{"interrupts": [{"id": "i", "value": "?"}], "error": "boom"}],
    }
    answer = read_answer(state, ["h1", "h2"])
    assert answer.texts == ("let me see", "there")
    assert answer.artifacts == ("/mnt/x",)
    assert answer.interrupt == RunInterrupted("i", "?")
    assert answer.error == "boom"


def test_the_files_of_a_turn_are_in_the_results_of_its_tools() -> None:
    def result(number: int, artifact: object) -> dict[str, object]:
        return {"type": "tool", "tool_call_id": f"c{number}", "content": "", "artifact": artifact}

    messages = [
        result(0, {PRESENTED_FILES: ["/mnt/old"]}),
        {"type": "human", "id": "h1", "content": "one"},
        result(1, {PRESENTED_FILES: ["/mnt/b", "/mnt/gone", 7]}),
        result(2, {PRESENTED_FILES: "/mnt/a"}),
        result(3, None),
        result(4, {PRESENTED_FILES: ["/mnt/a"]}),
    ]
    values = {"messages": messages, "artifacts": ["/mnt/old", "/mnt/a", "/mnt/b"]}
    assert read_answer({"values": values}, ["h1"]).presented == ("/mnt/b", "/mnt/a")


def test_a_note_of_the_agent_does_not_end_a_turn() -> None:
    """A summary of the first steps stands within the turn."""
    messages = [
        {"type": "human", "id": "h1", "content": "one"},
        {
            "type": "human",
            "id": "s",
            "content": "so far",
            "additional_kwargs": {"lc_source": "summarization"},
        },
        {"type": "ai", "id": "a1", "content": "", "tool_calls": [LS]},
        {"type": "tool", "tool_call_id": "c1", "name": "ls", "content": "x"},
        {"type": "ai", "id": "a2", "content": "done"},
        {"type": "human", "id": "later", "content": "next", "additional_kwargs": {"sender": "slack:U1"}},
        {"type": "ai", "id": "a3", "content": "not this"},
    ]
    answer = read_answer({"values": {"messages": messages}}, ["h1"])
    assert answer.texts == ("done",)
    assert [type(call) for call in answer.calls] == [ToolCall, ToolResult]


def test_a_text_beside_something_presented_is_an_answer_in_the_state() -> None:
    shows = {"id": "c5", "name": "present_files", "args": {"paths": ["a.csv"]}}
    messages = [
        {"type": "human", "id": "h1", "content": "one"},
        {"type": "ai", "id": "a1", "content": "Planning.", "tool_calls": [TODOS]},
        {"type": "ai", "id": "a2", "content": "Looking.", "tool_calls": [LS]},
        {"type": "ai", "id": "a3", "content": "It is five.", "tool_calls": [shows, TODOS]},
    ]
    assert read_answer({"values": {"messages": messages}}, ["h1"]).texts == ("It is five.",)
    assert read_answer({"values": {"messages": messages}}, ["h1"]).remark == ""
    closing = {"type": "ai", "id": "a4", "content": "Done."}
    answer = read_answer({"values": {"messages": [*messages, closing]}}, ["h1"])
    assert answer.texts == ("It is five.", "Done.")
    whole = {**closing, "content": "It is five o'clock. " * 5}
    assert read_answer({"values": {"messages": [*messages, whole]}}, ["h1"]).texts == (whole["content"],)


def test_the_calls_of_a_turn_are_in_its_state() -> None:
    messages = [
        {"type": "ai", "id": "a0", "content": "", "tool_calls": [TASK]},
        {"type": "human", "id": "h1", "content": "one"},
        {"type": "ai", "id": "a1", "content": "", "tool_calls": [LS]},
        {"type": "tool", "tool_call_id": "c1", "name": "ls", "content": "x", "status": "error"},
        {"type": "human", "id": "later", "content": "next"},
        {"type": "ai", "id": "a2", "content": "", "tool_calls": [TODOS]},
    ]
    answer = read_answer({"values": {"messages": messages}}, ["h1"])
    assert answer.calls == (ToolCall("c1", "ls", {"path": "/"}), ToolResult("c1", "ls", "x", failed=True))


@pytest.mark.parametrize(
    ("last", "texts", "remark"),
    [
        ({"content": "now", "tool_calls": [LS]}, (), "now"),
        ({"content": "", "tool_calls": [LS]}, (), ""),
        ({"content": "done"}, ("done",), ""),
        ({"content": "first this", "tool_calls": [ASKS]}, ("first this",), ""),
    ],
)
def test_text_beside_calls_is_no_answer(last: dict[str, Any], texts: tuple[str, ...], remark: str) -> None:
    messages = [
        {"type": "human", "id": "h1", "content": "one"},
        {"type": "ai", "id": "a1", "content": "let me see", "tool_calls": [LS]},
        {"type": "tool", "tool_call_id": "c1", "name": "ls", "content": "x"},
        {"type": "ai", "id": "a2", **last},
    ]
    answer = read_answer({"values": {"messages": messages}}, ["h1"])
    assert (answer.texts, answer.remark) == (texts, remark)


def test_what_joined_is_part_of_the_turn_and_stands_in_its_place() -> None:
    messages = [
        {"type": "human", "id": "h1", "content": "one"},
        {"type": "ai", "id": "a1", "content": "let me see"},
        {"type": "tool", "id": "t1", "content": "secret"},
        {"type": "human", "id": "j1", "content": "also this"},
        {"type": "ai", "id": "a2", "content": ""},
        {"type": "human", "id": "j2", "content": "and that"},
        {"type": "ai", "id": "a3", "content": "there"},
        {"type": "human", "id": "later", "content": "next"},
        {"type": "ai", "id": "a4", "content": "not this"},
    ]
    steered = {"turn": "7", "ids": ["j1", "j2", "summed up"]}
    answer = read_answer({"values": {"messages": messages, "steered": steered}}, ["h1"])
    assert answer.texts == ("let me see", "there")
    assert answer.joins == (JoinedMessage("j1", 1), JoinedMessage("j2", 1), JoinedMessage("summed up", 0))


def test_a_state_without_the_turn_answers_nothing() -> None:
    assert read_answer({"values": {"messages": [{"type": "ai", "content": "x"}]}}, ["h1"]).texts == ()
    assert read_answer({"values": None}, ["h1"]).texts == ()
