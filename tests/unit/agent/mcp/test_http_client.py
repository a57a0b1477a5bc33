"""The HTTP client of MCP servers."""

from __future__ import annotations

import ssl

import httpx
import pytest

from agent.mcp import http_client
from agent.shared.tls import tls_context


@pytest.mark.may_block
def test_servers_are_verified_as_all_other_connections_are(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[ssl.SSLContext] = []

    def recorded() -> ssl.SSLContext:
        made.append(tls_context())
        return made[-1]

    monkeypatch.setattr(http_client, "tls_context", recorded)
    http_client.make_client(lambda _: None, headers={}, timeout=httpx.Timeout(1), auth=None)
    assert made == [tls_context()]
