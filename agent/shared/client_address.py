"""The client address of a request, also behind reverse proxies that the configuration trusts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.types import Scope

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
FORWARDING_PREFIX: Final = b"x-forwarded"
FORWARDING_HEADERS: Final = frozenset(
    {b"forwarded", b"via", b"x-real-ip", b"x-client-ip", b"x-cluster-client-ip", b"true-client-ip"}
    | {b"x-original-forwarded-for", b"x-original-host", b"x-proxyuser-ip"}
    | {b"cf-connecting-ip", b"fastly-client-ip", b"fly-client-ip", b"x-envoy-external-address"}
)
CLIENT_KEY: Final = "roebot.client"
UNKNOWN: Final = "unknown"
"""Address of a connection that has none, such as a Unix socket."""


@dataclass(frozen=True, slots=True)
class ClientAddress:
    """The client of a request. `host` is an IP address or "unknown".

    `is_local` holds only for a direct connection from this machine: a request with forwarding headers is
    never local, whoever sent it. `is_secure`: the client used HTTPS, as far as trusted proxies say.
    """

    host: str
    is_local: bool
    is_secure: bool = False


class ClientAddresses:
    """Finds the client of each request; `trusted` are the networks of the reverse proxies."""

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        """Raises ValueError if an entry is neither an address nor a network."""
        self._trusted: Sequence[Network] = [parse_network(one) for one in trusted]

    def find_client(self, scope: Scope) -> ClientAddress:
        """Return the client: the peer, or behind trusted proxies the right-most hop that is not trusted."""
        peer = _parse_host((scope.get("client") or ("", 0))[0])
        is_secure = scope.get("scheme") == "https"
        headers: Sequence[tuple[bytes, bytes]] = scope["headers"]
        if not _is_forwarded(headers):
            is_local = peer is None or peer.is_loopback
            return ClientAddress(UNKNOWN if peer is None else str(peer), is_local, is_secure)
        if peer is None or not self._is_trusted(peer):
            return ClientAddress(UNKNOWN if peer is None else str(peer), is_local=False, is_secure=is_secure)
        found = peer
        for hop in _hops(headers):
            address = _parse_host(hop)
            if address is None:
                break
            found = address
            if not self._is_trusted(address):
                break
        return ClientAddress(str(found), is_local=False, is_secure=is_secure or _said_https(headers))

    def _is_trusted(self, address: Address) -> bool:
        return any(address in network for network in self._trusted)


def client_of(scope: Scope) -> ClientAddress:
    """Return the client determined by the guard, or else the connection's peer."""
    found: ClientAddress | None = scope.get(CLIENT_KEY)
    return found or ClientAddresses().find_client(scope)


def is_loopback(host: str) -> bool:
    """Return whether a server that listens on `host` is reachable only from this machine."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def parse_network(text: str) -> Network:
    """Return an address or network such as `10.0.0.0/8`. Raises ValueError."""
    return ip_network(text.strip().strip("[]"), strict=False)


def _is_forwarded(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    return any(name in FORWARDING_HEADERS or name.startswith(FORWARDING_PREFIX) for name, _ in headers)


def _hops(headers: Sequence[tuple[bytes, bytes]]) -> Iterator[str]:
    """Yield the addresses that proxies appended to `X-Forwarded-For`, nearest first.

    No other header is read: a proxy that writes one of them passes the others on as the client sent them.
    """
    yield from reversed(_values(headers, b"x-forwarded-for"))


def _said_https(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    schemes = _values(headers, b"x-forwarded-proto")
    return bool(schemes) and schemes[-1].strip().lower() == "https"


def _values(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [part for known, value in headers if known == name for part in value.decode("latin-1").split(",")]


@lru_cache(maxsize=1024)
def _parse_host(text: str) -> Address | None:
    """Return the address of `1.2.3.4`, `1.2.3.4:80`, `::1`, `[::1]` or `[::1]:80`; None for anything else."""
    host = text.strip()
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
