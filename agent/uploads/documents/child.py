"""Conversion of a document in a process of its own: `python -m agent.uploads.documents.child`.

Its arguments are KIND LIMITS FROM TO IMAGES: KIND is a `DocumentKind`, LIMITS a JSON object of `Bounds`;
FROM, TO and IMAGES are inherited file descriptors. The process prints a `Report` as its only line. It knows
no configuration and no secret of the service.

Pictures become JPEG here, so that only what Pillow can read reaches a model. They take at most 60 % of the
time, because the text is more important.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import BinaryIO

from agent.uploads.documents.kinds import DocumentKind
from agent.uploads.documents.pictures import PictureWriter
from agent.uploads.documents.report import DAMAGED, MarkdownWriter, Report, TableSummary, Unreadable
from agent.uploads.documents.tables import shorten_samples

Reader = Callable[..., Iterator[str]]
"""Gets the file, a list for notes, the PictureWriter if the kind is in `WITH_PICTURES`, and a list for
summaries of tables if it is in `WITH_TABLES`.
"""
OPEN_FILES = 64
NICE = 10
READERS: Mapping[DocumentKind, tuple[str, str]] = {
    DocumentKind.PDF: ("pdf", "read_pdf"),
    DocumentKind.WORD: ("office", "read_word"),
    DocumentKind.SLIDES: ("office", "read_slides"),
    DocumentKind.WORKBOOK: ("workbook", "read_workbook"),
    DocumentKind.OLD_WORKBOOK: ("old_workbook", "read_old_workbook"),
    DocumentKind.DELIMITED: ("tables", "read_delimited"),
    DocumentKind.WEB: ("web", "read_web_page"),
    DocumentKind.EMAIL: ("messages", "read_message"),
    DocumentKind.NOTEBOOK: ("messages", "read_notebook"),
    DocumentKind.PICTURE: ("messages", "read_picture"),
}
"""Module in this package and function that read a kind; only what is needed is imported."""
PICTURE_SHARE = 0.6
"""Share of the time in which pictures are read."""
WITH_TABLES = frozenset({DocumentKind.WORKBOOK, DocumentKind.OLD_WORKBOOK, DocumentKind.DELIMITED})
WITH_PICTURES = frozenset(DocumentKind) - {DocumentKind.OLD_WORKBOOK, DocumentKind.DELIMITED}
TOO_LARGE = "It needs more memory than is allowed for a document."
NESTED = "It is nested too deeply."
NO_TEXT = "It has no text."
NOT_INSTALLED = "The reader for such files is not installed: pip install 'roebot[documents]'."
CUT = "The document is long, so only its beginning is included."
SLOW = "Reading the whole document takes too long, so only its beginning is included."


@dataclass(frozen=True, slots=True)
class Bounds:
    """Process limits: CPU `seconds`, and bytes of `memory`, `markdown` and `pictures`.

    After `soft_seconds` no further part of the document is read.
    """

    seconds: float
    soft_seconds: float
    memory: int
    markdown: int
    pictures: int = 0

    def apply(self) -> None:
        """Set the limits of this process permanently."""
        import resource

        for limit, most in (
            (resource.RLIMIT_AS, self.memory),
            (resource.RLIMIT_CPU, math.ceil(self.seconds)),
            (resource.RLIMIT_FSIZE, max(self.markdown, self.pictures)),
            (resource.RLIMIT_NOFILE, OPEN_FILES),
            (resource.RLIMIT_CORE, 0),
        ):
            _, hard = resource.getrlimit(limit)
            bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(limit, (bound, bound))
        os.nice(NICE)


def main(arguments: Sequence[str]) -> int:
    """Convert the document, print the report, and return 0."""
    kind, limits, source, target, images = arguments
    bounds = Bounds(**json.loads(limits))
    output = discard_output()
    bounds.apply()
    with (
        os.fdopen(int(source), "rb") as file,
        os.fdopen(int(target), "wb") as markdown,
        os.fdopen(int(images), "wb") as pictures,
    ):
        report = convert_document(DocumentKind(kind), file, markdown, bounds, pictures=pictures)
    os.write(output, report.dumps())
    return 0


def convert_document(
    kind: DocumentKind,
    source: BinaryIO,
    target: BinaryIO,
    bounds: Bounds,
    clock: Callable[[], float] = time.monotonic,
    pictures: BinaryIO | None = None,
) -> Report:
    """Read `source` and write its Markdown to `target`, its images to `pictures`.

    Raises nothing: the report names the problem.
    """
    until = clock() + bounds.soft_seconds * PICTURE_SHARE
    images = PictureWriter(pictures, bounds.pictures, until=until, clock=clock)
    try:
        return _write_markdown(kind, source, target, bounds, clock, images)
    except Unreadable as error:
        return Report(problem=str(error))
    except ImportError as error:
        return Report(problem=NOT_INSTALLED, fault=str(error))
    except MemoryError:
        return Report(problem=TOO_LARGE)
    except RecursionError:
        return Report(problem=NESTED)
    except Exception as error:  # noqa: BLE001 - parsers raise anything on hostile input; it is reported
        return Report(problem=DAMAGED, fault=type(error).__name__)


def _write_markdown(
    kind: DocumentKind,
    source: BinaryIO,
    target: BinaryIO,
    bounds: Bounds,
    clock: Callable[[], float],
    images: PictureWriter,
) -> Report:
    until = clock() + bounds.soft_seconds
    notes: list[str] = []
    writer = MarkdownWriter(target, bounds.markdown)
    module, function = READERS[kind]
    read: Reader = getattr(import_module(f"agent.uploads.documents.{module}"), function)
    tables: list[TableSummary] = []
    more = [*([images] if kind in WITH_PICTURES else []), *([tables] if kind in WITH_TABLES else [])]
    for block in read(source, notes, *more):
        if not writer.write(block):
            notes.append(CUT)
            break
        if clock() > until:
            notes.append(SLOW)
            break
    target.flush()
    if not writer.lines:
        raise Unreadable(NO_TEXT)
    notes += filter(None, [images.note])
    return Report(
        notes=notes,
        headings=writer.headings,
        lines=writer.lines,
        pictures=images.kept,
        tables=shorten_samples(tables),
    )


def discard_output() -> int:
    """Return a descriptor of stdout for the report, discarding all output of libraries."""
    output = os.dup(sys.stdout.fileno())
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nothing, stream.fileno())
    os.close(nothing)
    return output


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
