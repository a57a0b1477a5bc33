"""Documents by several writers: each fact is in the text, or a note names its place."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from agent.uploads.documents.child import Bounds, convert_document
from tests.harness.document_corpus import Sample, make_samples
from tests.harness.office_corpus import make_office_samples

pytestmark = pytest.mark.may_block
BOUNDS = Bounds(seconds=60, soft_seconds=60, memory=0, markdown=1_000_000, pictures=10_000_000)
LEAST = 0.95
"""Minimum share of the facts of each kind and writer that are in the text."""
_MARKS = re.compile(r"\*\*|\\|\|")


def flatten(text: str) -> str:
    return " ".join(_MARKS.sub(lambda found: " " if found[0] == "|" else "", text).split())


def check(samples: Iterable[Sample]) -> None:
    """Print the share of facts in the text by kind and writer.

    Fails if a fact is neither in the text nor noted, or if a share is below `LEAST`.
    """
    facts: Counter[str] = Counter()
    present: Counter[str] = Counter()
    lost: list[str] = []
    for sample in samples:
        target = io.BytesIO()
        source, pictures = io.BytesIO(sample.content), io.BytesIO()
        report = convert_document(sample.kind, source, target, BOUNDS, pictures=pictures)
        assert report.problem == "", (sample.writer, report)
        text, notes = flatten(target.getvalue().decode()), " ".join(report.notes).lower()
        name = f"{sample.kind.value}, {sample.writer}"
        for place, fact in sample.facts:
            facts[name] += 1
            if fact in text or fact in notes:
                present[name] += 1
            elif not any(word in notes for word in place.split() if len(word) > 3):
                lost.append(f"{name}: {place}")
    for name, count in facts.items():
        print(f"{name}: {present[name] / count:.1%} of {count:,} facts")
    assert not lost, Counter(lost)
    assert [name for name, count in facts.items() if present[name] < LEAST * count] == []


def test_facts_of_a_few_documents() -> None:
    check(make_samples(1))


@pytest.mark.long
@pytest.mark.timeout(900)
def test_facts_of_many_documents() -> None:
    check(make_samples(40))


@pytest.mark.libreoffice
@pytest.mark.timeout(900)
def test_facts_of_documents_saved_by_libreoffice(tmp_path: Path) -> None:
    check(make_office_samples(20, tmp_path))
