"""Names of modules, functions and classes follow the rules of CONTRIBUTING.md."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DENIED = frozenset((Path(__file__).parent / "denied_names.txt").read_text().split())
"""Participles, adverbs and vague words that do not say what a module contains or what a function does."""
KEPT = {"earlier": "ReadsThreads.earlier is part of the public adapter interface (bot.platforms.base)."}
"""Denied words that a public interface fixes, with the reason."""


def modules() -> Iterator[tuple[Path, ast.Module]]:
    for package in ("bot", "agent", "packages/roebot-provisioner/src", "packages/roebot-testing/src"):
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path.relative_to(ROOT), ast.parse(path.read_text())


def test_no_module_or_function_has_a_vague_name() -> None:
    found = []
    for path, tree in modules():
        if path.stem in DENIED:
            found.append(str(path))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                name = node.name.strip("_")
                if name in DENIED and name not in KEPT:
                    found.append(f"{path}:{node.lineno} {node.name}")
    assert found == []


def test_no_public_class_name_is_used_twice() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path))
    repeated = {name: where for name, where in places.items() if len(where) > 1}
    assert repeated == {}
