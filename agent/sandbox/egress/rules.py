"""Rules for a sandbox's connections: host names, ports, and the addresses behind the names.

Targets are names. An IP address is refused in every spelling, since a name that resolves to a checked address
says the same, and a spelling that two programs read differently gets past a check.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from agent.shared.public_address import (
    HostNotFound,
    HostRefused,
    Permitted,
    Resolve,
    is_public,
    resolve_host,
    resolve_permitted,
)

HTTP_PORT = 80
PORTS = frozenset({HTTP_PORT, 443})
RESOLVE_SECONDS = 10.0
MAX_NAME = 253
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
# Resolvers interpret a name whose last label starts with a digit as an address: 127.1, 0x7f.1, 2130706433.
_NAME = re.compile(rf"(?:{_LABEL}\.)*[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9])?")
_AUTHORITY = re.compile(r"([^:/?#@\[\]\s]+)(?::([0-9]{1,5}))?")
_PRIVATE_4 = tuple(map(IPv4Network, ("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16")))
_PRIVATE_6 = IPv6Network("fc00::/7")
# Metadata services of clouds inside of private ranges.
_METADATA = frozenset(map(ip_address, ("100.100.100.200", "fd00:ec2::254")))
Network = IPv4Network | IPv6Network


class EgressError(Exception):
    """A rejected request: the HTTP status and reason of the response."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass(frozen=True, slots=True)
class EgressTarget:
    """A lower-case host name without a final dot, and a port."""

    host: str
    port: int

    @property
    def authority(self) -> str:
        """Return the value of a Host header for plain HTTP."""
        return self.host if self.port == HTTP_PORT else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class AllowedHost:
    """A host name, or a suffix of names if `subdomains`; `port` None means the default ports."""

    name: str
    subdomains: bool = False
    port: int | None = None

    def covers(self, target: EgressTarget) -> bool:
        """Return whether the target's name matches, whatever the port."""
        return target.host.endswith(f".{self.name}") if self.subdomains else target.host == self.name


@dataclass(frozen=True, slots=True)
class EgressRules:
    """Rules for the connections of a sandbox.

    `hosts` None: every host whose addresses are `permitted`. Hosts in the list may also have an address in
    one of the private `networks`.
    """

    hosts: Sequence[AllowedHost] | None = None
    networks: Sequence[Network] = ()
    ports: frozenset[int] = PORTS
    resolve: Resolve = resolve_host
    permitted: Permitted = is_public

    async def find_addresses(self, target: EgressTarget) -> Sequence[str]:
        """Return the addresses of the target, all permitted. Raises EgressError."""
        self._check_name(target)
        try:
            async with asyncio.timeout(RESOLVE_SECONDS):
                return await resolve_permitted(
                    target.host, target.port, resolve=self.resolve, permitted=self._is_permitted
                )
        except (HostNotFound, TimeoutError):
            raise EgressError(502, f"{target.host} was not found") from None
        except HostRefused:
            raise EgressError(403, f"{target.host} is not on the public internet") from None

    def _check_name(self, target: EgressTarget) -> None:
        ports = self.ports
        if self.hosts is not None:
            covering = [host for host in self.hosts if host.covers(target)]
            if not covering:
                raise EgressError(403, f"{target.host} is not an allowed host")
            ports = frozenset().union(*({one.port} if one.port else ports for one in covering))
        if target.port not in ports:
            raise EgressError(403, f"port {target.port} is not allowed")

    def _is_permitted(self, address: str) -> bool:
        if self.permitted(address):
            return True
        try:
            found = ip_address(address)
        except ValueError:
            return False
        return found not in _METADATA and any(found in network for network in self.networks)


def parse_target(authority: str, default_port: int | None = None) -> EgressTarget:
    """Parse `host:port`. Raises EgressError."""
    found = _AUTHORITY.fullmatch(authority)
    port = int(found[2]) if found and found[2] else default_port
    if found is None or port is None or not 0 < port < 65_536:
        raise EgressError(400, "the target must be a host name and a port")
    host = found[1].lower().removesuffix(".")
    if len(host) > MAX_NAME or not _NAME.fullmatch(host):
        raise EgressError(403, "only host names are allowed, not IP addresses")
    return EgressTarget(host, port)


def parse_hosts(entries: Iterable[str]) -> EgressRules:
    """Parse a list of hosts, as in `sandbox.network`. Raises ValueError."""
    hosts: list[AllowedHost] = []
    networks: list[Network] = []
    for entry in entries:
        if (network := _parse_network(entry)) is not None:
            networks.append(network)
        else:
            hosts.append(_parse_host(entry))
    if not hosts:
        raise ValueError("expected at least one host name")
    return EgressRules(tuple(hosts), tuple(networks))


def _parse_host(entry: str) -> AllowedHost:
    try:
        target = parse_target(entry.removeprefix("*."), default_port=1)
    except EgressError:
        raise ValueError(f"expected a host such as example.org or *.example.org, not {entry!r}") from None
    port = target.port if ":" in entry else None
    return AllowedHost(target.host, entry.startswith("*."), port)


def _parse_network(entry: str) -> Network | None:
    """Return the network in an entry, or None if it is a host name. Raises ValueError."""
    try:
        network = ip_network(entry)
    except ValueError:
        return None
    if not _is_private(network):
        raise ValueError(f"{entry} is not a private network; list host names instead")
    return network


def _is_private(network: Network) -> bool:
    if isinstance(network, IPv6Network):
        return network.subnet_of(_PRIVATE_6)
    return any(network.subnet_of(private) for private in _PRIVATE_4)
