"""The trace of a turn, from stored data alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from operator import attrgetter

from bot.domain import PartState, ProgressState, StepKind, ToolStep
from bot.server.api.schemas import ApiModel
from bot.store.read_models import TurnView
from bot.store.schema import TOKENS
from bot.store.traces import TurnTimes
from bot.turn import OPEN_STATES, ModelCall, TurnState

MAX_SPANS = 500
MAX_TEXT = 2000
"""Characters of each text in a span."""
RUN = "run"
Detail = dict[str, str | int | float]
DONE, FAILED, ACTIVE = ProgressState.DONE, ProgressState.FAILED, ProgressState.ACTIVE
DELIVERED = {PartState.FINAL: DONE, PartState.UNDELIVERED: FAILED}
FAILURES = (TurnState.FAILED, TurnState.EXPIRED)


class SpanKind(StrEnum):
    """Kind of a span in a trace."""

    MESSAGE = "message"
    QUEUE = "queue"
    RUN = "run"
    MODEL = "model"
    TOOL = "tool"
    SUBAGENT = "subagent"
    APPROVAL = "approval"
    DELIVERY = "delivery"


class SpanInfo(ApiModel):
    """A part of the work on a turn, within the span `parent` ("" for none). `end` is null while it lasts or
    if it is unknown; `begin` is that of the parent if it is unknown. `state` is done, failed or active.
    """

    id: str
    parent: str
    kind: SpanKind
    name: str
    begin: float
    end: float | None
    state: ProgressState
    detail: dict[str, str | int | float]


class TurnTrace(ApiModel):
    """The work on a turn by time. `truncated`: spans or texts were omitted."""

    turn: int
    begin: float
    end: float | None
    spans: list[SpanInfo]
    truncated: bool


@dataclass
class TraceBuilder:
    """Builds the trace of a turn; `mask` hides secrets."""

    view: TurnView
    times: TurnTimes
    mask: Callable[[str], str]
    truncated: bool = field(default=False, init=False)

    def build(self) -> TurnTrace:
        """Return the trace, ordered by time."""
        view, spans = self.view, list(islice(self._list_spans(), MAX_SPANS + 1))
        open_ = view.state in OPEN_STATES
        return TurnTrace(
            turn=view.id,
            begin=min((span.begin for span in spans), default=view.created_at),
            end=None if open_ else max([view.finished_at, *(span.end or 0.0 for span in spans)]),
            spans=sorted(spans[:MAX_SPANS], key=attrgetter("begin")),
            truncated=self.truncated or len(spans) > MAX_SPANS,
        )

    def _list_spans(self) -> Iterator[SpanInfo]:
        view, run, begins = self.view, self.times.run, self.times.messages
        for message in view.messages:
            at, accepted = message.sent_at, begins.get(message.id, view.created_at)
            yield self._span(
                f"message-{message.id}",
                SpanKind.MESSAGE,
                message.sender.name,
                min(at or accepted, accepted),
                accepted,
                text=message.text,
            )
        works = run is not None or view.state in OPEN_STATES
        begin = run.begin if run else view.created_at
        if run:
            yield self._span("queue", SpanKind.QUEUE, "", min(view.created_at, begin), begin)
        if works or view.error:
            state = FAILED if view.state in FAILURES else DONE if run else ACTIVE
            end = run.end if run else view.finished_at or None
            yield self._span(
                RUN, SpanKind.RUN, view.model, begin, end, state=state, error=view.error, run=view.run_id
            )
        yield from self._list_run_spans(begin)
        yield from self._list_deliveries(run.end if run else view.created_at)
        if view.asks or (self.times.answered_at and any(part.choices for part in view.parts)):
            end = None if view.asks else self.times.answered_at
            state = ACTIVE if view.asks else DONE
            yield self._span("approval", SpanKind.APPROVAL, "", view.finished_at, end, state=state)

    def _list_run_spans(self, begin: float) -> Iterator[SpanInfo]:
        run, calls = self.times.run, [one for one in self.view.steps if one.kind is not StepKind.TODO]
        known = run.tools if run and len(run.tools) == len(calls) else [("", 0.0) for _ in calls]
        parents = {}
        for number, (step, (key, at)) in enumerate(zip(calls, known, strict=True)):
            parents[key] = identity = f"tool-{number}"
            yield self._tool_span(identity, step, at or begin)
        failed: list[ModelCall] = []
        for number, call in enumerate(run.calls if run else ()):
            same = [one for one in failed if one.task == call.task]
            others = [one for one in failed if one.task != call.task]
            failed = [*others, *same, call] if call.error else others
            yield self._span(
                f"model-{number}",
                SpanKind.MODEL,
                call.model,
                call.begin,
                call.end,
                parent=parents.get(call.task, RUN) if call.task else RUN,
                state=FAILED if call.error else DONE,
                attempt=len(same) + 1,
                cost=call.cost,
                error=call.error,
                **{name: getattr(call, name) for name in TOKENS},
            )

    def _tool_span(self, identity: str, step: ToolStep, begin: float) -> SpanInfo:
        kind = SpanKind.SUBAGENT if step.kind is StepKind.SUBAGENT else SpanKind.TOOL
        end = None if step.seconds is None else begin + step.seconds
        texts = {"title": step.title, "arguments": step.arguments, "result": step.result}
        return self._span(identity, kind, step.tool, begin, end, parent=RUN, state=step.state, **texts)

    def _list_deliveries(self, begin: float) -> Iterator[SpanInfo]:
        for part in self.view.parts:
            at, category = self.times.parts.get(part.index, (0.0, ""))
            state = DELIVERED.get(part.state, ACTIVE)
            yield self._span(
                f"delivery-{part.index}",
                SpanKind.DELIVERY,
                part.filename,
                min(begin, at) if at else begin,
                at or None,
                state=state,
                kind=part.kind.value,
                characters=len(part.content),
                error=category,
            )

    def _span(
        self,
        identity: str,
        kind_: SpanKind,
        name: str,
        begin: float,
        end: float | None,
        *,
        parent: str = "",
        state: ProgressState = DONE,
        **detail: str | int | float,
    ) -> SpanInfo:
        shown: Detail = {key: self._shorten(value) for key, value in detail.items() if value != ""}
        name, end = self.mask(name)[:MAX_TEXT], None if end is None else max(begin, end)
        return SpanInfo(
            id=identity,
            parent=parent,
            kind=kind_,
            name=name,
            begin=begin,
            end=end,
            state=state,
            detail=shown,
        )

    def _shorten(self, value: str | int | float) -> str | int | float:
        if not isinstance(value, str):
            return value
        masked = self.mask(value)
        self.truncated = self.truncated or len(masked) > MAX_TEXT
        return masked[:MAX_TEXT]
