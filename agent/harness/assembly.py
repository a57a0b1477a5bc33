"""Turn features and extra middleware into one ordered chain, from the arguments alone.

The built-in middleware is listed as data, outermost first, and imported on use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType

from langchain_core.tools import BaseTool

from agent.features import Feature, Middleware, RuntimeFeatures
from agent.harness.middleware_order import Slot, order_middleware


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A built-in middleware in the chain.

    `use` is its class as `module:class`. `feature` switches it (`plan_mode`, or a field of RuntimeFeatures);
    without one it is always present. An instance passed for a feature replaces the built-in of that feature's
    name.
    """

    name: str
    use: str
    feature: str | None = None

    def make_default(self) -> Middleware:
        """Create the default implementation."""
        module, _, name = self.use.partition(":")
        made: Middleware = getattr(import_module(module), name)()
        return made


def _built_in(name: str, kind: str, feature: str | None = None) -> BuiltIn:
    return BuiltIn(name, f"agent.middleware.{name}:{kind}", feature)


BUILT_INS: tuple[BuiltIn, ...] = (
    _built_in("thread_data", "ThreadDataMiddleware", "sandbox"),
    _built_in("uploads", "UploadsMiddleware", "sandbox"),
    _built_in("sandbox", "SandboxMiddleware", "sandbox"),
    _built_in("steering", "SteeringMiddleware", "steering"),
    _built_in("dangling", "DanglingToolCallMiddleware"),
    _built_in("guardrail", "GuardrailMiddleware", "guardrail"),
    _built_in("tool_errors", "ToolErrorHandlingMiddleware"),
    _built_in("summarization", "SummarizationMiddleware", "summarization"),
    _built_in("todo", "TodoListMiddleware", "plan_mode"),
    _built_in("title", "TitleMiddleware", "auto_title"),
    _built_in("token_usage", "TokenUsageMiddleware"),
    _built_in("memory", "MemoryMiddleware", "memory"),
    _built_in("view_image", "ViewImageMiddleware", "vision"),
    _built_in("deferred_tools", "DeferredToolFilterMiddleware", "deferred_tools"),
    _built_in("subagent_limit", "SubagentLimitMiddleware", "subagent"),
    _built_in("loop_detection", "LoopDetectionMiddleware", "loop_detection"),
    _built_in("clarification", "ClarificationMiddleware"),
)
_OWN_SLOT = {"auto_title": "title", "vision": "view_image", "subagent": "subagent_limit"}
_NOTHING: Mapping[str, Middleware] = MappingProxyType({})


def assemble_chain(
    features: RuntimeFeatures,
    extra: Sequence[Middleware] = (),
    *,
    plan_mode: bool = False,
    defaults: Mapping[str, Middleware] = _NOTHING,
    inner: Sequence[Middleware] = (),
) -> list[Middleware]:
    """Return the chain, outermost first; ClarificationMiddleware is always its last.

    `defaults` replace the default implementations by name; `inner` goes around the model call itself, inside
    the extras. Raises ValueError as `agent.harness.middleware_order.order_middleware` does.
    """
    seats = []
    for slot in BUILT_INS[:-1]:
        wanted = _requested_feature(slot, features, plan_mode=plan_mode)
        if wanted is True:
            wanted = defaults.get(slot.name) or slot.make_default()
        if wanted is not False:
            seats.append(Slot(wanted, slot.use))
    last = BUILT_INS[-1]
    end = Slot(defaults.get(last.name) or last.make_default(), last.use)
    chain = [seat.middleware for seat in order_middleware([*seats, end], extra)]
    return [*chain[:-1], *inner, chain[-1]]


def _requested_feature(slot: BuiltIn, features: RuntimeFeatures, *, plan_mode: bool) -> Feature:
    if slot.feature is None:
        return True
    if slot.feature == "plan_mode":
        return plan_mode
    wanted: Feature = getattr(features, slot.feature)
    is_own = slot.name == _OWN_SLOT.get(slot.feature, slot.feature)
    return wanted if is_own or wanted is False else True


def missing_feature_tools(
    features: RuntimeFeatures, defaults: Mapping[str, Middleware] = _NOTHING
) -> list[BaseTool]:
    """Return the tools of `vision` and `subagent` that an instance passed for them lacks.

    `defaults` are those of `assemble_chain`.
    """
    missing: list[BaseTool] = []
    for slot in BUILT_INS:
        given = getattr(features, slot.feature) if slot.feature in {"vision", "subagent"} else False
        if not isinstance(given, bool):
            own = {tool.name for tool in middleware_tools(given)}
            usual = defaults.get(slot.name) or slot.make_default()
            missing += [tool for tool in middleware_tools(usual) if tool.name not in own]
    return missing


def middleware_tools(middleware: Middleware) -> Sequence[BaseTool]:
    """Return the tools that a middleware brings."""
    return getattr(middleware, "tools", ())
