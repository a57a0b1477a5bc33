"""A pipe is read to its end, and its descriptor closed once: the number may be somebody else's by then."""

from __future__ import annotations

import asyncio
import gc
import os
from pathlib import Path

import pytest

import agent
from agent.shared.process import PIPE_BYTES, PipeReader


class Heard(asyncio.Protocol):
    """Keeps what comes."""

    def __init__(self) -> None:
        self.data = b""
        self.lost = 0

    def data_received(self, data: bytes) -> None:
        self.data += data

    def connection_lost(self, exc: Exception | None) -> None:
        assert exc is None
        self.lost += 1


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0.001)


async def test_it_is_read_to_its_end() -> None:
    reading, writing = os.pipe()
    heard = Heard()
    PipeReader(reading, heard)
    os.write(writing, b"one ")
    await turns()
    os.write(writing, b"x" * PIPE_BYTES)
    await turns()
    assert (heard.data, heard.lost) == (b"one " + b"x" * PIPE_BYTES, 0)
    os.close(writing)
    await turns()
    assert heard.lost == 1


@pytest.mark.parametrize("ended", [True, False])
async def test_the_descriptor_is_closed_once(ended: bool) -> None:
    reading, writing = os.pipe()
    heard = Heard()
    reader = PipeReader(reading, heard)
    if ended:
        os.close(writing)
        await turns()
    reader.close()
    others = os.pipe()
    assert reading in others, "the number is used again at once"
    reader.close()
    del reader
    gc.collect()
    await turns()
    for descriptor in others:
        os.fstat(descriptor)
        os.close(descriptor)
    if not ended:
        os.close(writing)
    assert heard.lost == 1


async def test_after_the_end_nothing_is_heard() -> None:
    reading, writing = os.pipe()
    heard = Heard()
    PipeReader(reading, heard).close()
    with pytest.raises(BrokenPipeError):
        os.write(writing, b"late")
    os.close(writing)
    await turns()
    assert (heard.data, heard.lost) == (b"", 1)


def test_nothing_in_the_service_reads_pipes_otherwise() -> None:
    root = Path(agent.__file__).parent
    found = [
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if ".connect_read_pipe(" in path.read_text()
    ]
    # It runs alone, on asyncio's own loop, and its pipe is never closed before the process ends.
    assert found == ["acp_server/serve.py"]
