"""What the log says of a failure: a line for what is expected, the way it took for a bug."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from agent.config.errors import one_error
from agent.errors import GraphLoadError, GuardrailUnavailable, ModelCallFailed, ModelUnknown, ProfileUnknown
from agent.runtime.failures import log_failure


def refused(category: str) -> ModelCallFailed:
    return ModelCallFailed("The model failed: api_key=abcdefghij.", category=category, retryable=False)


@pytest.mark.parametrize(
    "error",
    [
        refused("auth"),
        ModelUnknown("x", ("y",)),
        ProfileUnknown("x", ()),
        GuardrailUnavailable("It has\nno list."),
        one_error("config.yaml", "is wrong"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_what_is_expected_is_a_line(error: Exception) -> None:
    with capture_logs() as logged:
        await log_failure("run_failed", error, run_id="r-1")
    [line] = logged
    assert (line["event"], line["log_level"], line["run_id"]) == ("run_failed", "warning", "r-1")
    assert line["error"] == type(error).__name__
    assert "\n" not in line["detail"]
    assert "abcdefghij" not in line["detail"]
    assert "traceback" not in line


@pytest.mark.parametrize(
    "error",
    [ValueError("a bug"), refused("unexpected"), GraphLoadError("a graph's own module")],
    ids=lambda error: type(error).__name__,
)
async def test_a_bug_keeps_its_traceback(error: Exception) -> None:
    with capture_logs() as logged:
        await log_failure("run_failed", error)
    [line] = logged
    assert line["log_level"] == "error"
    assert type(error).__name__ in line["traceback"]
