"""The way to a platform: the environment's proxy, and the certificates that prove the server."""

from __future__ import annotations

import asyncio
import ssl
import urllib.request
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import certifi

from bot.errors import AccountRefused

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class NetworkRoute:
    """`proxy` is a URL or None; `tls` True means aiohttp's default context (the system's store)."""

    proxy: str | None = None
    tls: ssl.SSLContext | bool = True


async def find_route(base_url: str) -> NetworkRoute:
    """Return the route to an address, resolved in a thread. Raises AccountRefused for an unusable proxy.

    The environment is read once: aiohttp's `trust_env` reads it, and a netrc file, for every request.
    """
    return await asyncio.to_thread(_resolve_route, base_url)


def _resolve_route(base_url: str) -> NetworkRoute:
    return NetworkRoute(proxy_for(base_url), _tls_context() if urlsplit(base_url).scheme == "https" else True)


def proxy_for(base_url: str) -> str | None:
    """Return the environment's proxy for an address; None for loopback. Raises AccountRefused."""
    parts = urlsplit(base_url)
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


@cache
def _tls_context() -> ssl.SSLContext | bool:
    paths = ssl.get_default_verify_paths()
    if paths.cafile or (paths.capath and any(Path(paths.capath).iterdir())):
        return True
    return ssl.create_default_context(cafile=certifi.where())
