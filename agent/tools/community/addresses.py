"""Which network addresses are of the public internet, and nobody's inside.

After the special-purpose registries of IANA (IPv4: RFC 6890 and later; IPv6: the same). What is not surely
public is refused; of IPv6 only 2000::/3 is given out to the public at all.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_PRIVATE_4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT; clouds keep their metadata there, too
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # a cloud's own services for its machines
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
        "2002::/16",  # 6to4: an IPv4 address inside
        "3fff::/20",  # documentation
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")
# The upper half of an interface id with an IPv4 address in the lower one (ISATAP, RFC 5214).
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})


def is_public(address: str) -> bool:
    """Whether the address is of the public internet; False for what is no address.

    Of a NAT64 address (64:ff9b::/96) the IPv4 address in it counts: behind a DNS64 every IPv4 site has one.
    Any other address with an IPv4 address inside (mapped, 6to4, Teredo, ISATAP) is refused.
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
