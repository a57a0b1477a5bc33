"""The tool calls of a run, as they are kept with its turn: what was called with what, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from bot.dispatch.approvals.render_arguments import LONGEST_LINE, one_line, plain_name, shown_line
from bot.domain import ProgressState, ToolStep
from bot.runtime.interface import Called, Returned

MOST_STEPS = 100
"""The latest calls of a run are kept."""


@dataclass(slots=True)
class _Call:
    step: ToolStep
    began: float | None = None


class Steps:
    """Collects the calls of one run by their ids: what is told twice is one call. `mask` hides secrets."""

    def __init__(self, mask: Callable[[str], str] = str) -> None:
        self._mask = mask
        self._calls: dict[str, _Call] = {}

    @property
    def kept(self) -> tuple[ToolStep, ...]:
        """The calls in the order in which they began."""
        return tuple(call.step for call in self._calls.values())[-MOST_STEPS:]

    def take(self, event: Called | Returned, at: float | None) -> None:
        """Take one event over; `at` is when it happened, None where that is not known."""
        known = self._calls.get(event.id)
        if isinstance(event, Returned):
            self._calls[event.id] = _Call(self._ended(event, known, at))
        elif known is None:
            arguments = shown_line(event.args, self._mask)
            step = ToolStep(plain_name(event.tool), arguments, ProgressState.ACTIVE)
            self._calls[event.id] = _Call(step, at)
        while len(self._calls) > MOST_STEPS:
            del self._calls[next(iter(self._calls))]

    def settle(self, told: Iterable[Called | Returned]) -> None:
        """The thread's state knows calls that no event told of, and their order; those that it does not know
        came before.
        """
        before, self._calls = self._calls, {}
        for event in told:
            if event.id in before and event.id not in self._calls:
                self._calls[event.id] = before.pop(event.id)
            self.take(event, None)
        self._calls = {**before, **self._calls}

    def _ended(self, event: Returned, known: _Call | None, at: float | None) -> ToolStep:
        """What was told twice took as long as it did the first time."""
        step = known.step if known else ToolStep(plain_name(event.tool), "", ProgressState.ACTIVE)
        began = known.began if known else None
        return replace(
            step,
            state=ProgressState.FAILED if event.failed else ProgressState.DONE,
            result=one_line(self._mask(event.text), LONGEST_LINE),
            seconds=step.seconds if began is None or at is None else max(0.0, at - began),
        )
