"""Ports for programs that can't choose a free one themselves."""

from __future__ import annotations

import os
import socket
from itertools import count

_FIRST, _COUNT = 20_000, 12_000
"""Below the ports that systems hand out for port 0: 32768 and above on Linux (ip(7), ip_local_port_range)."""
_next = count(os.getpid() * 7)


def free_port() -> int:
    """A port that nothing listens on now, and that no program gets which asks for any."""
    for number in _next:
        port = _FIRST + number % _COUNT
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("unreachable")
