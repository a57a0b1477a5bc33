"""Foreign content is parsed in a child with limits, never in the agent's own process."""

from __future__ import annotations

import ast
import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from agent.errors import WebFailed
from agent.tools.community.page_reader import NOT_READ, PLAIN, read_article, read_results
from agent.tools.community.plain_page import strip_tags
from agent.uploads.documents import limited_child

AGENT = Path(limited_child.__file__).parents[2]
PARSERS = frozenset(
    {
        *("PIL", "bs4", "docx", "html_to_markdown", "lxml", "mammoth", "nbformat", "openpyxl", "pdfplumber"),
        *(
            "pillow_heif",
            "pptx",
            "pypdf",
            "pypdfium2",
            "trafilatura",
            "xlrd",
            "xml",
            "zipfile",
            "csv",
            "chardet",
        ),
    }
)
READERS = frozenset(
    {
        *("agent.shared.html", "agent.shared.html_meaning"),
        *(f"agent.tools.community.{name}" for name in ("duckduckgo_page", "readable")),
        *(
            f"agent.uploads.documents.{name}"
            for name in (
                "messages",
                "office",
                "office_parts",
                "office_text",
                "old_workbook",
                "pdf",
                "pdf_annotations",
                "pdf_layout",
                "pdf_pages",
                "pictures",
                "tables",
                "text_encoding",
                "web",
                "word_numbers",
                "workbook",
                "workbook_parts",
            )
        ),
    }
)
"""Modules that parse foreign content, directly or by another one of them."""
CHILDREN = {
    "agent.uploads.documents.child": "convert_document",
    "agent.uploads.documents.encoding_child": "detect_encoding",
    "agent.tools.community.page_child": "read_page",
}
"""Modules that run in a child, and their functions that read."""
TEXT = "agent.uploads.documents.text_encoding"
UNICODE = {"agent.tools.sandbox", "agent.tools.text_files"}
BY_ADMINS = frozenset({"agent.skills.archive", "agent.skills.sources"})
"""Archives of skills, which an admin installs, with limits of their own."""
PAGE = b"<title>T</title><main><p>Some <b>text</b>.</main>"


def list_imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
        elif isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
    return found


def test_every_parser_of_foreign_content_is_imported_by_a_child_alone() -> None:
    paths = AGENT.rglob("*.py")
    imports = {".".join(["agent", *path.relative_to(AGENT).with_suffix("").parts]): path for path in paths}
    users = {name: list_imports(path) for name, path in imports.items() if name not in BY_ADMINS}
    parsing = {name for name, used in users.items() if {one.partition(".")[0] for one in used} & PARSERS}
    assert parsing - READERS == set()
    # Files of Unicode text are recognized without a parser.
    importing = {name for name, used in users.items() if used & READERS and name not in UNICODE}
    assert importing - READERS == set(CHILDREN)
    assert [name for name in UNICODE if f"{TEXT}.detect_encoding" in users[name]] == []
    for child, function in CHILDREN.items():
        assert [name for name, used in users.items() if f"{child}.{function}" in used] == []


# The client of a model service imports chardet if it is installed.
SCRIPT = f"""
import asyncio, pathlib, sys, tempfile
from agent.tools.community import direct, duckduckgo, jina
from agent.tools.community.page_reader import read_article, read_results
from agent.uploads.documents.converter import Converter
from agent.uploads.documents.kinds import DocumentKind

async def main():
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "page").write_bytes({PAGE!r})
    report = await Converter().convert(folder / "page", DocumentKind.WEB, folder / "made")
    print(report.problem, await read_article({PAGE!r}, "", None), await read_results("<p>"))

asyncio.run(main())
print(sorted(set({sorted(PARSERS - {"csv", "zipfile", "xml", "chardet"})!r}) & sys.modules.keys()))
"""


@pytest.mark.may_block
def test_reading_loads_no_parser() -> None:
    found = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert found.stdout.split("\n") == [" # T", "", "Some **text**. None", "[]", ""]


@pytest.fixture
def slow_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for Python: it runs the script that a test writes."""
    program = tmp_path / "python"
    monkeypatch.setattr(limited_child.sys, "executable", str(program))
    return program


async def write(program: Path, script: str) -> None:
    def write_now() -> None:
        program.write_text(f"#!/bin/bash\n{script}\n")
        program.chmod(0o755)

    await asyncio.to_thread(write_now)


@pytest.mark.parametrize("ending", ["sleep 60", "kill -XCPU $$", "kill -SEGV $$", "exit 1"])
async def test_a_page_that_takes_too_long_is_read_as_plain_text(slow_child: Path, ending: str) -> None:
    results = '{"title": "T", "text": "first", "is_complete": false}\\n{"title": "T", "text": "ha'
    await write(slow_child, f"printf '{results}' >&$6; {ending}")
    assert await read_article(PAGE, "", None, seconds=0.5) == f"{PLAIN}\n\n# T\n\nfirst"


@pytest.mark.parametrize(("ending", "reason"), [("sleep 60", NOT_READ), ("exit 1", "can't be read")])
async def test_a_page_that_gives_nothing(slow_child: Path, ending: str, reason: str) -> None:
    await write(slow_child, ending)
    with pytest.raises(WebFailed, match=reason):
        await read_article(PAGE, "", None, seconds=0.5)


async def test_other_work_goes_on_while_a_large_page_is_read() -> None:
    page = b"<main>" + b"<p>One sentence of <b>many</b> that are here.</p>" * 20_000 + b"</main>"
    reading = asyncio.create_task(read_article(page, "", None))
    loop = asyncio.get_running_loop()
    longest = 0.0
    while not reading.done():
        begun = loop.time()
        await asyncio.sleep(0.01)
        longest = max(longest, loop.time() - begun)
    assert "One sentence of" in await reading
    assert longest < 1.0


async def test_results_of_a_search_are_read_in_the_child() -> None:
    assert await read_results("<p>") is None
    assert await read_results("<div id='links'></div>") == []


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (
            "<title>x</title><h1>A</h1><p>b <i>c</i>d &amp; e</p><script>if (a<b) f</script>g",
            "A\nb cd & e\ng",
        ),
        ("<ul><li>1<li>2</ul><!-- no -->3", "1\n2\n3"),
        ("a < b <c", "a < b <c"),
        ("<style>p {}</style", ""),
        (f"<p>&#{'1' * 5_000};</p>", f"&#{'1' * 5_000};"),
        ("", ""),
    ],
)
def test_plain_text_of_a_page(page: str, text: str) -> None:
    assert strip_tags(page) == text
