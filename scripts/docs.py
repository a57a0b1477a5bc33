"""Write the generated pages: `python -m scripts.docs`. `--check` only lists stale pages and exits with 1."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from scripts.reference.access import render_access_table
from scripts.reference.cli import render_command_line
from scripts.reference.commands import render_chat_commands
from scripts.reference.configuration import render_configuration
from scripts.reference.guards import PAGES as GUARD_PAGES
from scripts.reference.models import render_models
from scripts.reference.platforms import render_platforms
from scripts.reference.prompt import render_system_prompt
from scripts.reference.routes import render_http_routes
from scripts.reference.states import render_states_and_errors
from scripts.reference.switches import render_feature_switches

FOLDER = Path(__file__).parent.parent / "docs"
PAGES: Mapping[str, Callable[[], str]] = {
    "internals/access-table.md": render_access_table,
    "reference/chat-commands.md": render_chat_commands,
    "reference/configuration.md": render_configuration,
    "reference/command-line.md": render_command_line,
    "reference/models.md": render_models,
    "reference/platforms.md": render_platforms,
    "reference/http-routes.md": render_http_routes,
    "reference/states-and-errors.md": render_states_and_errors,
    "reference/feature-switches.md": render_feature_switches,
    "internals/system-prompt.md": render_system_prompt,
    **{f"internals/{page.path.name}": page.render for page in GUARD_PAGES},
}


def find_stale_pages(folder: Path = FOLDER) -> dict[str, str]:
    """Return the outdated pages: file name to current content."""
    current = {name: render() for name, render in PAGES.items()}
    return {name: text for name, text in current.items() if _read(folder / name) != text}


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def main(arguments: list[str]) -> int:
    """Write the stale pages, or with `--check` list them and return 1 if there are any."""
    found = find_stale_pages()
    if arguments == ["--check"]:
        for name in found:
            print(f"docs/{name} is stale: run `make docs`")
        return int(bool(found))
    for name, text in found.items():
        (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_text(text)
        print(f"wrote docs/{name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
