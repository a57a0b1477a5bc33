"""What reading a document costs: `python -m tests.benchmarks.documents`.

Each document is read as the service has it read, in a process of its own with limits, and by the same code in
this process, which is warm; the difference is the price of the protection. They take turns. What stands first
is the process alone: a document of a few bytes, against starting Python.
"""

from __future__ import annotations

import asyncio
import io
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from agent.uploads.documents.child import Bounds, convert_document
from agent.uploads.documents.converter import Converter
from agent.uploads.documents.kinds import DocumentKind
from tests.benchmarks.figures import Figure, table
from tests.harness import documents

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "10"))
BOUNDS = Bounds(seconds=60, soft_seconds=60, memory=0, markdown=2_000_000)
START = ("a few bytes, against Python alone", 8.0)
AT_MOST_MORE = 1_500.0
"""Milliseconds that a document may take longer there than here."""


def made() -> dict[str, tuple[DocumentKind, bytes]]:
    """A document of each kind, of a size that people send."""
    rows = [["name", "count", "share"], *([f"row {number}", number, number / 7] for number in range(900))]
    body = "".join(documents.paragraph(f"Sentence {number} of a contract. " * 12) for number in range(300))
    pages = ["\n".join(f"Line {line} of page {page}" for line in range(40)) for page in range(30)]
    lines = "".join(f"<p>Paragraph <b>{number}</b> of a page.</p>" for number in range(1_000))
    return {
        "Excel, 3 sheets of 900 rows": (DocumentKind.WORKBOOK, documents.workbook(A=rows, B=rows, C=rows)),
        "Word, 300 paragraphs": (DocumentKind.WORD, documents.word(body)),
        "PDF, 30 pages": (DocumentKind.PDF, documents.pdf(*pages)),
        "PowerPoint, 2 slides": (DocumentKind.SLIDES, documents.slides()),
        "a web page, 1,000 paragraphs": (DocumentKind.WEB, lines.encode()),
        "CSV, 1,000 rows": (DocumentKind.DELIMITED, b"a,b\n" + b"1,2\n" * 1_000),
    }


async def seconds(work: Callable[[], Awaitable[object]]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def pairs(
    work: Callable[[], Awaitable[object]], peer: Callable[[], Awaitable[object]]
) -> tuple[float, float, float]:
    """The medians of both in milliseconds, and that of their ratio; they take turns."""
    found = [(await seconds(work), await seconds(peer)) for _ in range(ROUNDS)]
    one, other = (statistics.median(times) * 1_000 for times in zip(*found, strict=True))
    return one, other, statistics.median(first / second for first, second in found)


async def measured(folder: Path) -> list[Figure]:
    """Each kind of document."""
    figures = []
    converter = Converter()
    source, target = folder / "source", folder / "made.md"

    async def there(kind: DocumentKind) -> None:
        report = await converter.convert(source, kind, target)
        assert not report.problem, report
        target.unlink()

    async def bare() -> None:
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", "pass", stdout=subprocess.PIPE)
        await process.communicate()

    source.write_bytes(b"a,b\n1,2\n")
    one, other, ratio = await pairs(lambda: there(DocumentKind.DELIMITED), bare)
    figures.append(Figure(START[0], ratio, START[1], detail=f"{one:.0f} ms against {other:.0f} ms"))
    for name, (kind, content) in made().items():
        source.write_bytes(content)

        async def here(kind: DocumentKind = kind, content: bytes = content) -> None:
            report = convert_document(kind, io.BytesIO(content), io.BytesIO(), BOUNDS)
            assert not report.problem, report

        await here()
        one, other, _ = await pairs(lambda kind=kind: there(kind), here)  # type: ignore[misc]
        detail = f"{one:.0f} ms against {other:.0f} ms ({len(content) / 1_000:.0f} kB)"
        figures.append(Figure(name, one - other, AT_MOST_MORE, "ms", detail))
    return figures


def main() -> int:
    """Measure and print; 1 where something costs more than it may."""
    with tempfile.TemporaryDirectory(prefix="roebot-bench-") as name:
        figures = asyncio.run(measured(Path(name)))
    print(table(figures))
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1_000
    print(f"the largest of these processes used {most:.0f} MB")
    return int(not all(figure.holds for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
