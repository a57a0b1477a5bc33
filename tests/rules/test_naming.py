"""Names of modules, functions and classes follow the rules of CONTRIBUTING.md."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DENIED = frozenset((Path(__file__).parent / "denied_names.txt").read_text().split())
"""Participles, adverbs and vague words that do not say what a module contains or what a function does."""
KEPT = {"earlier": "ReadsThreads.earlier is part of the public adapter interface (bot.platforms.base)."}
"""Denied words that a public interface fixes, with the reason."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or a class of a module."""

    path: Path
    line: int
    name: str
    is_class: bool


@cache
def list_definitions() -> Sequence[Definition]:
    """Read every module. Its syntax tree is not kept, as every full garbage collection would visit it."""
    return [
        Definition(path, node.lineno, node.name, isinstance(node, ast.ClassDef))
        for path in modules()
        for node in ast.walk(ast.parse((ROOT / path).read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]


def modules() -> Iterator[Path]:
    for package in ("bot", "agent", "packages/roebot-provisioner/src", "packages/roebot-testing/src"):
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path.relative_to(ROOT)


def test_no_module_or_function_has_a_vague_name() -> None:
    found = [str(path) for path in modules() if path.stem in DENIED]
    for one in list_definitions():
        name = one.name.strip("_")
        if not one.is_class and name in DENIED and name not in KEPT:
            found.append(f"{one.path}:{one.line} {one.name}")
    assert found == []


def test_no_public_class_name_is_used_twice() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for one in list_definitions():
        if one.is_class and not one.name.startswith("_"):
            places[one.name].append(str(one.path))
    repeated = {name: where for name, where in places.items() if len(where) > 1}
    assert repeated == {}
