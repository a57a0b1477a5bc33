"""Each row of docs/reference/data-isolation.md names tests that there are."""

from __future__ import annotations

import re

import pytest

from tests.docs.blocks import ROOT

PAGE = ROOT / "docs/reference/data-isolation.md"
ROWS = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")][1:]
NAMED = re.compile(r"`([\w/.]+\.py)::(\w+)`")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_a_row_is_held_by_tests_that_there_are(row: str) -> None:
    named = NAMED.findall(row)
    assert named
    for path, name in named:
        assert f"def {name}(" in (ROOT / path).read_text(), f"{path} has no {name}"


def test_what_the_requirement_names_is_there() -> None:
    whats = " ".join(row.split("|")[1] for row in ROWS)
    for what in ("memory", "uploads", "artifacts", "sandbox", "skills", "said"):
        assert what in whats
