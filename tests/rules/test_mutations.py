"""The guards that `python -m scripts.mutations` removes are in the code, and their tests have a file."""

from __future__ import annotations

from pathlib import Path

from scripts.mutations import PAGES

ROOT = Path(__file__).parents[2]
MUTATIONS = [one for page in PAGES for one in page.guards]


def test_each_mutation_matches_the_code_once() -> None:
    texts = {file: (ROOT / file).read_text() for file in {one.file for one in MUTATIONS}}
    assert [one.guard for one in MUTATIONS if texts[one.file].count(one.old) != 1] == []
    assert [one.guard for one in MUTATIONS if not (ROOT / one.test.partition("::")[0]).is_file()] == []
