"""One guard, and how it is taken away."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutation:
    """`old` becomes `new` in `file`; then the test `test` (a node of pytest) has to fail.

    `user`: as an ordinary user, since root is guarded otherwise.
    """

    against: str
    guard: str
    file: str
    old: str
    new: str
    test: str
    user: bool = False
