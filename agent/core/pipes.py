"""Reads a pipe by its descriptor, which is closed once.

`connect_read_pipe` is of no use here: uvloop 0.23 closes the descriptor twice, the second time maybe that
of a file that another thread opened meanwhile (github.com/MagicStack/uvloop/issues/763).
"""

from __future__ import annotations

import asyncio
import os

READ_BYTES = 65_536


class PipeReader:
    """Hands a protocol what comes through a pipe; `connection_lost` follows its end, or `close`."""

    def __init__(self, descriptor: int, protocol: asyncio.Protocol) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor: int | None = descriptor
        self._protocol = protocol
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._on_readable)

    def close(self) -> None:
        """Read no more, and let the descriptor go."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        if not self._loop.is_closed():
            self._loop.remove_reader(descriptor)
            self._loop.call_soon(self._protocol.connection_lost, None)
        os.close(descriptor)

    def _on_readable(self) -> None:
        if self._descriptor is None:
            return
        try:
            data = os.read(self._descriptor, READ_BYTES)
        except BlockingIOError:
            return
        if data:
            self._protocol.data_received(data)
        else:
            self.close()
