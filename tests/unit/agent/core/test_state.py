"""The reducers of the thread state."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from agent.core.state import merge_messages, merge_names, merge_viewed_images
from tests.harness.profile import examples

IDS = st.sampled_from(["a", "b", "c"])
WRITES = st.lists(
    st.one_of(
        st.builds(lambda i, t: HumanMessage(t, id=i), IDS, st.text(max_size=3)),
        st.builds(lambda t: AIMessage(t), st.text(max_size=3)),
        st.builds(lambda i: RemoveMessage(id=i), IDS),
        st.just(RemoveMessage(id=REMOVE_ALL_MESSAGES)),
    ),
    max_size=6,
)


def shown(messages: list[AnyMessage]) -> list[tuple[str | None, str]]:
    return [(message.id, message.text) for message in messages]


def copies(writes: list[list[Any]]) -> list[list[Any]]:
    return [[message.model_copy() for message in write] for write in writes]


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(WRITES, max_size=6), st.integers(0, 6))
def test_how_writes_are_grouped_changes_nothing(writes: list[list[Any]], cut: int) -> None:
    whole = merge_messages([], copies(writes))
    first = merge_messages([], copies(writes[:cut]))
    assert shown(merge_messages(first, copies(writes[cut:]))) == shown(whole)
    assert shown(merge_messages([], copies(writes))) == shown(whole), "the same at every replay"
    ids = [message.id for message in whole]
    assert len(set(ids)) == len(ids)


def test_append_replace_remove() -> None:
    state = merge_messages([], [[HumanMessage("1", id="a")], AIMessage("2", id="b")])
    assert shown(merge_messages(state, [[HumanMessage("new", id="a")]])) == [("a", "new"), ("b", "2")]
    assert shown(merge_messages(state, [[RemoveMessage(id="a")]])) == [("b", "2")]
    assert shown(merge_messages(state, [[RemoveMessage(id="gone")]])) == [("a", "1"), ("b", "2")]
    everything = [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("x", id="c")]
    assert shown(merge_messages(state, [everything])) == [("c", "x")]


def test_a_generated_id_never_takes_the_place_of_another_message() -> None:
    state = merge_messages([], [[HumanMessage("x"), HumanMessage("y")]])
    state = merge_messages(state, [[RemoveMessage(id=state[0].id or "")]])
    assert [message.text for message in merge_messages(state, [[HumanMessage("y")]])] == ["y", "y"]


def test_chunks_become_messages_and_the_input_is_left_alone() -> None:
    state = [HumanMessage("1", id="a")]
    merged = merge_messages(state, [AIMessageChunk(content="2", id="b")])
    assert type(merged[1]) is AIMessage
    assert len(state) == 1


def test_artifacts_are_listed_once_in_order_of_first_mention() -> None:
    assert merge_names(["a", "b"], ["b", "c", "a"]) == ["a", "b", "c"]
    assert merge_names(None, ["a", "a"]) == ["a"]
    assert merge_names(["a"], None) == ["a"]


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ({"q": {"base64": "2", "mime_type": "image/png"}}, ["p", "q"]),
        ({}, []),
        (None, ["p"]),
    ],
)
def test_viewed_images_merge_and_are_cleared_by_an_empty_mapping(new: Any, expected: list[str]) -> None:
    current: Any = {"p": {"base64": "1", "mime_type": "image/png"}}
    assert list(merge_viewed_images(current, new)) == expected
    assert merge_viewed_images(None, None) == {}


def test_what_is_kept_has_no_note_of_given_fields() -> None:
    given = [HumanMessage("hi", id="1", name="Ann"), AIMessage("yes", id="2")]
    merged = merge_messages([], [given])
    assert [message.model_fields_set for message in merged] == [set(), set()]
    assert [(message.content, message.id) for message in merged] == [("hi", "1"), ("yes", "2")]
    assert merged[0].model_dump() == HumanMessage("hi", id="1", name="Ann").model_dump()
    merged[1].name = "Bo"
    assert [message.name for message in merged] == ["Ann", "Bo"]
