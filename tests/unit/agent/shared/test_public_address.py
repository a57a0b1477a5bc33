"""Which addresses are public: every special range is refused at both its ends, its neighbours are not."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_network

import pytest
from hypothesis import given
from hypothesis.strategies import integers, sampled_from

from agent.shared.public_address import is_public

RANGES_4 = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
]


@pytest.mark.parametrize("text", RANGES_4)
def test_both_ends_of_a_special_range_are_refused(text: str) -> None:
    network = ip_network(text)
    assert not is_public(str(network[0]))
    assert not is_public(str(network[-1]))


@pytest.mark.parametrize(
    "address",
    [
        *(
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
        ),
        *("128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255"),
        *("192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700:4700::1111"),
        *("2001:4860:4860::8888", "2001:200::1", "2a00:1450:4001::200e", "64:ff9b::808:808"),
    ],
)
def test_the_public_internet(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *("::", "::1", "::7f00:1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:8.8.8.8"),
        *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b::10.0.0.1", "64:ff9b:1::808:808", "100::1"),
        *("2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:10::1", "2001:db8::1", "2002:7f00:1::"),
        *("2002:808:808::1", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0"),
        *("fec0::1", "ff02::1", "4000::1", "2a00::5efe:10.0.0.1", "2a00::200:5efe:8.8.8.8"),
        *("168.63.129.16", "169.254.169.254", "100.100.100.200", "192.0.0.192", "192.88.99.1"),
        *("255.255.255.255", "", "localhost", "127.1", "2130706433", "1.1.1.1 ", "1.1.1.1/32"),
    ],
)
def test_what_is_inside_or_no_address(address: str) -> None:
    assert not is_public(address)


@given(sampled_from(RANGES_4), integers(0, 2**32 - 1))
def test_an_ipv4_address_inside_is_refused_in_every_form(text: str, number: int) -> None:
    network = IPv4Network(text)
    inside = IPv4Address(int(network[0]) + number % network.num_addresses)
    nat64 = IPv6Address((0x64FF9B << 96) | int(inside))
    for form in (inside, IPv6Address(f"::ffff:{inside}"), IPv6Address(f"::{inside}"), nat64):
        assert not is_public(str(form))


@given(integers(0, 2**32 - 1))
def test_a_nat64_address_is_what_is_in_it(number: int) -> None:
    inside = IPv4Address(number)
    assert is_public(str(IPv6Address((0x64FF9B << 96) | number))) == is_public(str(inside))


@given(integers(0, 2**128 - 1))
def test_of_ipv6_only_the_given_out_part_is_public(number: int) -> None:
    address = IPv6Address(number)
    if is_public(str(address)):
        assert address in ip_network("2000::/3") or address in ip_network("64:ff9b::/96")
        assert address.is_global or address in ip_network("64:ff9b::/96")
