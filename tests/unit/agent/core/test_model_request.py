"""Changed copies of a model call's request."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from langchain.agents.middleware import ModelRequest

from agent.core.model_request import change_request
from tests.harness.agents import says, scripted


def request() -> ModelRequest[Any]:
    return ModelRequest(model=scripted(says("ok")), messages=[], model_settings={"a": 1})


def test_it_is_what_langchain_would_return() -> None:
    first = request()
    changes: dict[str, Any] = {"messages": ["hi"], "tool_choice": "none"}
    assert vars(change_request(first, **changes)) == vars(first.override(**changes))
    assert first.messages == []


@pytest.mark.filterwarnings("default")
def test_a_warning_is_shown_once_beside_it(recwarn: pytest.WarningsRecorder) -> None:
    first = request()
    for _ in range(3):
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        change_request(first, messages=["hi"])
    assert len(recwarn) == 1
