"""Resolution of host names to permitted addresses, by default those on the public internet.

A host is resolved once and all of its addresses are checked. Callers connect to one of them by number, so a
DNS answer that changes a moment later has no effect.

Public addresses follow the special-purpose registries of IANA (RFC 6890 and later). An address that is not
certainly public is refused; of IPv6, only 2000::/3 is assigned to the public.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Resolves a host and port to addresses. Raises OSError."""
Permitted = Callable[[str], bool]
"""Returns whether an address may be connected to."""


class HostNotFound(Exception):
    """The host has no address."""


class NamesUnavailable(HostNotFound):
    """No name server responds, so whether the host exists is unknown; usually the network is down."""


class HostRefused(Exception):
    """At least one address of the host is not permitted."""


_PRIVATE_4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT, and metadata of some clouds
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # cloud services for virtual machines
        "169.254.0.0/16",  # link-local, and the metadata of clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_PUBLIC_6 = IPv6Network("2000::/3")
_PRIVATE_6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, contains an IPv4 address
        "3fff::/20",  # documentation
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")
# Upper half of an interface id with an IPv4 address in the lower half (ISATAP, RFC 5214).
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})


def is_public(address: str) -> bool:
    """Return whether an address is on the public internet; False if it is invalid.

    A NAT64 address (64:ff9b::/96) is judged by the IPv4 address in it, since every IPv4 site has one behind a
    DNS64. Other addresses that contain an IPv4 address (mapped, 6to4, Teredo, ISATAP) are refused.
    """
    try:
        found = ip_address(address)
    except ValueError:
        return False
    if isinstance(found, IPv4Address):
        return _is_public_4(found)
    if found in _NAT64:
        return _is_public_4(IPv4Address(int(found) & 0xFFFF_FFFF))
    return _is_public_6(found)


def _is_public_4(address: IPv4Address) -> bool:
    return not any(address in network for network in _PRIVATE_4)


def _is_public_6(address: IPv6Address) -> bool:
    if address not in _PUBLIC_6 or any(address in network for network in _PRIVATE_6):
        return False
    return (int(address) >> 32) & 0xFFFF_FFFF not in _ISATAP


async def resolve_host(host: str, port: int) -> Sequence[str]:
    """Resolve a host with the system's resolver."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def resolve_permitted(host: str, port: int, *, resolve: Resolve, permitted: Permitted) -> Sequence[str]:
    """Return a host's addresses, all of them permitted. Raises HostNotFound or HostRefused.

    One address that is not permitted refuses the host: its name server must not choose what is checked.
    """
    try:
        found = await resolve(host, port)
    except (OSError, UnicodeError) as error:
        # glibc's resolver returns this if no server answers, and EAI_NONAME for a name that does not exist.
        is_silent = getattr(error, "errno", None) == socket.EAI_AGAIN
        raise (NamesUnavailable if is_silent else HostNotFound)(host) from None
    if not found:
        raise HostNotFound(host)
    if not all(permitted(address) for address in found):
        raise HostRefused(host)
    return found
