"""Integers beyond 64 bits keep their digits in checkpoints, events and answers, and don't block a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.messages.tool import tool_call
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Interrupt, Send

from agent.core.argument_coercion import fit_arguments
from agent.runtime.encode import dumps, loads
from agent.runtime.exact_integers import ExactSerializer
from agent.shared.json_text import parse_json
from bot.runtime.event_stream import EventSplitter
from tests.runtime import graphs
from tests.runtime.serving import serve

LARGE = [2**64, -(2**63) - 1, 2**64 + 1, 10**400, -(10**40)]
HELD = [0, 2**64 - 1, -(2**63), 2**53 + 1]


def called(value: Any) -> AIMessage:
    return AIMessage("", tool_calls=[tool_call(name="work", args={"id": value}, id="c")], id="m")


HOLDERS: Sequence[Callable[[Any], Any]] = [
    lambda value: value,
    lambda value: {"a": [{"b": value}], "c": (value,), "d": {value}},
    lambda value: {value: "key"},
    lambda value: [called(value)],
    lambda value: ToolMessage("text", tool_call_id="c", artifact={"id": value}),
    lambda value: Send("tools", [tool_call(name="work", args={"id": value}, id="c")]),
    lambda value: (Interrupt({"args": {"id": value}}, id="i"),),
]


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_checkpoint_keeps_the_digits(holder: Callable[[Any], Any]) -> None:
    serde = ExactSerializer()
    for number in LARGE:
        found = serde.loads_typed(serde.dumps_typed(holder(number)))
        assert repr(str(number)) in repr(found)
    for number in HELD:
        assert serde.dumps_typed(holder(number)) == JsonPlusSerializer().dumps_typed(holder(number))


@pytest.mark.parametrize("number", [*LARGE, *HELD], ids=lambda number: f"{number.bit_length()} bits")
def test_json_keeps_the_digits(number: int) -> None:
    value = {"a": number, "text": f"{number}", "list": [number, 1.5, True]}
    assert loads(dumps(value)) == value
    assert parse_json(dumps(value).decode()) == value
    [event] = EventSplitter().read(b"event: values\ndata: " + dumps(value) + b"\n\n")
    assert event.data == value
    assert fit_arguments({"properties": {"a": {"type": "integer"}}}, {"a": str(number)}).args == {"a": number}


def test_numbers_that_are_not_finite_stay_valid_json_beside_large_ones() -> None:
    assert loads(dumps({"a": float("nan"), "b": 2**70})) == {"a": None, "b": 2**70}


async def test_a_run_with_large_integers_ends(tmp_path: Path) -> None:
    async def work(state: graphs.Steps) -> Any:
        return {"log": [called(2**64 + 1), state["ask"]]}

    async def later(state: graphs.Steps) -> Any:
        return {"log": ["done"]}

    async with serve(tmp_path, sources={"large": lambda: graphs.chain(work, later)}) as served:
        thread = (await served.client.threads.create())["thread_id"]
        body = b'{"assistant_id":"large","input":{"ask":18446744073709551617},"stream_mode":["values"]}'
        headers = {"content-type": "application/json"}
        path = f"/threads/{thread}/runs/stream"
        streamed = await served.http.post(path, content=body, headers=headers)
        assert streamed.content.endswith(b'"status":"success"}\r\n\r\n') or b'"success"' in streamed.content
        assert streamed.content.count(b"18446744073709551617") >= 4
        assert b"e+19" not in streamed.content
        for where in (f"/threads/{thread}", f"/threads/{thread}/state", f"/threads/{thread}/history"):
            content = (await served.http.get(where)).content
            assert b"18446744073709551617" in content
            assert b"e+19" not in content
