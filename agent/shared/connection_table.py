"""Count the connections of an HTTP server, close those that keep it waiting, and make room for new ones.

A new connection beyond a limit takes the place of the oldest one that has no request in progress, so that
connections held open by one client do not keep others out.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from agent.shared.address_group import address_group

MAX_SWEEP_INTERVAL: Final = 1.0
"""Longest time between two checks of all connections (s)."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits on connections before and during a request; times in seconds, sizes in bytes.

    - `total`, `per_address`: open connections, of everybody and of one address.
    - `header_seconds`, `header_bytes`: time and size of a request's headers. An idle connection is closed
      after the same time.
    - `body_seconds`: time for a body; each `body_rate` bytes of it add a second, except on routes that accept
      requests without a credential.
    - `response_seconds`: time that a client may take before it reads more of a response.
    """

    total: int = 512
    per_address: int = 100
    header_seconds: float = 10.0
    header_bytes: int = 65_536
    body_seconds: float = 20.0
    body_rate: int = 1_024
    response_seconds: float = 60.0


class HeldConnection(Protocol):
    """An open connection, as the table sees it."""

    address: str

    def has_request(self, now: float) -> bool:
        """Return whether it serves a request, so that it must not be closed to make room."""
        ...

    def find_expiry(self, now: float) -> str:
        """Return the limit that it exceeds, "" if none."""
        ...

    def close_for(self, reason: str) -> None:
        """Close the connection because of this limit."""
        ...


def _never(_address: str) -> bool:
    return False


class ConnectionTable:
    """The open connections of one server.

    `is_proxy` tells addresses that stand for many clients; they are exempt from the limit per address.
    `closed` counts the connections that a limit closed, by the name of the limit.
    """

    def __init__(self, limits: ConnectionLimits, *, is_proxy: Callable[[str], bool] = _never) -> None:
        self.limits = limits
        self.closed: Counter[str] = Counter()
        self._is_proxy = is_proxy
        self._by_address: dict[str, dict[HeldConnection, None]] = {}
        self._open: dict[HeldConnection, None] = {}
        self._sweep: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._open)

    def group_of(self, host: str) -> str:
        """Return the group that a peer's address is counted in, "" for one without a limit of its own."""
        return "" if self._is_proxy(host) else address_group(host)

    def admit(self, connection: HeldConnection, now: float) -> bool:
        """Add a connection and return True, or return False if there is no room and none can be made."""
        peers = self._by_address.get(connection.address, {})
        is_full_here = bool(connection.address) and len(peers) >= self.limits.per_address
        if is_full_here and not self._evict(peers, "per_address", now):
            self.closed["refused"] += 1
            return False
        if len(self._open) >= self.limits.total and not self._make_room(now):
            self.closed["refused"] += 1
            return False
        self._open[connection] = None
        self._by_address.setdefault(connection.address, {})[connection] = None
        if self._sweep is None:
            self._schedule_sweep()
        return True

    def remove(self, connection: HeldConnection) -> None:
        """Remove a connection that has closed; one that was not admitted is ignored."""
        if connection not in self._open:
            return
        del self._open[connection]
        peers = self._by_address[connection.address]
        del peers[connection]
        if not peers:
            del self._by_address[connection.address]
        if not self._open and self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None

    def _make_room(self, now: float) -> bool:
        """Close a connection of the address that holds the most, or else the oldest one without a request."""
        clients = (peers for address, peers in self._by_address.items() if address)
        most = max(clients, key=len, default={})
        return self._evict(most, "total", now) or self._evict(self._open, "total", now)

    def _evict(self, among: Iterable[HeldConnection], reason: str, now: float) -> bool:
        oldest = next((one for one in among if not one.has_request(now)), None)
        if oldest is None:
            return False
        self._close(oldest, reason)
        self.remove(oldest)
        return True

    def _close(self, connection: HeldConnection, reason: str) -> None:
        self.closed[reason] += 1
        connection.close_for(reason)

    def _schedule_sweep(self) -> None:
        interval = min(MAX_SWEEP_INTERVAL, self.limits.header_seconds / 4)
        self._sweep = asyncio.get_running_loop().call_later(interval, self._close_expired)

    def _close_expired(self) -> None:
        now = asyncio.get_running_loop().time()
        for connection in list(self._open):
            if reason := connection.find_expiry(now):
                self._close(connection, reason)
        self._sweep = None
        if self._open:
            self._schedule_sweep()
