"""Selection of an agent's built-in middleware and placement of additional middleware.

    class Audit(AgentMiddleware): ...

    @Next(SandboxMiddleware)      # runs just inside it
    class Audit(AgentMiddleware): ...

The places apply to the lead agent only; subagents have their own chain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, TypeVar

from langchain.agents.middleware import AgentMiddleware

Middleware = AgentMiddleware[Any, Any]
Feature = bool | Middleware
"""`True`: the default implementation. `False`: off. An instance: this one in its place."""
MiddlewareT = TypeVar("MiddlewareT", bound=type[Middleware])
_MARK = "__roebot_places__"


@dataclass(frozen=True, slots=True)
class RuntimeFeatures:
    """Feature switches. Raises ValueError for a value that is neither a bool nor a middleware instance.

    `sandbox` includes the thread's folders and the announcement of new files; an instance replaces only the
    sandbox. `vision` and `subagent` include their tools, even if an instance lacks them.
    """

    sandbox: Feature = True
    memory: Feature = False
    summarization: Feature = False
    subagent: Feature = False
    vision: Feature = False
    auto_title: Feature = False
    loop_detection: Feature = True
    run_limits: Feature = True
    guardrail: Feature = False
    deferred_tools: Feature = False
    steering: Feature = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, bool | AgentMiddleware):
                expected = "True, False or a middleware instance"
                raise ValueError(f"The feature {field.name} is {expected}, not {_describe_value(value)}.")


class Side(StrEnum):
    """Position of a middleware relative to its anchor."""

    NEXT = "Next"
    PREV = "Prev"


@dataclass(frozen=True, slots=True)
class Place:
    """A position next to a middleware class."""

    side: Side
    anchor: type[Middleware]

    def __str__(self) -> str:
        return f"@{self.side}({self.anchor.__name__})"


def Next(anchor: type[Middleware]) -> Callable[[MiddlewareT], MiddlewareT]:
    """Place the decorated class right after the anchor (inside it, for wrapping hooks).

    Raises ValueError if either is not a middleware class.
    """
    return _make_decorator(Side.NEXT, anchor)


def Prev(anchor: type[Middleware]) -> Callable[[MiddlewareT], MiddlewareT]:
    """Place the decorated class right before the anchor (around it, for wrapping hooks).

    Raises ValueError if either is not a middleware class.
    """
    return _make_decorator(Side.PREV, anchor)


def places_of(kind: type[Middleware]) -> tuple[Place, ...]:
    """Return the places set on the class, or those of its nearest base class that has any."""
    found: tuple[Place, ...] = getattr(kind, _MARK, ())
    return found


def _make_decorator(side: Side, anchor: type[Middleware]) -> Callable[[MiddlewareT], MiddlewareT]:
    if not _is_middleware(anchor):
        raise ValueError(f"@{side} takes a middleware class as its anchor, not {_describe_value(anchor)}.")

    def mark(kind: MiddlewareT) -> MiddlewareT:
        if not _is_middleware(kind):
            raise ValueError(
                f"@{side}({anchor.__name__}) places middleware classes, not {_describe_value(kind)}."
            )
        setattr(kind, _MARK, (*vars(kind).get(_MARK, ()), Place(side, anchor)))
        return kind

    return mark


def _is_middleware(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, AgentMiddleware)


def _describe_value(value: object) -> str:
    """Describe an invalid value: a class by its name, anything else by its repr."""
    return f"the class {value.__name__}" if isinstance(value, type) else f"{value!r}"
