"""What to say next, over real HTTP, for messages that are given; the thread's own are in `test_passing`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.core.schemas import ErrorBody, SuggestionList
from agent.harness.suggestions import parse_suggestions, to_messages

ROUTE = "/api/threads/0191d0a2-0000-7000-8000-000000000001/suggestions"
CONFIG = """
models:
  - {name: list, use: "roebot_testing.agent:ScriptedChatModel", script: {reply: '["1?", "2?", "3?", "4?"]'}}
  - {name: broken, use: "roebot_testing.agent:ScriptedChatModel", script: {fail: auth}}
  - {name: missing, use: "no_such_provider:Chat"}
"""
BLOCKS = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hello."}]
SAID = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": BLOCKS}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.yaml").write_text(CONFIG)
    return tmp_path


async def ask(http: httpx.AsyncClient, **wanted: Any) -> httpx.Response:
    return await http.post(ROUTE, json={"messages": SAID, **wanted})


@pytest.mark.parametrize(("wanted", "count"), [({}, 3), ({"n": 1}, 1), ({"n": 5}, 4)])
async def test_as_many_as_are_wanted(http: httpx.AsyncClient, wanted: dict[str, Any], count: int) -> None:
    found = SuggestionList.model_validate_json((await ask(http, **wanted)).content)
    assert found.suggestions == ["1?", "2?", "3?", "4?"][:count]


async def test_nothing_said_is_nothing_proposed(http: httpx.AsyncClient) -> None:
    assert (await http.post(ROUTE, json={"messages": []})).json() == {"suggestions": []}


@pytest.mark.parametrize(
    ("wanted", "status", "told"),
    [
        ({"n": 0}, 422, "n: "),
        ({"n": 6}, 422, "n: "),
        ({"messages": [{"role": "tool", "content": "x"}]}, 422, "messages.0.role"),
        ({"messages": None}, 422, "messages: required"),
        ({"model_name": "gone"}, 404, 'There is no model named "gone"'),
        ({"model_name": "broken"}, 502, "rejected the API key"),
        ({"model_name": "missing"}, 502, "no_such_provider"),
    ],
)
async def test_what_can_not_be_is_said(
    http: httpx.AsyncClient, wanted: dict[str, Any], status: int, told: str
) -> None:
    answer = await ask(http, **wanted)
    assert answer.status_code == status
    assert told in ErrorBody.model_validate_json(answer.content).detail


async def test_an_id_outside_the_grammar_is_refused(http: httpx.AsyncClient) -> None:
    answer = await http.post("/api/threads/a%20b/suggestions", json={"messages": SAID})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('["a", "b"]', ["a", "b"]),
        ('Here:\n```json\n["a",\n "b"]\n```', ["a", "b"]),
        ('<think>["no"]</think>["a"]', ["a"]),
        ('["a", "a", "", 3, {"text": "b"}]', ["a"]),
        ("- a\n- b", ["a", "b"]),
        ('1. "a"\n2) b\nand so on', ["a", "b"]),
        ("I can't.", []),
        ("[broken", []),
        ('["' + "x" * 201 + '"]', []),
    ],
)
def test_answers_of_models(text: str, found: list[str]) -> None:
    assert parse_suggestions(text) == found


def test_what_is_not_said_by_anybody_is_left_out() -> None:
    found = to_messages([{"type": "tool", "content": "x"}, {"type": "human", "content": "Hi"}, "x", None])
    assert [message.text for message in found] == ["Hi"]
