"""Protection of internal networks from sign-in requests, whose addresses the MCP server chooses.

The origin of the configured server is allowed as it is. Any other host has to be reached over https and to be
on the public internet, or to be named in the configuration.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import httpx

from agent.errors import McpUnavailable
from agent.shared.pinned_transport import PinnedTransport
from agent.shared.public_address import (
    HostNotFound,
    HostRefused,
    Permitted,
    Resolve,
    is_public,
    resolve_host,
    resolve_permitted,
)
from agent.shared.tls import tls_context


class GuardedTransport(httpx.AsyncBaseTransport):
    """Sends requests of a sign-in to `server` at `url`. Raises McpUnavailable for others.

    `inner` must not keep connections, since it would reuse one to the same address for another name.
    """

    def __init__(
        self,
        server: str,
        url: str,
        trusted: Collection[str] = (),
        *,
        inner: httpx.AsyncBaseTransport,
        resolve: Resolve = resolve_host,
        permitted: Permitted = is_public,
    ) -> None:
        self._server, self._origin = server, _origin(httpx.URL(url))
        self._trusted = frozenset(host.lower() for host in trusted)
        self._inner = inner
        self._resolve, self._permitted = resolve, permitted
        self._pinned = PinnedTransport(self._find_addresses, inner)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Raises McpUnavailable."""
        url = request.url
        if _origin(url) == self._origin or (url.scheme == "https" and url.host.lower() in self._trusted):
            return await self._inner.handle_async_request(request)
        if url.scheme != "https" or url.userinfo:
            raise self._refused(url)
        try:
            return await self._pinned.handle_async_request(request)
        except (HostNotFound, HostRefused):
            raise self._refused(url) from None

    async def _find_addresses(self, url: httpx.URL) -> Sequence[str]:
        host, port = url.raw_host.decode("ascii"), url.port or 443
        return await resolve_permitted(host, port, resolve=self._resolve, permitted=self._permitted)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _refused(self, url: httpx.URL) -> McpUnavailable:
        return McpUnavailable(
            f"refers to {url.host} for the sign-in, which is not a public https address. If it is right, add "
            "the host to `oauth.trusted_hosts`.",
            server=self._server,
        )


def make_sign_in_client(server: str, url: str, trusted: Collection[str], seconds: float) -> httpx.AsyncClient:
    """Create the HTTP client of a sign-in. Blocking: it reads the system's certificates."""
    inner = httpx.AsyncHTTPTransport(
        verify=tls_context(), limits=httpx.Limits(max_keepalive_connections=0), trust_env=False
    )
    transport = GuardedTransport(server, url, trusted, inner=inner)
    return httpx.AsyncClient(transport=transport, timeout=seconds, follow_redirects=False, trust_env=False)


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host.lower(), url.port
