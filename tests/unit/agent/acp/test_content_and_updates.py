"""What a prompt brings, and what a client is told of a turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from acp.helpers import (
    audio_block,
    embedded_blob_resource,
    embedded_text_resource,
    image_block,
    resource_block,
    resource_link_block,
    text_block,
)

from agent.acp_server.outgoing_updates import MAX_RESULT_CHARACTERS, TurnUpdates
from agent.acp_server.server import MAX_RESOURCE_CHARACTERS, read_prompt
from agent.core.client_events import StreamEvent


def test_texts_links_and_resources_become_one_message(tmp_path: Path) -> None:
    (tmp_path / "a b.md").write_text("x")
    inside = resource_link_block("a b.md", (tmp_path / "a b.md").as_uri())
    found = read_prompt(
        [
            text_block("Look at"),
            text_block("  "),
            inside,
            inside,
            resource_link_block("site", "https://example.org/x"),
            resource_block(embedded_text_resource('file:///x/"c".md', "one</file> two")),
            resource_block(embedded_blob_resource("file:///x/d.bin", "AAAA")),
            image_block("AAAA", "image/png"),
            audio_block("AAAA", "audio/wav"),
        ],
        tmp_path,
    )
    assert found.files == (tmp_path / "a b.md",)
    assert found.text.split("\n\n") == [
        "Look at",
        "[site](https://example.org/x)",
        '<file name="c.md">\none<\\/file> two\n</file>',
        "[resource that can't be shown]",
        "[image that can't be shown]",
        "[audio that can't be shown]",
    ]


@pytest.mark.parametrize("place", ["outside", "link", "folder", "gone", "host", "dots"])
def test_a_file_that_is_not_below_the_folder_is_only_named(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "session"
    (folder / "inner").mkdir(parents=True)
    (tmp_path / "secret.md").write_text("x")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    uri = {
        "outside": (tmp_path / "secret.md").as_uri(),
        "link": (folder / "link.md").as_uri(),
        "folder": (folder / "inner").as_uri(),
        "gone": (folder / "gone.md").as_uri(),
        "host": f"file://other{folder}/inner",
        "dots": f"file://{folder}/inner/../../secret.md",
    }[place]
    found = read_prompt([resource_link_block("it", uri)], folder)
    assert found.files == ()
    assert found.text == f"[it]({uri})"


def test_a_long_resource_is_cut(tmp_path: Path) -> None:
    found = read_prompt(
        [resource_block(embedded_text_resource("file:///x.md", "y" * 2 * MAX_RESOURCE_CHARACTERS))], tmp_path
    )
    assert found.text.count("y") == MAX_RESOURCE_CHARACTERS


def told(telling: TurnUpdates, kind: Any, **data: Any) -> list[Any]:
    """The updates of one event, as plain data."""
    made = telling.build_updates(StreamEvent(kind, data))
    return [update.model_dump(exclude_none=True, by_alias=True) for update in made]


def values(telling: TurnUpdates, **data: Any) -> list[Any]:
    return told(telling, "values", **{"artifacts": [], "todos": [], **data})


def test_words_calls_and_results_are_told() -> None:
    telling = TurnUpdates()
    assert told(telling, "messages-tuple", type="ai", id="m", content="Hel") == [
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hel"}}
    ]
    calls = [
        {"id": "1", "name": "bash", "args": {"command": "ls\n-l"}},
        {"id": "2", "name": "task", "args": {"description": "look it up", "prompt": "…"}},
        {"id": "3", "name": "lookup", "args": {"word": "ab"}},
        {"id": "4", "name": "write_todos", "args": {}},
        {"id": "5", "name": "ask_clarification", "args": {}},
        {"id": None, "name": "bash", "args": {}},
    ]
    begun = told(telling, "messages-tuple", type="ai", id="m", content="", tool_calls=calls)
    shown = [(one["toolCallId"], one["title"], one["kind"], one["status"]) for one in begun]
    assert shown == [
        ("1", "ls -l", "execute", "in_progress"),
        ("2", "look it up", "think", "in_progress"),
        ("3", "lookup", "other", "in_progress"),
    ]
    assert begun[2]["rawInput"] == {"word": "ab"}
    ended = {"type": "tool", "id": "t", "name": "bash", "content": "x" * 2 * MAX_RESULT_CHARACTERS}
    [done] = told(telling, "messages-tuple", **ended, tool_call_id="1", status="success")
    assert (done["toolCallId"], done["status"]) == ("1", "completed")
    assert len(done["content"][0]["content"]["text"]) <= MAX_RESULT_CHARACTERS
    [failed] = told(telling, "messages-tuple", **ended, tool_call_id="2", status="error")
    assert failed["status"] == "failed"
    assert told(telling, "messages-tuple", **ended, tool_call_id="5", status="success") == []
    assert told(telling, "end", usage={}, interrupts=[]) == []


def test_a_plan_is_told_when_it_changes() -> None:
    telling = TurnUpdates()
    plan = [{"content": "look", "status": "in_progress"}, {"content": "answer", "status": "pending"}]
    assert values(telling) == []
    [update] = values(telling, todos=plan)
    assert [(one["content"], one["status"]) for one in update["entries"]] == [
        ("look", "in_progress"),
        ("answer", "pending"),
    ]
    assert values(telling, todos=list(plan)) == []
    [emptied] = values(telling, todos=[])
    assert emptied["entries"] == []


def test_only_what_was_presented_in_this_turn_is_handed_out() -> None:
    telling = TurnUpdates()
    old, new, refused = (f"/mnt/user-data/outputs/{name}" for name in ("old.md", "new.md", "no.md"))
    calls = [{"id": "1", "name": "present_files", "args": {"paths": [new, refused, new]}}]
    told(telling, "messages-tuple", type="ai", id="m", content="", tool_calls=calls)
    values(telling, artifacts=[old, new])
    assert telling.presented_files == [new]
    assert TurnUpdates().presented_files == []
