"""The process that reads one document: `python -m agent.uploads.documents.child KIND LIMITS FROM TO`.

KIND is a `Kind`, LIMITS a JSON object (see `Bounds`), FROM and TO are descriptors that it was started with.
It prints a `Report` as its only line. Nothing of the service is known here: no configuration, no secret.
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

from agent.uploads.documents.kinds import Kind
from agent.uploads.documents.report import DAMAGED, Report, Unreadable
from agent.uploads.documents.writer import MarkdownWriter

Reader = Callable[[BinaryIO, list[str]], Iterator[str]]
OPEN_FILES = 64
NICE = 10
READERS: Mapping[Kind, str] = {
    Kind.PDF: "pdf",
    Kind.WORD: "word",
    Kind.SLIDES: "slides",
    Kind.WORKBOOK: "workbook",
    Kind.OLD_WORKBOOK: "old_workbook",
    Kind.DELIMITED: "delimited",
    Kind.WEB: "web",
}
"""The module beside this one whose `read` reads it."""
TOO_LARGE = "It needs more memory than a document may take."
NESTED = "It is nested too deeply."
NO_TEXT = "It has no text."
NOT_INSTALLED = "What reads such files is not installed: pip install 'roebot[documents]'."
CUT = "Only the beginning is in it: the document is long."
SLOW = "Only the beginning is in it: reading all of it takes too long."


@dataclass(frozen=True, slots=True)
class Bounds:
    """`seconds` of the processor's time, `soft_seconds` after which no further part is begun, bytes of
    `memory` and of `markdown`.
    """

    seconds: float
    soft_seconds: float
    memory: int
    markdown: int

    def set(self) -> None:
        """For this process and for good; the kernel ends it, or refuses, beyond."""
        import resource

        for what, most in (
            (resource.RLIMIT_AS, self.memory),
            (resource.RLIMIT_CPU, math.ceil(self.seconds)),
            (resource.RLIMIT_FSIZE, self.markdown),
            (resource.RLIMIT_NOFILE, OPEN_FILES),
            (resource.RLIMIT_CORE, 0),
        ):
            _, hard = resource.getrlimit(what)
            bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(what, (bound, bound))
        os.nice(NICE)


def main(arguments: Sequence[str]) -> int:
    """0 once it has printed its report."""
    kind, limits, source, target = arguments
    bounds = Bounds(**json.loads(limits))
    answer = _silenced()
    bounds.set()
    with os.fdopen(int(source), "rb") as file, os.fdopen(int(target), "wb") as markdown:
        report = converted(Kind(kind), file, markdown, bounds)
    os.write(answer, report.dumps())
    return 0


def converted(
    kind: Kind,
    source: BinaryIO,
    target: BinaryIO,
    bounds: Bounds,
    clock: Callable[[], float] = time.monotonic,
) -> Report:
    """Read `source` and write its Markdown to `target`; what came of it."""
    try:
        return _written(kind, source, target, bounds, clock)
    except Unreadable as error:
        return Report(problem=str(error))
    except ImportError as error:
        return Report(problem=NOT_INSTALLED, fault=str(error))
    except MemoryError:
        return Report(problem=TOO_LARGE)
    except RecursionError:
        return Report(problem=NESTED)
    except Exception as error:  # noqa: BLE001 - the bytes are a stranger's: parsers raise anything; it is reported
        return Report(problem=DAMAGED, fault=type(error).__name__)


def _written(
    kind: Kind, source: BinaryIO, target: BinaryIO, bounds: Bounds, clock: Callable[[], float]
) -> Report:
    until = clock() + bounds.soft_seconds
    notes: list[str] = []
    writer = MarkdownWriter(target, bounds.markdown)
    read: Reader = import_module(f"agent.uploads.documents.{READERS[kind]}").read
    for block in read(source, notes):
        if not writer.write(block):
            notes.append(CUT)
            break
        if clock() > until:
            notes.append(SLOW)
            break
    target.flush()
    if not writer.lines:
        raise Unreadable(NO_TEXT)
    return Report(notes=notes, headings=writer.headings, lines=writer.lines)


def _silenced() -> int:
    """Where the report goes; what libraries print or warn of goes nowhere."""
    answer = os.dup(sys.stdout.fileno())
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nothing, stream.fileno())
    os.close(nothing)
    return answer


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
