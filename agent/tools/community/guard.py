"""Keeps what a model wants to read from leading into the inner network.

A host is resolved, its addresses are judged, and the connection goes to one of them by number: a name that
answers otherwise a moment later leads nowhere else. Each request is judged anew, and so is a redirect.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import httpx

from agent.errors import WebFailed, WebRefused
from agent.tools.community.addresses import is_public

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host for a port. Raises OSError."""
PORTS = frozenset({80, 443, 8000, 8080, 8443})
_DEFAULT_PORTS = {"http": 80, "https": 443}


async def resolved(host: str, port: int) -> Sequence[str]:
    """What the system says; see `Resolve`."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True, slots=True)
class Guard:
    """What may be asked: `permitted` judges an address, `ports` None are all."""

    resolve: Resolve = resolved
    permitted: Callable[[str], bool] = is_public
    ports: frozenset[int] | None = PORTS

    async def addresses(self, url: httpx.URL) -> Sequence[str]:
        """Where the address leads, each of it permitted. Raises WebRefused or WebFailed."""
        host, port = self._place(url)
        try:
            found = await self.resolve(host, port)
        except (OSError, UnicodeError):
            raise WebFailed(f"the host {host} can't be found") from None
        if not found:
            raise WebFailed(f"the host {host} can't be found")
        if not all(self.permitted(address) for address in found):
            raise WebRefused(f"{host} is not on the public internet")
        return found

    def _place(self, url: httpx.URL) -> tuple[str, int]:
        """Host and port. Raises WebRefused for an address of another kind."""
        if url.scheme not in _DEFAULT_PORTS or not url.host:
            raise WebRefused("only http and https addresses can be read")
        if url.userinfo:
            raise WebRefused("addresses with a user name in them are not read")
        port = _DEFAULT_PORTS[url.scheme] if url.port is None else url.port
        if self.ports is not None and port not in self.ports:
            raise WebRefused(f"port {port} is none of the web's")
        return url.raw_host.decode("ascii"), port


class PinnedTransport(httpx.AsyncBaseTransport):
    """Sends a request to a permitted address of its host, and to nothing else.

    The name stays in the Host header and in the TLS handshake. `inner` keeps no connections: it would find
    them by address, and use one that was made for another name.
    """

    def __init__(self, guard: Guard, inner: httpx.AsyncBaseTransport) -> None:
        self._guard, self._inner = guard, inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """See httpx. Raises WebRefused or WebFailed, too."""
        addresses = await self._guard.addresses(request.url)
        host = request.url.raw_host.decode("ascii")
        for address in addresses[:-1]:
            try:
                return await self._inner.handle_async_request(_pinned(request, host, address))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        return await self._inner.handle_async_request(_pinned(request, host, addresses[-1]))

    async def aclose(self) -> None:
        """See httpx."""
        await self._inner.aclose()


def _pinned(request: httpx.Request, host: str, address: str) -> httpx.Request:
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": host},
    )


def checked_url(text: str) -> httpx.URL:
    """The address that a model wrote. Raises WebRefused."""
    try:
        return httpx.URL(text.strip())
    except httpx.InvalidURL:
        raise WebRefused("this is no web address") from None
