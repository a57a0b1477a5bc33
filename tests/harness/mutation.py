"""Mutations that remove the guards of the service one at a time; `scripts.mutations` runs them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutation:
    """The removal of one guard: `old` becomes `new` in `file`, and then `test`, a pytest node, must fail.

    `user`: run the test as an ordinary user, because root has other guards.
    """

    against: str
    guard: str
    file: str
    old: str
    new: str
    test: str
    user: bool = False
