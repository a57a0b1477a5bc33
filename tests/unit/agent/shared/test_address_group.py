"""Addresses are grouped so that one client is counted once."""

from __future__ import annotations

import pytest

from agent.shared.address_group import address_group


@pytest.mark.parametrize(
    ("host", "group"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::9]", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("testclient", "testclient"),
    ],
)
def test_an_address_has_a_group(host: str, group: str) -> None:
    assert address_group(host) == group


def test_networks_of_different_customers_are_apart() -> None:
    assert address_group("2001:db8:0:1::1") != address_group("2001:db8:0:2::1")
