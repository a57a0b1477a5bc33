"""Keep requests for addresses that a model wrote out of internal networks.

A host is resolved, its addresses are checked, and the connection is made to one of them by number, so a DNS
answer that changes a moment later has no effect. Every request is checked, redirects too.

Public addresses follow the special-purpose registries of IANA (RFC 6890 and later). An address that is not
certainly public is refused; of IPv6, only 2000::/3 is assigned to the public.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import httpx

from agent.errors import WebFailed, WebRefused

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Resolves a host and port to addresses. Raises OSError."""
PORTS = frozenset({80, 443, 8000, 8080, 8443})
_DEFAULT_PORTS = {"http": 80, "https": 443}


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


@dataclass(frozen=True, slots=True)
class Guard:
    """Rules for requests: `permitted` checks an address; `ports` None allows all ports."""

    resolve: Resolve = resolve_host
    permitted: Callable[[str], bool] = is_public
    ports: frozenset[int] | None = PORTS

    async def addresses(self, url: httpx.URL) -> Sequence[str]:
        """Return the addresses of a URL's host, all permitted. Raises WebRefused or WebFailed."""
        host, port = self._split_host(url)
        try:
            found = await self.resolve(host, port)
        except (OSError, UnicodeError):
            raise WebFailed(f"the host {host} was not found") from None
        if not found:
            raise WebFailed(f"the host {host} was not found")
        if not all(self.permitted(address) for address in found):
            raise WebRefused(f"{host} is not on the public internet")
        return found

    def _split_host(self, url: httpx.URL) -> tuple[str, int]:
        """Return host and port. Raises WebRefused if the URL is not allowed."""
        if url.scheme not in _DEFAULT_PORTS or not url.host:
            raise WebRefused("only http and https addresses can be read")
        if url.userinfo:
            raise WebRefused("addresses that contain a user name can't be read")
        port = _DEFAULT_PORTS[url.scheme] if url.port is None else url.port
        if self.ports is not None and port not in self.ports:
            raise WebRefused(f"port {port} is not allowed")
        return url.raw_host.decode("ascii"), port


class PinnedTransport(httpx.AsyncBaseTransport):
    """Sends a request only to a permitted address of its host.

    The Host header and the TLS handshake have the host's name. `inner` must not keep connections, since it
    would reuse one to the same address for another name.
    """

    def __init__(self, guard: Guard, inner: httpx.AsyncBaseTransport) -> None:
        self._guard, self._inner = guard, inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Raises WebRefused or WebFailed."""
        addresses = await self._guard.addresses(request.url)
        host = request.url.raw_host.decode("ascii")
        for address in addresses[:-1]:
            try:
                return await self._inner.handle_async_request(_pin_request(request, host, address))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        return await self._inner.handle_async_request(_pin_request(request, host, addresses[-1]))

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


def _pin_request(request: httpx.Request, host: str, address: str) -> httpx.Request:
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": host},
    )


def parse_url(text: str) -> httpx.URL:
    """Parse a URL that a model wrote. Raises WebRefused."""
    try:
        return httpx.URL(text.strip())
    except httpx.InvalidURL:
        raise WebRefused("this is not a web address") from None
