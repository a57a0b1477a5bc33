"""Places for connections: limits per address and in total, and whose place a new connection takes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from agent.shared.connection_table import ConnectionLimits, ConnectionTable

LIMITS = ConnectionLimits(total=4, per_address=2)


class Peer:
    """A connection that is idle unless `busy`, and that expires when told."""

    def __init__(self, address: str, *, busy: bool = False, expiry: str = "") -> None:
        self.address = address
        self.busy = busy
        self.expiry = expiry
        self.closed_for = ""

    def has_request(self, now: float) -> bool:
        return self.busy

    def find_expiry(self, now: float) -> str:
        return self.expiry

    def close_for(self, reason: str) -> None:
        self.closed_for = reason


Enter = Callable[..., Peer]


@pytest.fixture
async def table() -> AsyncIterator[ConnectionTable]:
    made = ConnectionTable(LIMITS, is_proxy=lambda address: address == "10.0.0.1")
    yield made
    for one in list(made._open):
        made.remove(one)


@pytest.fixture
def enter(table: ConnectionTable) -> Enter:
    def add(host: str, *, busy: bool = False, admitted: bool = True) -> Peer:
        peer = Peer(table.group_of(host), busy=busy)
        assert table.admit(peer, 0.0) is admitted
        return peer

    return add


@pytest.mark.guard(
    "a connection with a request in progress is not closed for another",
    "agent/shared/connection_table.py",
    "next((one for one in among if not one.has_request(now)), None)",
    "next(iter(among), None)",
    against="many connections",
)
async def test_the_oldest_idle_connection_of_an_address_makes_room(
    table: ConnectionTable, enter: Enter
) -> None:
    busy, idle, other = enter("192.0.2.1", busy=True), enter("192.0.2.1"), enter("192.0.2.2")
    enter("192.0.2.1")
    assert (busy.closed_for, idle.closed_for, other.closed_for) == ("", "per_address", "")
    assert len(table) == 3


async def test_an_address_without_an_idle_connection_is_refused_another(
    table: ConnectionTable, enter: Enter
) -> None:
    busy = [enter("192.0.2.1", busy=True) for _ in range(2)]
    enter("192.0.2.1", admitted=False)
    assert not any(one.closed_for for one in busy)
    enter("192.0.2.2")
    assert table.closed == {"refused": 1}


async def test_addresses_of_one_network_share_their_limit(table: ConnectionTable, enter: Enter) -> None:
    first = enter("2001:db8::1")
    enter("2001:db8::2")
    enter("2001:db8::3")
    assert first.closed_for == "per_address"


async def test_a_full_table_makes_room_where_most_connections_are(
    table: ConnectionTable, enter: Enter
) -> None:
    alone = enter("192.0.2.1")
    crowd = [enter("192.0.2.2"), enter("192.0.2.2")]
    enter("192.0.2.3")
    enter("192.0.2.4")
    assert alone.closed_for == ""
    assert [one.closed_for for one in crowd] == ["total", ""]
    assert len(table) == LIMITS.total


async def test_a_full_table_of_busy_connections_refuses_another(table: ConnectionTable, enter: Enter) -> None:
    busy = [enter(f"192.0.2.{n}", busy=True) for n in range(4)]
    enter("192.0.2.9", admitted=False)
    assert not any(one.closed_for for one in busy)


async def test_a_proxy_has_no_limit_of_its_own(table: ConnectionTable, enter: Enter) -> None:
    assert not any(one.closed_for for one in [enter("10.0.0.1") for _ in range(4)])
    assert len(table) == 4


async def test_a_closed_connection_releases_its_place_once(table: ConnectionTable, enter: Enter) -> None:
    first = enter("192.0.2.1", busy=True)
    enter("192.0.2.1", busy=True)
    table.remove(first)
    table.remove(first)
    enter("192.0.2.1", busy=True)
    assert len(table) == 2


async def test_an_expired_connection_is_closed_within_the_interval() -> None:
    table = ConnectionTable(ConnectionLimits(header_seconds=0.04))
    slow, good = Peer("192.0.2.1", expiry="headers"), Peer("192.0.2.2")
    assert table.admit(slow, 0.0)
    assert table.admit(good, 0.0)
    await asyncio.sleep(0.03)
    assert (slow.closed_for, good.closed_for) == ("headers", "")
    table.remove(slow)
    table.remove(good)
    assert table.closed["headers"] >= 1
