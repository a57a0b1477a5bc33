"""Passages of documents: cited by page and section, and never cut inside a sentence."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from agent.uploads.documents.child import Bounds, convert_document
from agent.uploads.documents.kinds import DocumentKind
from tests.harness import documents
from tests.skills.test_bundled import script

pytestmark = pytest.mark.may_block
HEAD = "ACME Ltd. Confidential"
PAGES = (
    f"{HEAD}\n3.9 Insurance\nThe supplier keeps an insurance of one million.\nPage 11 of 42",
    f"{HEAD}\n4 Term and Termination\n4.1 Term\nThis contract starts in March, subject to\n"
    "Section 9 of the general terms, and runs for two years.\n4.2 Notice\nEither party may terminate this\n"
    "contract with three months' notice, unless payments\nare due\nPage 12 of 42",
    f"{HEAD}\nfor more than sixty days, in which case no notice is needed.\n4.3 Form\n"
    "A termination is made in writing.\nPage 13 of 42",
)


def find(*arguments: object, code: int = 0) -> str:
    return script("document-questions", "find.py", *arguments, code=code)


@pytest.fixture
def contract(tmp_path: Path) -> Path:
    """A folder with a PDF file and its Markdown."""
    content, markdown = documents.pdf(*PAGES), io.BytesIO()
    bounds = Bounds(seconds=60, soft_seconds=60, memory=0, markdown=1_000_000)
    convert_document(DocumentKind.PDF, io.BytesIO(content), markdown, bounds)
    (tmp_path / "contract.pdf").write_bytes(content)
    (tmp_path / "contract.md").write_bytes(markdown.getvalue())
    return tmp_path


def test_a_passage_is_cited_by_page_and_section(contract: Path) -> None:
    told = find("insurance supplier", contract, "--most", 1)
    assert told.startswith("--- contract.pdf, page 1, section 3.9 (contract.md, lines 4–")


def test_a_sentence_over_two_pages_stays_whole(contract: Path) -> None:
    first, *_ = find("terminate with notice", contract).split("\n--- ")
    assert first.startswith("--- contract.pdf, page 2, section 4.2 (contract.md, lines ")
    assert "4.2 Notice\nEither party may terminate this" in first
    assert first.rstrip().endswith("in which case no notice is needed.")
    assert "## Page 3" in first, "the model sees where the next page begins"


def test_a_reference_begins_no_section(contract: Path) -> None:
    told = find("general terms of two years", contract, "--most", 1)
    assert ", page 2, section 4.1 (" in told
    assert "This contract starts in March, subject to\nSection 9 of" in told


def test_sections_are_listed_with_the_pages(contract: Path) -> None:
    told = find("x", contract, "--headings").splitlines()
    assert [line.partition(":   ")[2].strip() for line in told] == [
        "Page 1",
        "3.9 Insurance",
        "Page 2",
        "4 Term and Termination",
        "4.1 Term",
        "Section 9 of the general terms, and runs for two years.",
        "4.2 Notice",
        "Page 3",
        "4.3 Form",
    ]


@pytest.mark.parametrize(
    ("name", "heading", "place"),
    [
        ("deck.pptx", "## Slide 3: Plan for 2027", "deck.pptx, slide 3 (deck.md, lines "),
        ("book.xlsx", "## Sheet: Q1 (hidden)", "book.xlsx, sheet Q1 (book.md, lines "),
        ("report.docx", "## 2.1 Costs", "report.docx, section 2.1 (report.md, lines "),
        ("report.docx", "## § 7 Costs", "report.docx, section 7 (report.md, lines "),
    ],
)
def test_places_in_other_documents(tmp_path: Path, name: str, heading: str, place: str) -> None:
    (tmp_path / name).write_bytes(b"PK")
    (tmp_path / name).with_suffix(".md").write_text(f"# Title\n\n{heading}\n\nBicycles cost more.\n")
    assert find("bicycles", tmp_path).startswith(f"--- {place}3–")


def test_a_file_without_a_document_is_cited_by_lines(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n\n## Page 3\n\nBicycles cost more.\n")
    assert find("bicycles", tmp_path).startswith("--- notes.md, lines 3–5 · Notes · ")


def test_the_markdown_of_a_taken_name_and_no_table_twice(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("kind,price\nbicycle,900\n")
    (tmp_path / "data-2.md").write_text("| kind | price |\n| --- | --- |\n| bicycle | 900 |\n")
    assert "--- data.csv (data-2.md, lines 1–3)" in find("bicycle", tmp_path)
    (tmp_path / "data-2.md").rename(tmp_path / "data.md")
    told = find("bicycle", tmp_path)
    assert told.count("---  ") == 0
    assert told.count(" lines 1–3)") == 1
    assert "data.csv, lines" not in told


def test_long_text_is_cut_between_sentences(tmp_path: Path) -> None:
    sentence = "The quick\nbrown fox jumps\nover the lazy dog and\nruns away from it.\n"
    (tmp_path / "story.md").write_text(sentence * 20)
    told = find("fox", tmp_path, "--most", 50)
    blocks = [block.partition("\n")[2].strip() for block in told.split("--- ") if block.strip()]
    assert len(blocks) > 3
    assert all(block.startswith("The quick") and block.endswith("away from it.") for block in blocks)
    (tmp_path / "story.md").write_text("a line without an end of it\n" * 100)
    told = find("line", tmp_path, "--most", 50)
    assert "lines 1–40 " in told
