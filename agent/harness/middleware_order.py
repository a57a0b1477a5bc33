"""Place extra middleware in a chain: next to its anchor, or just before the end.

Only classes and their marks count; every refusal is a ValueError that names the classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain.agents.middleware import AgentMiddleware

from agent.features import Middleware, Place, Side, places_of


@dataclass(frozen=True, slots=True)
class Slot:
    """A middleware in the chain. `use` (`module:class`) is the built-in that it replaces, if any."""

    middleware: Middleware
    use: str = ""

    def matches_anchor(self, anchor: type[Middleware]) -> bool:
        """Return whether it stands in the anchor's place."""
        return type(self.middleware) is anchor or self.use == import_string_of(anchor)


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """An extra middleware and its place."""

    middleware: Middleware
    at: Place


def order_middleware(chain: Sequence[Slot], extra: Sequence[Middleware]) -> list[Slot]:
    """Return the chain with the extras placed; the last slot stays last.

    Extras without an anchor go just before it, in order. Raises ValueError for a class instead of an
    instance, a duplicate, two places, one place for two, a missing anchor, a circle, or a place after the
    end.
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
            raise ValueError(f"Extra middleware is given as instances; {called}.")


def _check_duplicates(members: Sequence[Middleware]) -> None:
    names: dict[str, Middleware] = {}
    for one in members:
        if one.name in names:
            raise ValueError(
                f"The chain has {_class_name(one)} twice; keep one, or give the other a `name` of its own."
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
                f"{_class_name(one)} has two places, {' and '.join(map(str, places))}; keep one."
            )
        for at in places:
            for other in wishes:
                if other.at == at:
                    both = f"{_class_name(other.middleware)} and {_class_name(one)}"
                    raise ValueError(f"{both} both want {at}; anchor one to the other.")
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
        raise ValueError(f"{at} fits several: {names}; name one of them.")
    return alike[0] if alike else None


def _explain_unplaced(placed: Sequence[Slot], wishes: Sequence[Placement]) -> str:
    """Explain why none of the placements is possible: a missing anchor or a circle."""
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
    return f"These are anchored in a circle: {circle}; anchor one of them to something else."


def _class_name(one: Middleware) -> str:
    return type(one).__name__
