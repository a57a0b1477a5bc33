"""Protection of internal networks from requests to addresses written by a model.

A host is resolved and its addresses are checked, for every request, redirects too. The connection is made to
one of them (`PinnedTransport`).

No proxy is supported, since it would resolve the name itself. Addresses that are refused here are not passed
to external services either, which may run in the same network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import httpx

from agent.errors import WebFailed, WebRefused
from agent.shared.public_address import (
    HostNotFound,
    HostRefused,
    NamesUnavailable,
    Permitted,
    Resolve,
    is_public,
    resolve_host,
    resolve_permitted,
)

PORTS = frozenset({80, 443, 8000, 8080, 8443})
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Guard:
    """Rules for requests: `permitted` checks an address; `ports` None allows all ports."""

    resolve: Resolve = resolve_host
    permitted: Permitted = is_public
    ports: frozenset[int] | None = PORTS

    async def addresses(self, url: httpx.URL) -> Sequence[str]:
        """Return the addresses of a URL's host, all permitted. Raises WebRefused or WebFailed."""
        host, port = self._split_host(url)
        try:
            return await resolve_permitted(host, port, resolve=self.resolve, permitted=self.permitted)
        except NamesUnavailable:
            raise WebFailed("this service has no network, or its name server does not answer") from None
        except HostNotFound:
            raise WebFailed(
                f"the host {host} was not found: the name is wrong, or this service can't look it up"
            ) from None
        except HostRefused:
            raise WebRefused(f"{host} is not on the public internet") from None

    def _split_host(self, url: httpx.URL) -> tuple[str, int]:
        """Return host and port. Raises WebRefused if the URL is not allowed."""
        if url.scheme not in _DEFAULT_PORTS or not url.host:
            raise WebRefused("only http and https addresses can be read")
        if url.userinfo:
            raise WebRefused("addresses that contain a user name can't be read")
        port = _DEFAULT_PORTS[url.scheme] if url.port is None else url.port
        if self.ports is not None and port not in self.ports:
            raise WebRefused(f"port {port} is not allowed")
        return url.raw_host.decode("ascii"), port


def parse_url(text: str) -> httpx.URL:
    """Parse a URL written by a model. Raises WebRefused."""
    try:
        return httpx.URL(text.strip())
    except httpx.InvalidURL:
        raise WebRefused("this is not a web address") from None
