"""Conversion of documents in child processes, two at a time, with limits on time and memory."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import structlog
from pydantic import TypeAdapter, ValidationError

from agent.core.interfaces import CommandResult
from agent.sandbox.options import MEGABYTE
from agent.uploads.documents.child import TOO_LARGE, Bounds
from agent.uploads.documents.kinds import DocumentKind
from agent.uploads.documents.limited_child import ChildRoom, is_too_slow, run_child
from agent.uploads.documents.report import DAMAGED, Report

log = structlog.get_logger(__name__)
MODULE = "agent.uploads.documents.child"
MAX_PARALLEL = 2
SOFT_SHARE = 0.7
TOO_SLOW = "Reading it took too long. Send it again when the machine is less busy, or send a smaller file."
BUSY = "Too many documents are being read right now; send it again later."
NOT_STARTED = "The document reader can't be started."
_REPORT = TypeAdapter(Report)
_room = ChildRoom(MAX_PARALLEL)


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
        try:
            async with _room.enter(self._limits.waiting_seconds):
                report = await self._run_child(source, kind, target, images)
        except TimeoutError:
            return Report(problem=BUSY)
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
        arguments = [kind.value, limits]
        return await run_child(MODULE, arguments, descriptors, self._limits.seconds)


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
    if is_too_slow(result):
        return Report(problem=TOO_SLOW)
    if result.exit_code == 0:
        with suppress(ValidationError):
            return _REPORT.validate_json(result.output)
    # A library that gets no memory often crashes the process.
    ended = result.exit_code is not None and result.exit_code < 0
    return Report(problem=TOO_LARGE if ended else DAMAGED, fault="ended" if ended else "no report")
