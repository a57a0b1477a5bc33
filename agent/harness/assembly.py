"""Construction of the lead agent's middleware chain from its arguments alone.

The built-in middleware is listed as data, outermost first, and imported on use. An extra middleware goes next
to its anchor, or just before the end. Errors are ValueErrors that name the classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType

from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import BaseTool

from agent.features import Feature, Middleware, Place, RuntimeFeatures, Side, places_of


@dataclass(frozen=True, slots=True)
class Slot:
    """A middleware in the chain. `use` (`module:class`) is the built-in that it replaces, if any."""

    middleware: Middleware
    use: str = ""

    def matches_anchor(self, anchor: type[Middleware]) -> bool:
        """Return whether the slot holds the anchor or its replacement."""
        return type(self.middleware) is anchor or self.use == import_string_of(anchor)


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """An extra middleware and its place."""

    middleware: Middleware
    at: Place


def order_middleware(chain: Sequence[Slot], extra: Sequence[Middleware]) -> list[Slot]:
    """Return the chain with the extras inserted; the last slot stays last.

    Extras without an anchor go just before it, in order. Raises ValueError for a class instead of an
    instance, a duplicate, two places for one middleware, two middlewares for one place, a missing anchor,
    a circle, or a place after the end.
    """
    _check_instances(extra)
    _check_duplicates([*(seat.middleware for seat in chain), *extra])
    waiting = _find_placements(extra)
    free = [Slot(one) for one in extra if not places_of(type(one))]
    placed = [*chain[:-1], *free, *chain[-1:]]
    while waiting:
        late = []
        for wish in waiting:
            index = _find_anchor(placed, wish.at)
            if index is None:
                late.append(wish)
            else:
                _insert_extra(placed, index, wish)
        if len(late) == len(waiting):
            raise ValueError(_explain_unplaced(placed, late))
        waiting = late
    return placed


def import_string_of(kind: type) -> str:
    """Return the class as `module:class`."""
    return f"{kind.__module__}:{kind.__qualname__}"


def _check_instances(extra: Sequence[object]) -> None:
    for one in extra:
        if not isinstance(one, AgentMiddleware):
            called = f"write {one.__name__}()" if isinstance(one, type) else f"got {one!r}"
            raise ValueError(f"Extra middleware must be instances; {called}.")


def _check_duplicates(members: Sequence[Middleware]) -> None:
    names: dict[str, Middleware] = {}
    for one in members:
        if one.name in names:
            raise ValueError(
                f"The chain contains {_class_name(one)} twice; keep one, or give the other its own `name`."
                if type(one) is type(names[one.name])
                else f"{_class_name(names[one.name])} and {_class_name(one)} "
                f"have the same name, {one.name}; rename one."
            )
        names[one.name] = one


def _find_placements(extra: Sequence[Middleware]) -> list[Placement]:
    """Return the placements of the extras that have an anchor."""
    wishes: list[Placement] = []
    for one in extra:
        places = places_of(type(one))
        if len(places) > 1:
            raise ValueError(
                f"{_class_name(one)} has two anchors, {' and '.join(map(str, places))}; keep one."
            )
        for at in places:
            for other in wishes:
                if other.at == at:
                    both = f"{_class_name(other.middleware)} and {_class_name(one)}"
                    raise ValueError(f"{both} are both placed {at}; anchor one of them to the other.")
            wishes.append(Placement(one, at))
    return wishes


def _insert_extra(placed: list[Slot], index: int, wish: Placement) -> None:
    if wish.at.side is Side.PREV:
        placed.insert(index, Slot(wish.middleware))
        return
    if index == len(placed) - 1:
        anchor = wish.at.anchor.__name__
        extra = _class_name(wish.middleware)
        raise ValueError(f"{extra} can't come after {anchor}, which is always last; use @Prev({anchor}).")
    placed.insert(index + 1, Slot(wish.middleware))


def _find_anchor(placed: Sequence[Slot], at: Place) -> int | None:
    exact = [index for index, seat in enumerate(placed) if seat.matches_anchor(at.anchor)]
    if exact:
        return exact[0]
    alike = [index for index, seat in enumerate(placed) if isinstance(seat.middleware, at.anchor)]
    if len(alike) > 1:
        names = ", ".join(_class_name(placed[index].middleware) for index in alike)
        raise ValueError(f"{at} matches several: {names}; name one of them.")
    return alike[0] if alike else None


def _explain_unplaced(placed: Sequence[Slot], wishes: Sequence[Placement]) -> str:
    """Explain why none of the placements is possible: a missing anchor or a cycle."""
    path: list[Placement] = []
    wish: Placement | None = wishes[0]
    while wish is not None and wish not in path:
        path.append(wish)
        anchor = wish.at.anchor
        wish = next((other for other in wishes if isinstance(other.middleware, anchor)), None)
    if wish is None:
        known = ", ".join(_class_name(seat.middleware) for seat in placed)
        return (
            f"{_class_name(path[-1].middleware)} is placed {path[-1].at}, which is not in the chain: {known}."
        )
    circle = ", ".join(f"{_class_name(one.middleware)} {one.at}" for one in path[path.index(wish) :])
    return f"These anchors form a cycle: {circle}; anchor one of them to something else."


def _class_name(one: Middleware) -> str:
    return type(one).__name__


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
        module, _, name = self.use.partition(":")
        made: Middleware = getattr(import_module(module), name)()
        return made


def _built_in(name: str, use: str, feature: str | None = None) -> BuiltIn:
    return BuiltIn(name, f"agent.middleware.{use}", feature)


BUILT_INS: tuple[BuiltIn, ...] = (
    _built_in("tool_order", "tool_order:ToolOrderMiddleware"),
    _built_in("thread_data", "thread_files:ThreadDataMiddleware", "sandbox"),
    _built_in("uploads", "thread_files:UploadsMiddleware", "sandbox"),
    _built_in("sandbox", "sandbox:SandboxMiddleware", "sandbox"),
    _built_in("steering", "steering:SteeringMiddleware", "steering"),
    _built_in("run_limits", "run_limits:RunLimitsMiddleware", "run_limits"),
    _built_in("call_repair", "repair:CallRepairMiddleware"),
    _built_in("guardrail", "guardrail:GuardrailMiddleware", "guardrail"),
    _built_in("tool_errors", "tool_calls:ToolErrorHandlingMiddleware"),
    _built_in("summarization", "summarization:SummarizationMiddleware", "summarization"),
    _built_in("todo", "todo:TodoListMiddleware", "plan_mode"),
    _built_in("title", "title:TitleMiddleware", "auto_title"),
    _built_in("token_usage", "model_response:TokenUsageMiddleware"),
    _built_in("conversation", "conversation:ConversationMiddleware"),
    _built_in("service_tools", "service_tools:ServiceToolsMiddleware"),
    _built_in("memory", "memory:MemoryMiddleware", "memory"),
    _built_in("view_image", "thread_files:ViewImageMiddleware", "vision"),
    _built_in("tool_results", "tool_results:ToolResultMiddleware"),
    _built_in("unseen_files", "unseen_files:UnseenFilesMiddleware", "sandbox"),
    _built_in("deferred_tools", "deferred_tools:DeferredToolFilterMiddleware", "deferred_tools"),
    _built_in("subagent_limit", "subagent_limit:SubagentLimitMiddleware", "subagent"),
    _built_in("loop_detection", "loop_detection:LoopDetectionMiddleware", "loop_detection"),
    _built_in("run_end", "run_limits:RunEndMiddleware", "run_limits"),
    _built_in("answer_repair", "repair:AnswerRepairMiddleware"),
    _built_in("clarification", "clarification:ClarificationMiddleware"),
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
    """Return the chain, outermost first, from ToolOrderMiddleware to ClarificationMiddleware.

    `defaults` replace the default implementations by name; `inner` goes around the model call itself, inside
    the extras. Raises ValueError as `agent.harness.assembly.order_middleware` does.
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
    if type(chain[0]) is not type(seats[0].middleware):
        names = _class_name(chain[0]), _class_name(seats[0].middleware)
        raise ValueError(f"{names[0]} can't come before {names[1]}, which is always first.")
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
    """Return the tools of `vision` and `subagent` missing from the instances passed for them.

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
    return getattr(middleware, "tools", ())
