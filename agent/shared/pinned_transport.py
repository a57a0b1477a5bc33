"""HTTP requests to an address that was checked, so that a DNS answer that changes a moment later has no
effect.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import httpx

FindAddresses = Callable[[httpx.URL], Awaitable[Sequence[str]]]
"""Returns the addresses of a URL's host, all permitted; raises if there are none or one is not."""


class PinnedTransport(httpx.AsyncBaseTransport):
    """Connects by number to the addresses of a request's host, in turn until one responds.

    The Host header and the TLS handshake have the host's name. `inner` must not keep connections, since it
    would reuse one to the same address for another name.
    """

    def __init__(self, find_addresses: FindAddresses, inner: httpx.AsyncBaseTransport) -> None:
        self._find_addresses, self._inner = find_addresses, inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Raises the errors of `find_addresses`."""
        addresses = await self._find_addresses(request.url)
        host = request.url.raw_host.decode("ascii")
        for address in addresses[:-1]:
            try:
                return await self._inner.handle_async_request(_pin_request(request, host, address))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        return await self._inner.handle_async_request(_pin_request(request, host, addresses[-1]))

    async def aclose(self) -> None:
        await self._inner.aclose()


def _pin_request(request: httpx.Request, host: str, address: str) -> httpx.Request:
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": host},
    )
