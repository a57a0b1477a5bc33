"""Where extra middleware goes in a chain: beside its anchor, or just before the end.

Works on the classes and their marks alone; every refusal is a ValueError that names the classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain.agents.middleware import AgentMiddleware

from agent.features import Middleware, Place, Side, places_of


@dataclass(frozen=True, slots=True)
class Seat:
    """A middleware in the chain. `use` (`module:class`) is the built-in whose place it takes, if any."""

    middleware: Middleware
    use: str = ""

    def is_of(self, anchor: type[Middleware]) -> bool:
        """Whether it stands where the anchor belongs."""
        return type(self.middleware) is anchor or self.use == use_of(anchor)


@dataclass(frozen=True, slots=True, eq=False)
class _Wish:
    """An extra and where it wants to be."""

    middleware: Middleware
    at: Place


def place(chain: Sequence[Seat], extra: Sequence[Middleware]) -> list[Seat]:
    """The chain with the extras in it; its last seat stays the last.

    Those without an anchor go just before it, in their order. Raises ValueError: not an instance, a
    duplicate, two places, one place for two, an anchor that is not there, a circle, or after the end.
    """
    _check_instances(extra)
    _check_duplicates([*(seat.middleware for seat in chain), *extra])
    waiting = _wanted(extra)
    free = [Seat(one) for one in extra if not places_of(type(one))]
    placed = [*chain[:-1], *free, *chain[-1:]]
    while waiting:
        late = []
        for wish in waiting:
            index = _index(placed, wish.at)
            if index is None:
                late.append(wish)
            else:
                _insert(placed, index, wish)
        if len(late) == len(waiting):
            raise ValueError(_stuck(placed, late))
        waiting = late
    return placed


def use_of(kind: type) -> str:
    """The class as `module:class`."""
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
                f"The chain has {_name(one)} twice; keep one, or give the other a `name` of its own."
                if type(one) is type(names[one.name])
                else f"{_name(names[one.name])} and {_name(one)} have the same name, {one.name}; rename one."
            )
        names[one.name] = one


def _wanted(extra: Sequence[Middleware]) -> list[_Wish]:
    """The wishes of the extras that have an anchor."""
    wishes: list[_Wish] = []
    for one in extra:
        places = places_of(type(one))
        if len(places) > 1:
            raise ValueError(f"{_name(one)} has two places, {' and '.join(map(str, places))}; keep one.")
        for at in places:
            for other in wishes:
                if other.at == at:
                    both = f"{_name(other.middleware)} and {_name(one)}"
                    raise ValueError(f"{both} both want {at}; anchor one to the other.")
            wishes.append(_Wish(one, at))
    return wishes


def _insert(placed: list[Seat], index: int, wish: _Wish) -> None:
    if wish.at.side is Side.PREV:
        placed.insert(index, Seat(wish.middleware))
        return
    if index == len(placed) - 1:
        anchor = wish.at.anchor.__name__
        raise ValueError(
            f"{_name(wish.middleware)} can't come after {anchor}, which is always last; use @Prev({anchor})."
        )
    placed.insert(index + 1, Seat(wish.middleware))


def _index(placed: Sequence[Seat], at: Place) -> int | None:
    exact = [index for index, seat in enumerate(placed) if seat.is_of(at.anchor)]
    if exact:
        return exact[0]
    alike = [index for index, seat in enumerate(placed) if isinstance(seat.middleware, at.anchor)]
    if len(alike) > 1:
        names = ", ".join(_name(placed[index].middleware) for index in alike)
        raise ValueError(f"{at} fits several: {names}; name one of them.")
    return alike[0] if alike else None


def _stuck(placed: Sequence[Seat], wishes: Sequence[_Wish]) -> str:
    """Why none of the wishes can be met: an anchor that is not there, or a circle among them."""
    path: list[_Wish] = []
    wish: _Wish | None = wishes[0]
    while wish is not None and wish not in path:
        path.append(wish)
        anchor = wish.at.anchor
        wish = next((other for other in wishes if isinstance(other.middleware, anchor)), None)
    if wish is None:
        known = ", ".join(_name(seat.middleware) for seat in placed)
        return f"{_name(path[-1].middleware)} is placed {path[-1].at}, which is not in the chain: {known}."
    circle = ", ".join(f"{_name(one.middleware)} {one.at}" for one in path[path.index(wish) :])
    return f"These are anchored in a circle: {circle}; anchor one of them to something else."


def _name(one: Middleware) -> str:
    return type(one).__name__
