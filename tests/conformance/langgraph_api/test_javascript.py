"""The JavaScript client: how calls of the Python SDK become calls of the JavaScript SDK."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from langgraph_sdk import get_client

from tests.conformance.langgraph_api.javascript import METHODS, to_javascript
from tests.conformance.langgraph_api.recorder import ClientError, NotInThisClient, describe_error


@pytest.mark.parametrize("path", METHODS)
def test_positions_are_those_of_the_python_client(path: str) -> None:
    group, method = path.split(".")
    known = inspect.signature(getattr(getattr(get_client(url="http://x"), group), method)).parameters
    assert set(METHODS[path][0].split()) <= known.keys()


@pytest.mark.parametrize(
    ("path", "given", "args"),
    [
        ("threads.create", {"thread_id": "t", "graph_id": "g"}, [{"threadId": "t", "graphId": "g"}]),
        (
            "threads.create",
            {"supersteps": [{"updates": [{"as_node": "n"}]}]},
            [{"supersteps": [{"updates": [{"asNode": "n"}]}]}],
        ),
        ("threads.get_state", {"thread_id": "t", "checkpoint_id": "c"}, ["t", "c", {}]),
        (
            "runs.wait",
            {"thread_id": None, "assistant_id": "a", "input": {"a_b": 1}},
            [None, "a", {"input": {"a_b": 1}}],
        ),
        ("runs.cancel", {"thread_id": "t", "run_id": "r"}, ["t", "r", False, "interrupt", {}]),
        ("assistants.search", {"response_format": "object"}, [{"includePagination": True}]),
        ("runs.create_batch", {"payloads": [{"assistant_id": "a"}]}, [[{"assistantId": "a"}], {}]),
    ],
)
def test_arguments_in_javascript(path: str, given: dict[str, Any], args: list[Any]) -> None:
    assert to_javascript(path, given) == args


def test_an_argument_that_javascript_lacks_is_named() -> None:
    with pytest.raises(NotInThisClient, match=r"runs\.list: headers"):
        to_javascript("runs.list", {"thread_id": "t", "headers": {}})


@pytest.mark.parametrize(
    ("facts", "description"),
    [
        ({"status": 404}, {"class": "HTTPError", "status": 404}),
        ({"code": "unknown_command"}, {"class": "HTTPError", "code": "unknown_command"}),
        ({}, {"class": "HTTPError", "text": "x"}),
    ],
)
def test_description_of_an_error(facts: dict[str, Any], description: dict[str, Any]) -> None:
    assert describe_error(ClientError("HTTPError", "x", **facts)) == description
