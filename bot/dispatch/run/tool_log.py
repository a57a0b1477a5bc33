"""The tool calls of a run, as they are kept with its turn: what was called with what, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from bot.dispatch.approvals.render_arguments import MAX_LINE, one_line, plain_tool_name, render_argument_line
from bot.domain import ProgressState, ToolStep
from bot.runtime.interface import ToolCall, ToolResult

MAX_STEPS = 100
"""The latest calls of a run are kept."""


@dataclass(slots=True)
class _Call:
    step: ToolStep
    began: float | None = None


class ToolLog:
    """Collects the calls of one run by their ids: what is told twice is one call. `mask` hides secrets."""

    def __init__(self, mask: Callable[[str], str] = str) -> None:
        self._mask = mask
        self._calls: dict[str, _Call] = {}

    @property
    def entries(self) -> tuple[ToolStep, ...]:
        """The calls in the order in which they began."""
        return tuple(call.step for call in self._calls.values())[-MAX_STEPS:]

    def record_event(self, event: ToolCall | ToolResult, at: float | None) -> None:
        """Take one event over; `at` is when it happened, None where that is not known."""
        known = self._calls.get(event.id)
        if isinstance(event, ToolResult):
            self._calls[event.id] = _Call(self._finished_step(event, known, at))
        elif known is None:
            arguments = render_argument_line(event.args, self._mask)
            step = ToolStep(plain_tool_name(event.tool), arguments, ProgressState.ACTIVE)
            self._calls[event.id] = _Call(step, at)
        while len(self._calls) > MAX_STEPS:
            del self._calls[next(iter(self._calls))]

    def reconcile(self, told: Iterable[ToolCall | ToolResult]) -> None:
        """The thread's state knows calls that no event told of, and their order; those that it does not know
        came before.
        """
        before, self._calls = self._calls, {}
        for event in told:
            if event.id in before and event.id not in self._calls:
                self._calls[event.id] = before.pop(event.id)
            self.record_event(event, None)
        self._calls = {**before, **self._calls}

    def _finished_step(self, event: ToolResult, known: _Call | None, at: float | None) -> ToolStep:
        """What was told twice took as long as it did the first time."""
        step = known.step if known else ToolStep(plain_tool_name(event.tool), "", ProgressState.ACTIVE)
        began = known.began if known else None
        return replace(
            step,
            state=ProgressState.FAILED if event.failed else ProgressState.DONE,
            result=one_line(self._mask(event.text), MAX_LINE),
            seconds=step.seconds if began is None or at is None else max(0.0, at - began),
        )
