"""Conversion of documents in child processes, two at a time, with limits on time and memory."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

import structlog
from pydantic import TypeAdapter, ValidationError

from agent.core.interfaces import CommandResult
from agent.sandbox.options import MEGABYTE, SandboxLimits
from agent.sandbox.running import run
from agent.shared.process import ProgramStart
from agent.uploads.documents.child import TOO_LARGE, Bounds
from agent.uploads.documents.kinds import DocumentKind
from agent.uploads.documents.report import DAMAGED, Report

log = structlog.get_logger(__name__)
ROOT = Path(__file__).parents[3]
"""Folder of the package `agent`."""
MAX_PARALLEL = 2
SOFT_SHARE = 0.7
REPORT_BYTES = 200_000
TOO_SLOW = "Reading it takes too long."
BUSY = "Too many documents are being read right now; send it again later."
NOT_STARTED = "The document reader can't be started."
_REPORT = TypeAdapter(Report)
_SIGXCPU = -24
_rooms: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class ConvertLimits:
    """Limits of one document: `seconds` to read it, `waiting_seconds` in the queue, `memory_mb` of the
    process, and stored `markdown_bytes` and `picture_bytes`.
    """

    seconds: float = 30.0
    waiting_seconds: float = 30.0
    memory_mb: int = 1_000
    markdown_bytes: int = 2_000_000
    picture_bytes: int = 10_000_000

    def bounds(self) -> Bounds:
        """Return the limits of the child process."""
        memory = self.memory_mb * MEGABYTE
        soft = self.seconds * SOFT_SHARE
        return Bounds(self.seconds, soft, memory, self.markdown_bytes, self.picture_bytes)


class Converter:
    """Converts documents to Markdown, at most `MAX_PARALLEL` at a time per event loop."""

    def __init__(self, limits: ConvertLimits | None = None) -> None:
        self._limits = limits or ConvertLimits()

    async def convert(
        self, source: Path, kind: DocumentKind, target: Path, pictures: Path | None = None
    ) -> Report:
        """Read `source` and write its Markdown to the new file `target`, its images to `pictures`.

        They exist only on success; without `pictures` no image is kept. Raises nothing: the report names the
        problem.
        """
        images = pictures or target.with_suffix(".pictures")
        room = _rooms.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(MAX_PARALLEL))
        try:
            async with asyncio.timeout(self._limits.waiting_seconds):
                await room.acquire()
        except TimeoutError:
            return Report(problem=BUSY)
        try:
            report = await self._run_child(source, kind, target, images)
        finally:
            room.release()
        kept: tuple[Path | None, ...] = () if report.problem else (target, pictures)
        for path in (target, images):
            if path not in kept:
                await asyncio.to_thread(path.unlink, missing_ok=True)
        return report

    async def _run_child(self, source: Path, kind: DocumentKind, target: Path, images: Path) -> Report:
        descriptors: Sequence[int] = ()
        try:
            descriptors = await asyncio.to_thread(_open_files, source, target, images)
            result = await self._run(kind, descriptors)
        except OSError as error:
            log.warning("document_not_read", kind=kind.value, problem=type(error).__name__)
            return Report(problem=NOT_STARTED)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        report = _parse_report(result)
        if report.fault or result.exit_code:
            log.warning(
                "document_not_read", kind=kind.value, problem=report.fault, exit_code=result.exit_code
            )
        return report

    async def _run(self, kind: DocumentKind, descriptors: Sequence[int]) -> CommandResult:
        limits = json.dumps(asdict(self._limits.bounds()))
        words = [sys.executable, "-m", "agent.uploads.documents.child", kind.value, limits]
        # Numeric libraries would reserve memory for each thread.
        env = {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        start = ProgramStart([*words, *map(str, descriptors)], env, cwd=ROOT, fds=descriptors)
        limits_of_run = SandboxLimits(
            seconds=self._limits.seconds, output_bytes=REPORT_BYTES, flood_bytes=REPORT_BYTES
        )
        return await run(start, limits_of_run)


def _open_files(source: Path, *targets: Path) -> Sequence[int]:
    opened = [os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)]
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        opened += [os.open(target, flags, 0o600) for target in targets]
    except OSError:
        for descriptor in opened:
            os.close(descriptor)
        raise
    return opened


def _parse_report(result: CommandResult) -> Report:
    """Return the process's report, or one that explains how it exited."""
    if result.timed_out or result.exit_code == _SIGXCPU:
        return Report(problem=TOO_SLOW)
    if result.exit_code == 0:
        with suppress(ValidationError):
            return _REPORT.validate_json(result.output)
    # A library that gets no memory often crashes the process.
    ended = result.exit_code is not None and result.exit_code < 0
    return Report(problem=TOO_LARGE if ended else DAMAGED, fault="ended" if ended else "no report")
