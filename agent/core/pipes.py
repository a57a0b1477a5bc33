"""Read a pipe by its file descriptor, which is closed exactly once.

`connect_read_pipe` cannot be used: uvloop 0.23 closes the descriptor twice, the second time possibly that of
a file that another thread opened meanwhile (github.com/MagicStack/uvloop/issues/763).
"""

from __future__ import annotations

import asyncio
import os

READ_BYTES = 65_536


class PipeReader:
    """Passes a pipe's data to a protocol; `connection_lost` follows its end or `close`."""

    def __init__(self, descriptor: int, protocol: asyncio.Protocol) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor: int | None = descriptor
        self._protocol = protocol
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._on_readable)

    def close(self) -> None:
        """Stop reading and close the descriptor."""
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
