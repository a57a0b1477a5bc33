"""Tests of a feature stand in its own folder, so that a feature is deleted together with its tests."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
KERNEL = (
    "unit/bot",
    *(f"component/{part}" for part in ("app", "cli", "dispatch", "server")),
    "contract/store",
)
SHARED = (
    "approvals",
    "backup",
    "people",
    "record",
    "schedules",
    "usage",
    "slack",
    "telegram",
    "base",
    "local",
)
"""Features and platforms that tests of the kernel still use. The list only shrinks."""
ROOM = re.compile(r"^\s*(?:from|import) (?:tests\.)?bot\.(?:features|platforms)\.(\w+)", re.MULTILINE)
ROOMS = {path.name for name in ("features", "platforms") for path in (TESTS.parent / "bot" / name).glob("*/")}


def list_imports(folder: Path, known: tuple[str, ...]) -> list[str]:
    """Return the imports of features and platforms in a folder, apart from the known ones."""
    names = [(file, name) for file in folder.rglob("*.py") for name in ROOM.findall(file.read_text())]
    return [f"{file.relative_to(TESTS)}: {name}" for file, name in names if name in ROOMS - {*known}]


def test_tests_of_the_kernel_import_no_room() -> None:
    folders = [TESTS / folder for folder in KERNEL]
    assert all(folder.is_dir() for folder in folders)
    assert [one for folder in folders for one in list_imports(folder, SHARED)] == []


def test_a_features_tests_import_no_other_feature() -> None:
    folders = [folder for folder in (TESTS / "bot" / "features").iterdir() if folder.is_dir()]
    assert [one for folder in folders for one in list_imports(folder, (folder.name,))] == []
