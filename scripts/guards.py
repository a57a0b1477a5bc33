"""The guards that tests name: `@pytest.mark.guard(what, file, old, new, against=...)` on the test that fails
when `old` becomes `new` in the file.

More keywords: `case` is the id of the parameters to run, `user` runs the test as an ordinary user, because
root has other guards. On a class, `test` names one that it inherits. In the `pytestmark` of a module, the
marker stands for the whole file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
MARKER = "pytest.mark.guard"


@dataclass(frozen=True, slots=True)
class Guard:
    """A guard, the change of a file that removes it, and the pytest node that must fail then."""

    what: str
    file: str
    old: str
    new: str
    against: str
    node: str
    user: bool = False


@cache
def read_guards(root: Path = ROOT) -> tuple[Guard, ...]:
    """Return the guards of all test files, without importing them."""
    guards: list[Guard] = []
    for path in sorted((root / "tests").rglob("test_*.py")):
        if MARKER in (text := path.read_text()):
            guards += _guards_of(ast.parse(text), str(path.relative_to(root)))
    return tuple(guards)


def _guards_of(tree: ast.AST, node: str) -> Iterator[Guard]:
    """Find the markers of a module, a class or a function, and those within it."""
    for expression in getattr(tree, "decorator_list", []):
        yield from _guards_in(expression, node)
    for part in getattr(tree, "body", []):
        match part:
            case ast.Assign(targets=[ast.Name("pytestmark")]):
                yield from _guards_in(part.value, node)
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield from _guards_of(part, f"{node}::{name}")


def _guards_in(expression: ast.expr, node: str) -> Iterator[Guard]:
    for call in ast.walk(expression):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == MARKER:
            options = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
            test = f"{node}::{options.pop('test')}" if "test" in options else node
            case = f"[{options.pop('case')}]" if "case" in options else ""
            yield Guard(*map(ast.literal_eval, call.args), node=test + case, **options)
