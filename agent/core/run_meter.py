"""Counters of a run and its subagents, checked against its limits.

    RunLimitsMiddleware ── use_meter ──> model calls, tool calls
                                           └─ task ── isolated_context ──> subagent

A meter is shared by everything that works for the run in this process. Its counts are stored with each answer
of the lead agent, so that a run goes on with them after a restart. A crash during a subagent's work loses
what it has used since then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NotRequired, TypedDict

from structlog.contextvars import bind_contextvars, get_contextvars

from agent.shared.tracing import traceparent

TOOL_CALLS, CALLS_OF_ONE_TOOL, WARN_AT = 300, 150, 0.8
ANSWER_TOKENS = 1_000
"""Output tokens set aside for an answer."""
MILLION = 1_000_000


class RunSpent(TypedDict):
    """A run's stored counters; `run` identifies it, `calls` are by tool, `done` are the calls that ran."""

    run: str
    calls: dict[str, int]
    done: NotRequired[dict[str, int]]
    tokens: int
    cost: float


@dataclass(frozen=True, slots=True)
class Price:
    """Prices of a model per million tokens.

    Without `cached_input`, tokens read from the cache cost as much as others, and without `cache_write` those
    written to it.
    """

    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None

    def cost_of(self, usage: Mapping[str, Any]) -> float:
        """Return the cost of a call's usage in langchain's `UsageMetadata` format."""
        given, answered = int(usage.get("input_tokens") or 0), int(usage.get("output_tokens") or 0)
        details = usage.get("input_token_details") or {}
        read = min(count_details(details, READ), given)
        written = min(count_details(details, WRITTEN), given - read)
        read_price = self.input if self.cached_input is None else self.cached_input
        write_price = self.input if self.cache_write is None else self.cache_write
        inputs = (given - read - written) * self.input + read * read_price + written * write_price
        return (inputs + answered * self.output) / MILLION


READ = ("cache_read",)
WRITTEN = ("cache_creation", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
"""Details of the usage; langchain_anthropic sets `cache_creation` to 0 where it knows the lifetimes."""


def count_details(details: Mapping[str, Any], kinds: tuple[str, ...]) -> int:
    """Return the tokens of these kinds; OpenAI's service tiers add a prefix, as in `priority_cache_read`."""
    return sum(int(count or 0) for name, count in details.items() if name.endswith(kinds))


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits of a run with its subagents; 0 means unlimited.

    `single_tools` are for tools by name, in place of `calls_of_one_tool`. `cost` is in the currency of
    `prices` (by the configured name of the model). From the fraction `warn_at` of a limit on, the model is
    warned.
    """

    tool_calls: int = TOOL_CALLS
    calls_of_one_tool: int = CALLS_OF_ONE_TOOL
    single_tools: Mapping[str, int] = field(default_factory=dict)
    tokens: int = 0
    cost: float = 0.0
    currency: str = "USD"
    prices: Mapping[str, Price] = field(default_factory=dict)
    warn_at: float = WARN_AT

    def for_tool(self, tool: str) -> int:
        return self.single_tools.get(tool, self.calls_of_one_tool)


class LimitKind(StrEnum):
    """The limited quantity."""

    TOOL_CALLS = "tool_calls"
    ONE_TOOL = "one_tool"
    TOKENS = "tokens"
    COST = "cost"


class Phase(StrEnum):
    """Proximity of a run to a limit: `last` allows one more answer without calls, `over` none."""

    WARNING = "warning"
    LAST = "last"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class LimitState:
    """A limit that the run has reached or is near. `tool` is set for the limit of one tool."""

    phase: Phase
    kind: LimitKind
    used: float
    limit: float
    tool: str = ""


@dataclass(frozen=True, slots=True)
class CallSize:
    """The expected size of the next model call."""

    tokens: int
    cost: float = 0.0


class RunMeter:
    """A run's counters. `model_calls` are its finished model calls that have not been reported yet."""

    def __init__(self, run: str, limits: RunLimits, spent: RunSpent | None = None) -> None:
        self.run = run
        self.limits = limits
        self.calls: Counter[str] = Counter(spent["calls"] if spent else {})
        self.done: Counter[str] = Counter(spent.get("done", {}) if spent else {})
        self.tokens = spent["tokens"] if spent else 0
        self.cost = spent["cost"] if spent else 0.0
        self._admitted: dict[str, LimitState | None] = {}
        self._running: list[CallSize] = []
        self.model_calls: list[dict[str, Any]] = []

    def admit_call(self, key: str, tool: str) -> LimitState | None:
        """Count a tool call and return the limit that forbids it, if any.

        A call that is repeated with the same key, after an interrupt, is counted once. A forbidden call
        counts as well, so that a run of nothing else ends.
        """
        if key not in self._admitted:
            self._admitted[key] = self._find_exceeded(tool)
            self.calls[tool] += 1
        return self._admitted[key]

    def charge(self, usage: Mapping[str, Any], model: str | None) -> float:
        """Count a model call's usage and return its cost."""
        total = usage.get("total_tokens") or sum(
            usage.get(name) or 0 for name in ("input_tokens", "output_tokens")
        )
        self.tokens += int(total)
        price = self.limits.prices.get(model or "")
        cost = price.cost_of(usage) if price else 0.0
        self.cost += cost
        return cost

    @contextmanager
    def reserve(self, size: CallSize) -> Iterator[None]:
        """Count a model call as used while it runs, for other decisions in the meantime."""
        self._running.append(size)
        try:
            yield
        finally:
            self._running.remove(size)

    def assess(self, size: CallSize) -> LimitState | None:
        """Return the most relevant limit for the next model call; None if all are far."""
        states = [*self._assess_amounts(size), *self._assess_calls()]
        order = [Phase.OVER, Phase.LAST, Phase.WARNING]
        return min(
            states, key=lambda one: (order.index(one.phase), one.kind is LimitKind.ONE_TOOL), default=None
        )

    def cost_since(self, stored: RunSpent | None) -> float:
        """Return the run's cost that is not in the stored counters yet."""
        return self.cost - (stored["cost"] if stored and stored["run"] == self.run else 0.0)

    def to_state(self) -> RunSpent:
        return RunSpent(
            run=self.run,
            calls=dict(self.calls),
            done=dict(self.done),
            tokens=self.tokens,
            cost=self.cost,
        )

    def _find_exceeded(self, tool: str) -> LimitState | None:
        total, limit = self.calls.total(), self.limits.tool_calls
        if limit and total >= limit:
            return LimitState(Phase.LAST, LimitKind.TOOL_CALLS, total, limit)
        limit = self.limits.for_tool(tool)
        if limit and self.calls[tool] >= limit:
            return LimitState(Phase.WARNING, LimitKind.ONE_TOOL, self.calls[tool], limit, tool)
        return None

    def _assess_amounts(self, size: CallSize) -> Iterator[LimitState]:
        running = [(one.tokens, one.cost) for one in self._running]
        tokens = self.tokens + sum(one for one, _ in running)
        cost = self.cost + sum(one for _, one in running)
        for kind, used, limit, step in (
            (LimitKind.TOKENS, tokens, self.limits.tokens, size.tokens),
            (LimitKind.COST, cost, self.limits.cost, size.cost),
        ):
            if not limit:
                continue
            if used + step > limit:
                yield LimitState(Phase.OVER, kind, used, limit)
            elif used + 2 * step > limit:
                # The call after this one would not fit, and it would be larger than this one.
                yield LimitState(Phase.LAST, kind, used, limit)
            elif used >= limit * self.limits.warn_at:
                yield LimitState(Phase.WARNING, kind, used, limit)

    def _assess_calls(self) -> Iterator[LimitState]:
        total, limit = self.calls.total(), self.limits.tool_calls
        if limit and total >= limit:
            yield LimitState(Phase.LAST, LimitKind.TOOL_CALLS, total, limit)
        elif limit and total >= limit * self.limits.warn_at:
            yield LimitState(Phase.WARNING, LimitKind.TOOL_CALLS, total, limit)
        for tool, count in self.calls.items():
            most = self.limits.for_tool(tool)
            if most and count >= most * self.limits.warn_at:
                yield LimitState(Phase.WARNING, LimitKind.ONE_TOOL, count, most, tool)


_current: ContextVar[RunMeter | None] = ContextVar("roebot_run_meter", default=None)
current_task: ContextVar[str] = ContextVar("roebot_subagent_task", default="")
"""The tool call that a subagent works for ("" for the lead agent)."""


def current_meter() -> RunMeter | None:
    return _current.get()


@contextmanager
def use_meter(meter: RunMeter) -> Iterator[None]:
    token = _current.set(meter)
    try:
        yield
    finally:
        _current.reset(token)


def isolated_context(task: str = "") -> Context:
    """Return an empty context that contains only this context's meter, span and ids for logs, and the
    subagent's task.
    """
    context, meter = Context(), current_meter()
    if span := traceparent.get():
        context.run(traceparent.set, span)
    context.run(bind_contextvars, **get_contextvars())
    if meter is not None:
        context.run(_current.set, meter)
    if task:
        context.run(current_task.set, task)
    return context
