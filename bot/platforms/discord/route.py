"""The proxy on the way to Discord: the environment names it, loopback never needs one."""

from __future__ import annotations

import urllib.request
from urllib.parse import urlsplit

from bot.errors import AccountRefused

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def proxy_for(address: str) -> str | None:
    """The proxy that the environment names for this address (never for loopback). Raises AccountRefused."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    proxies = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if host in _LOOPBACK or not proxy or urllib.request.proxy_bypass(host):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    scheme = urlsplit(proxy).scheme
    if scheme not in ("http", "https"):
        raise AccountRefused(
            f"the environment names a {scheme} proxy for {host}: only HTTP proxies are supported"
        )
    return proxy
