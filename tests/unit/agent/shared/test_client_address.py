"""Where a request comes from: headers count only behind a trusted proxy, and end all locality."""

from __future__ import annotations

from typing import Any

import pytest

from agent.shared.client_address import ClientAddress, ClientAddresses, client_of, is_loopback, parse_network

PROXIES = ("127.0.0.1", "10.0.0.0/8", "fd00::/8")


def request(peer: str | None, **headers: str | list[str]) -> dict[str, Any]:
    """A request from `peer`; `x_forwarded_for` is the header of that name, once per item of a list."""
    pairs = [
        (name.replace("_", "-").encode(), one.encode("latin-1"))
        for name, value in headers.items()
        for one in ([value] if isinstance(value, str) else value)
    ]
    return {"type": "http", "client": (peer, 1) if peer else None, "headers": pairs, "scheme": "http"}


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1", None])
def test_a_direct_connection_from_this_machine_is_local(peer: str | None) -> None:
    assert ClientAddresses(PROXIES).find_client(request(peer, host="x")).is_local


@pytest.mark.guard(
    "a request with forwarding headers is not local",
    "agent/shared/client_address.py",
    "        if not _is_forwarded(headers):",
    "        if True:",
    against="forged addresses",
)
@pytest.mark.parametrize(
    "name",
    [
        "forwarded",
        "x_forwarded_for",
        "x_forwarded_host",
        "x_forwarded_proto",
        "x_forwarded_anything",
        "x_real_ip",
        "x_client_ip",
        "via",
        "true_client_ip",
        "cf_connecting_ip",
    ],
)
@pytest.mark.parametrize("trusted", [(), PROXIES])
def test_a_forwarding_header_ends_locality(name: str, trusted: tuple[str, ...]) -> None:
    for value in ("127.0.0.1", "for=127.0.0.1", ""):
        assert not ClientAddresses(trusted).find_client(request("127.0.0.1", **{name: value})).is_local


@pytest.mark.guard(
    "the right-most hop counts",
    "agent/shared/client_address.py",
    'yield from reversed(_values(headers, b"x-forwarded-for"))',
    'yield from _values(headers, b"x-forwarded-for")',
    against="forged addresses",
)
@pytest.mark.parametrize(
    ("peer", "header", "found"),
    [
        ("127.0.0.1", "192.0.2.7", "192.0.2.7"),
        ("127.0.0.1", "192.0.2.66, 192.0.2.7", "192.0.2.7"),
        ("127.0.0.1", "192.0.2.7, 10.1.2.3", "192.0.2.7"),
        ("127.0.0.1", "127.0.0.1, 192.0.2.7, 10.1.2.3, 10.1.2.4", "192.0.2.7"),
        ("127.0.0.1", ["192.0.2.66", "192.0.2.7"], "192.0.2.7"),
        ("127.0.0.1", "192.0.2.7:4711", "192.0.2.7"),
        ("127.0.0.1", "[2001:db8::7]:4711", "2001:db8::7"),
        ("127.0.0.1", "::ffff:192.0.2.7", "192.0.2.7"),
        ("fd00::1", "2001:db8::7", "2001:db8::7"),
        ("::ffff:10.1.2.3", "192.0.2.7", "192.0.2.7"),
        ("127.0.0.1", "10.1.2.3", "10.1.2.3"),
        ("127.0.0.1", "192.0.2.7, unknown", "127.0.0.1"),
        ("127.0.0.1", "192.0.2.7, unknown, 10.1.2.3", "10.1.2.3"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("192.0.2.1", "192.0.2.7", "192.0.2.1"),
        ("192.0.2.1", "127.0.0.1", "192.0.2.1"),
        (None, "192.0.2.7", "unknown"),
    ],
)
def test_the_right_most_hop_that_is_no_proxy_is_the_client(
    peer: str | None, header: str | list[str], found: str
) -> None:
    client = ClientAddresses(PROXIES).find_client(request(peer, x_forwarded_for=header))
    assert (client.host, client.is_local) == (found, False)


@pytest.mark.guard(
    "headers count only from trusted proxies",
    "agent/shared/client_address.py",
    "        if peer is None or not self._is_trusted(peer):",
    "        if peer is None:",
    against="forged addresses",
)
def test_without_trusted_proxies_headers_name_nobody() -> None:
    headers = {"x_forwarded_for": "192.0.2.7", "x_real_ip": "192.0.2.7", "x_forwarded_proto": "https"}
    found = ClientAddresses().find_client(request("127.0.0.1", **headers))
    assert found == ClientAddress("127.0.0.1", is_local=False, is_secure=False)


def test_only_a_trusted_proxy_says_https() -> None:
    for peer, secure in (("127.0.0.1", True), ("192.0.2.1", False)):
        found = ClientAddresses(PROXIES).find_client(request(peer, x_forwarded_proto="https"))
        assert found.is_secure is secure
    assert ClientAddresses().find_client({**request("192.0.2.1"), "scheme": "https"}).is_secure


def test_a_request_that_no_guard_has_seen_has_its_own_address() -> None:
    assert client_of(request("192.0.2.7", x_forwarded_for="192.0.2.8")).host == "192.0.2.7"


@pytest.mark.parametrize("text", ["localhost", "10.0.0.0/40", "*", "", "bot.example.org"])
def test_names_are_no_networks(text: str) -> None:
    with pytest.raises(ValueError, match=r"^'"):
        parse_network(text)


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("[::1]", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("x", False),
    ],
)
def test_which_addresses_only_this_machine_reaches(host: str, local: bool) -> None:
    assert is_loopback(host) is local
