"""Writes the reference pages: `python -m scripts.docs`; `--check` only says which are stale."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from scripts.reference.cli import cli
from scripts.reference.commands import commands
from scripts.reference.configuration import configuration
from scripts.reference.models import models
from scripts.reference.platforms import platforms
from scripts.reference.routes import routes
from scripts.reference.states import states
from scripts.reference.switches import switches

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
PAGES: Mapping[str, Callable[[], str]] = {
    "chat-commands.md": commands,
    "configuration.md": configuration,
    "command-line.md": cli,
    "models.md": models,
    "platforms.md": platforms,
    "http-routes.md": routes,
    "states-and-errors.md": states,
    "feature-switches.md": switches,
}


def stale(folder: Path = FOLDER) -> dict[str, str]:
    """The pages that do not say what the code says: name and right content."""
    made = {name: make() for name, make in PAGES.items()}
    return {name: text for name, text in made.items() if _read(folder / name) != text}


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def main(arguments: list[str]) -> int:
    """Write what is stale; with `--check` 1 if anything is."""
    found = stale()
    if arguments == ["--check"]:
        for name in found:
            print(f"docs/reference/{name} is stale: run `make docs`")
        return int(bool(found))
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in found.items():
        (FOLDER / name).write_text(text)
        print(f"wrote docs/reference/{name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
