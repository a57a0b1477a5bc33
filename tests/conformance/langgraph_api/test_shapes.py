"""Shapes: what counts as equal, and where two shapes differ."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.langgraph_api.explained import Case
from tests.conformance.langgraph_api.recorder import Missing, Recorder
from tests.conformance.langgraph_api.shapes import ABSENT, Difference, compare, normalize

FIRST, SECOND = "8f0e1a52-7c3b-4d5e-9a61-2b7c4d8e9f10", "1b4e28ba-2fa1-41d2-883f-0016d3cca427"


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (FIRST, "<uuid>"),
        (f"child:{FIRST}", "child:<uuid>"),
        ("2026-01-02T03:04:05.123456+00:00", "<time>"),
        ("2026-01-02T03:04:05Z", "<time>"),
        ("0" * 32, "<hash>"),
        ("1764443000000-0", "<event id>"),
        ("langgraph 1.2.24", "langgraph <version>"),
        ("x" * 301, "<long text>"),
        ("success", "success"),
        (7, 7),
        (1.5, 1.5),
        (1_764_443_000_000, "<large int>"),
        (None, None),
        ((1, "a"), [1, "a"]),
        ({"a": {FIRST: [1], SECOND: [2]}}, {"a": {"<uuid>": [1], "<uuid> 2": [2]}}),
    ],
)
def test_shape_of_a_value(value: Any, shape: Any) -> None:
    assert normalize(value) == shape


@pytest.mark.parametrize(
    ("ours", "reference", "differences"),
    [
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, []),
        ({"a": 1}, {"a": 1.0}, [Difference("a", 1, 1.0)]),
        ({"a": True}, {"a": 1}, [Difference("a", True, 1)]),
        ({"a": None}, {}, [Difference("a", None, ABSENT)]),
        ({"a": [1]}, {"a": [1, 2]}, [Difference("a[1]", ABSENT, 2)]),
        ({"a": {"b": "x"}}, {"a": {"b": "y"}}, [Difference("a.b", "x", "y")]),
    ],
)
def test_differences_of_values(ours: Any, reference: Any, differences: list[Difference]) -> None:
    assert list(compare(ours, reference)) == differences


def event(name: str, data: Any = None) -> dict[str, Any]:
    return {"event": name, "data": data, "id": None}


def test_events_are_aligned_by_name() -> None:
    ours = [event("metadata"), event("values", 1), event("end")]
    reference = [event("metadata"), event("updates"), event("values", 2)]
    assert list(compare(ours, reference)) == [
        Difference("[updates]", ABSENT, event("updates")),
        Difference("[values].data", 1, 2),
        Difference("[end]", event("end"), ABSENT),
    ]


def test_a_case_covers_a_step_a_path_and_values() -> None:
    case = Case(r"^runs\.", r"\.__\w+$", r"^null / 1$")
    assert case.covers("runs.create: create", Difference("result.kwargs.__x", None, 1))
    assert not case.covers("threads.create: empty", Difference("result.kwargs.__x", None, 1))
    assert not case.covers("runs.create: create", Difference("result.kwargs.x", None, 1))
    assert not case.covers("runs.create: create", Difference("result.kwargs.__x", 2, 1))


async def test_a_recorder_keeps_values_streams_and_errors() -> None:
    recorder = Recorder("family.scenario")

    async def fail() -> None:
        raise LookupError("x")

    assert await recorder("value", {"a": 1}) == {"a": 1}
    missing = await recorder("error", fail())
    assert isinstance(missing, Missing)
    assert missing["thread_id"][0] == str(missing)
    assert list(missing) == []
    assert [(step.name, step.outcome) for step in recorder.steps] == [
        ("family.scenario: value", {"result": {"a": 1}}),
        ("family.scenario: error", {"error": {"class": "LookupError"}}),
    ]
    with pytest.raises(ValueError, match="two steps"):
        await recorder("value", 1)
