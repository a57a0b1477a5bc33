"""Addresses of links and buttons, as Telegram checks them."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv6Address

_SCHEMES = ("tg:", "ton:", "tonsite:")
_PROTOCOL = re.compile(r"([^:/?#@\[\]]*)://")
_END_OF_HOST = re.compile(r"[/?#]")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_PLAIN = re.compile(r"[A-Za-z0-9.\-_!$,~*'();&+=\x80-\U0010ffff]*")
_HOST_OF_SCHEME = re.compile(r"[A-Za-z0-9_-]*")


def find_link_error(address: str) -> str:
    """Return why Telegram refuses an address, or "" if it accepts it (tdlib: LinkManager::check_link_impl).

    An address without a protocol is one of HTTP; its host needs a dot. `tg:` has names of its own.
    """
    lowered = address.lower()
    scheme = next((one for one in _SCHEMES if lowered.startswith(one)), "")
    link = address[len(scheme) :].removeprefix("//") if scheme else address
    if error := find_url_error(link):
        return error
    host = _find_host(link)
    if scheme:
        return "" if _HOST_OF_SCHEME.fullmatch(host) else "Unallowed characters in URL host"
    return "" if "." in host or host.startswith("[") else "Wrong HTTP URL"


def find_url_error(url: str) -> str:
    """Return the problem with an HTTP URL, or "" if it is valid (tdutils: HttpUrl.cpp, parse_url)."""
    protocol = _PROTOCOL.match(url)
    if protocol and protocol[1].lower() not in ("http", "https"):
        return "Unsupported URL protocol"
    found, port_error = _split_port(_find_authority(url))
    user, _, host = found.rpartition("@")
    return port_error or _find_host_error(user, host)


def _find_authority(url: str) -> str:
    protocol = _PROTOCOL.match(url)
    return _END_OF_HOST.split(url[protocol.end() :] if protocol else url, maxsplit=1)[0]


def _find_host(url: str) -> str:
    return _split_port(_find_authority(url))[0].rpartition("@")[2]


def _split_port(authority: str) -> tuple[str, str]:
    """Return user and host without the port, and the problem with the port."""
    at = max(authority.rfind(mark) for mark in ":]@")
    if at <= 0 or authority[at] != ":":
        return authority, ""
    port = authority[at + 1 :]
    if not port.isdecimal() or not 0 < int(port) <= 65_535:
        return authority[:at], "Wrong port number specified in the URL"
    return authority[:at], ""


def _find_host_error(user: str, host: str) -> str:
    if host.startswith("[") and host.endswith("]"):
        return _find_address_error(host[1:-1])
    if host in ("", "."):
        return "Host is invalid" if host else "URL host is empty"
    for part, name in ((host, "host"), (user.replace(":", ""), "userinfo")):
        left = _ESCAPE.sub("", part)
        if "%" in left:
            return f"Wrong percent-encoded symbol in URL {name}"
        if not _PLAIN.fullmatch(left):
            return f"Disallowed character in URL {name}"
    return ""


def _find_address_error(address: str) -> str:
    try:
        IPv6Address(address)
    except AddressValueError:
        return "Wrong IPv6 address specified in the URL"
    return ""
