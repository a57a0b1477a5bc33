"""Grouping of client addresses, so that limits apply to a client rather than each of its addresses."""

from __future__ import annotations

import ipaddress
from typing import Final

IPV6_PREFIX: Final = 64
"""Providers assign at least this network to one customer, who can use every address in it."""


def address_group(host: str) -> str:
    """Return the group by which an address is counted.

    An IPv4 address stands for itself, also where it is written as IPv6; an IPv6 address stands for its /64
    network. Any other text is returned as it is, such as "" for a Unix socket.
    """
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, IPV6_PREFIX), strict=False))
