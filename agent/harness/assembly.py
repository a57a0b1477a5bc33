"""From features and extra middleware to one ordered chain. Nothing but the arguments counts.

The built-in middleware is data here, outermost first, and is imported when it is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType

from langchain_core.tools import BaseTool

from agent.features import Feature, Middleware, RuntimeFeatures
from agent.harness.middleware_order import Seat, place


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a built-in middleware.

    `use` is its class as `module:class`. `feature` switches it (`plan_mode`, or a field of RuntimeFeatures);
    without one it is always there. An instance given for a feature takes the slot of the feature's name.
    """

    name: str
    use: str
    feature: str | None = None

    def default(self) -> Middleware:
        """The default implementation."""
        module, _, name = self.use.partition(":")
        made: Middleware = getattr(import_module(module), name)()
        return made


def _slot(name: str, kind: str, feature: str | None = None) -> Slot:
    return Slot(name, f"agent.middleware.{name}:{kind}", feature)


SLOTS: tuple[Slot, ...] = (
    _slot("thread_data", "ThreadDataMiddleware", "sandbox"),
    _slot("uploads", "UploadsMiddleware", "sandbox"),
    _slot("sandbox", "SandboxMiddleware", "sandbox"),
    _slot("steering", "SteeringMiddleware", "steering"),
    _slot("dangling", "DanglingToolCallMiddleware"),
    _slot("guardrail", "GuardrailMiddleware", "guardrail"),
    _slot("tool_errors", "ToolErrorHandlingMiddleware"),
    _slot("summarization", "SummarizationMiddleware", "summarization"),
    _slot("todo", "TodoListMiddleware", "plan_mode"),
    _slot("title", "TitleMiddleware", "auto_title"),
    _slot("token_usage", "TokenUsageMiddleware"),
    _slot("memory", "MemoryMiddleware", "memory"),
    _slot("view_image", "ViewImageMiddleware", "vision"),
    _slot("deferred_tools", "DeferredToolFilterMiddleware", "deferred_tools"),
    _slot("subagent_limit", "SubagentLimitMiddleware", "subagent"),
    _slot("loop_detection", "LoopDetectionMiddleware", "loop_detection"),
    _slot("clarification", "ClarificationMiddleware"),
)
_OWN_SLOT = {"auto_title": "title", "vision": "view_image", "subagent": "subagent_limit"}
_NOTHING: Mapping[str, Middleware] = MappingProxyType({})


def assemble(
    features: RuntimeFeatures,
    extra: Sequence[Middleware] = (),
    *,
    plan_mode: bool = False,
    given: Mapping[str, Middleware] = _NOTHING,
    inner: Sequence[Middleware] = (),
) -> list[Middleware]:
    """The chain, outermost first; Clarification is always its last.

    `given`: what stands for `True` and for what is always there, by the name of the slot; `inner`: what goes
    around the model call itself, inside of the extras. Raises ValueError as
    `agent.harness.middleware_order.place` does.
    """
    seats = []
    for slot in SLOTS[:-1]:
        wanted = _wanted(slot, features, plan_mode=plan_mode)
        if wanted is True:
            wanted = given.get(slot.name) or slot.default()
        if wanted is not False:
            seats.append(Seat(wanted, slot.use))
    last = SLOTS[-1]
    end = Seat(given.get(last.name) or last.default(), last.use)
    chain = [seat.middleware for seat in place([*seats, end], extra)]
    return [*chain[:-1], *inner, chain[-1]]


def _wanted(slot: Slot, features: RuntimeFeatures, *, plan_mode: bool) -> Feature:
    if slot.feature is None:
        return True
    if slot.feature == "plan_mode":
        return plan_mode
    wanted: Feature = getattr(features, slot.feature)
    is_own = slot.name == _OWN_SLOT.get(slot.feature, slot.feature)
    return wanted if is_own or wanted is False else True


def brought(features: RuntimeFeatures, defaults: Mapping[str, Middleware] = _NOTHING) -> list[BaseTool]:
    """The tools of `vision` and `subagent` that an instance given for them does not bring itself.

    `defaults` as `given` of `assemble`.
    """
    missing: list[BaseTool] = []
    for slot in SLOTS:
        given = getattr(features, slot.feature) if slot.feature in {"vision", "subagent"} else False
        if not isinstance(given, bool):
            own = {tool.name for tool in tools_of(given)}
            usual = defaults.get(slot.name) or slot.default()
            missing += [tool for tool in tools_of(usual) if tool.name not in own]
    return missing


def tools_of(middleware: Middleware) -> Sequence[BaseTool]:
    """The tools that it brings."""
    return getattr(middleware, "tools", ())
