"""The HTTP client of MCP servers."""

from __future__ import annotations

import ssl
from contextlib import suppress
from typing import Any

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


@pytest.mark.may_block
@pytest.mark.parametrize(
    ("status", "headers", "reported"),
    [
        (200, {"mcp-session-id": "s"}, []),
        (400, {"mcp-session-id": "s"}, [http_client.REJECTED]),
        (400, {}, ["returned status 400"]),
        (404, {"mcp-session-id": "s"}, []),
        (503, {"mcp-session-id": "s"}, ["returned status 503"]),
    ],
)
async def test_which_answers_mean_that_a_call_was_not_made(
    status: int, headers: dict[str, str], reported: list[str]
) -> None:
    """Of unknown sessions: 404 as the specification says, 400 as many servers do."""
    told: list[str] = []
    client = http_client.make_client(told.append, headers={}, timeout=httpx.Timeout(1), auth=None)
    client._transport = httpx.MockTransport(lambda _: httpx.Response(status))
    client._mounts = {}
    async with client:
        await client.post("http://server.example/mcp", headers=headers, json={"method": "tools/call"})
    assert told == reported


def refuse(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


@pytest.mark.may_block
@pytest.mark.parametrize("answer", [lambda _: httpx.Response(400), refuse])
@pytest.mark.parametrize(
    ("message", "begins"),
    [
        ({"method": "tools/call", "id": 3}, True),
        ({"method": "tasks/get", "id": 4}, False),
        ({"method": "tasks/result", "id": 5}, False),
        ({"method": "notifications/cancelled"}, False),
        ({"id": 1, "result": {"action": "accept"}}, False),
    ],
)
async def test_a_request_that_follows_a_call_does_not_say_that_it_was_not_made(
    answer: Any, message: dict[str, Any], begins: bool
) -> None:
    """The server has got the call of a task or of a question, so another session must not repeat it."""
    told: list[str] = []
    client = http_client.make_client(told.append, headers={}, timeout=httpx.Timeout(1), auth=None)
    client._transport = httpx.MockTransport(answer)
    client._mounts = {}
    async with client:
        with suppress(httpx.ConnectError):
            await client.post("http://server.example/mcp", headers={"mcp-session-id": "s"}, json=message)
    [why] = told
    assert (why in {http_client.CANT_REACH, http_client.REJECTED}) is begins
