"""Find the fields of a request that a rule is about; the tables of rules of every platform use it.

A path joins names with dots, and "[]" stands for each item of a list: "embeds[].title" is the title of each
embed, "rows[]" each row, and "" the whole request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final

Path = tuple[str | int, ...]


class _Absence(Enum):
    MISSING = "missing"


MISSING: Final = _Absence.MISSING
"""Stands for the last field of a path where its object lacks it."""


def find_values(body: Any, path: str) -> Iterator[tuple[Path, Any]]:
    """Yield the values at a path, with their places.

    Anything of another shape on the way yields nothing: rules of its own are about it.
    """
    return _walk(body, path.replace("[]", ".[]").strip(".").split(".") if path else (), ())


def json_pointer(place: Path) -> str:
    """Return the place of a value as a JSON pointer."""
    return "".join(f"/{part}" for part in place)


def _walk(value: Any, steps: Sequence[str], at: Path) -> Iterator[tuple[Path, Any]]:
    if not steps:
        yield at, value
    elif steps[0] == "[]":
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from _walk(item, steps[1:], (*at, index))
    elif isinstance(value, Mapping):
        name = steps[0]
        if name in value:
            yield from _walk(value[name], steps[1:], (*at, name))
        elif len(steps) == 1:
            yield (*at, name), MISSING
