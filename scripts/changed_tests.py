"""Pick the test files that a change concerns: `make test CHANGED=1`. A guess for quick feedback; CI runs all.

A file is picked if it or a module of the tests that it imports changed, if it imports from a folder of the
source that changed, or if it stands at the path that mirrors such a folder.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
ALWAYS = ("tests/conformance/", "tests/rules/")
"""The kit on the recording adapter and the rules of the tree run with every change."""
SHARED = ("pyproject.toml", "tests/conftest.py", "requirements.lock", "requirements-dev.lock")
"""Every test depends on these."""
SOURCE = ("bot", "agent", "packages", "scripts", "skills")


def list_changes(root: Path = ROOT, base: str = "main") -> list[str]:
    """Return the files that differ from where this branch left `base`, committed or not."""
    start = _git(root, "merge-base", "HEAD", base)
    changed = _git(root, "diff", "--name-only", *start)
    return [*changed, *_git(root, "ls-files", "--others", "--exclude-standard")]


def pick_tests(names: Iterable[str], changes: Collection[str], root: Path = ROOT) -> list[str]:
    """Return those of the test files that the changes concern."""
    if any(name in SHARED for name in changes):
        return list(names)
    folders = {_package(Path(name)) for name in changes if name.startswith(SOURCE) and name.endswith(".py")}
    changed = set(changes)
    return [
        name
        for name in names
        if name.startswith(ALWAYS)
        or not changed.isdisjoint(_test_files(root, name))
        or any(_mirrors(Path(name), folder) for folder in folders)
        or any(module.rpartition(".")[0] in folders for module in _read_imports(root / name))
    ]


def _git(root: Path, *arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def _package(path: Path) -> str:
    """Return the dotted name of a source file's folder."""
    parts = path.parent.parts
    return ".".join(parts[parts.index("src") + 1 :] if "src" in parts else parts)


def _mirrors(test: Path, folder: str) -> bool:
    """Return whether a test stands at the folder's path, wherever in the tests that begins."""
    inner = folder.split(".")[1:]
    parts = list(test.parent.parts)
    return bool(inner) and any(parts[at : at + len(inner)] == inner for at in range(len(parts)))


def _test_files(root: Path, name: str) -> set[str]:
    """Return a test file, the conftest files above it and the modules of the tests that these import."""
    parents = [str(folder / "conftest.py") for folder in Path(name).parents]
    files: set[str] = set()
    waiting = [name, *(file for file in parents if (root / file).exists())]
    while waiting:
        file = waiting.pop()
        if file not in files:
            files.add(file)
            paths = (f"{module.replace('.', '/')}.py" for module in _read_imports(root / file))
            waiting += [path for path in paths if path.startswith("tests/") and (root / path).exists()]
    return files


@cache
def _read_imports(path: Path) -> frozenset[str]:
    """Return the modules that a file imports, and the names that may be modules."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = ".".join(path.relative_to(ROOT).parts[: -node.level]) if node.level else ""
            source = ".".join(part for part in (above, node.module or "") if part)
            modules |= {source, *(f"{source}.{one.name}" for one in node.names)}
    return frozenset(modules)
