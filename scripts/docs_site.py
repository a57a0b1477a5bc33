"""MkDocs hooks: add pages from outside docs/, list the decisions, adapt links and code blocks."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")

FENCE = re.compile(r"^(\s*```\w+) [^\n]*$", re.MULTILINE)


def _outside_pages() -> dict[Path, str]:
    """Map pages outside docs/ to their path on the site."""
    pages = [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "deploy").rglob("*.md"))]
    return {page: page.relative_to(ROOT).as_posix() for page in pages}


def on_config(config: Any) -> Any:
    """Replace the DECISIONS entry of the navigation with the pages of docs/decisions."""
    pages = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("*.md"))
    names = ["README.md", *(name for name in pages if name != "README.md")]
    entries = (entry for entry in config.nav if isinstance(entry, dict))
    background = next(entry["Background"] for entry in entries if "Background" in entry)
    background[-1] = {"Decisions": [f"decisions/{name}" for name in names]}
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages outside docs/."""
    from mkdocs.structure.files import File

    for page, name in _outside_pages().items():
        files.append(File.generated(config, name, abs_src_path=str(page)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links at pages of the site and drop the words after a fence's language.

    Links to other files become plain text. The words tell the tests how to use a block; MkDocs rejects them.
    """
    outside = _outside_pages()
    source = Path(page.file.abs_src_path)
    here = Path(page.file.src_uri).parent

    def adapt(match: re.Match[str]) -> str:
        if "://" in match["target"]:
            return match[0]
        target = (source.parent / match["target"]).resolve()
        docs = ROOT / "docs"
        name = target.relative_to(docs).as_posix() if target.is_relative_to(docs) else outside.get(target)
        if name is None:
            return match["text"]
        return f"[{match['text']}]({os.path.relpath(name, here)}{match['anchor'] or ''})"

    return LINK.sub(adapt, FENCE.sub(r"\1", markdown))
