"""Tokens from a real token server on this machine, used on a real MCP server that asks for one."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agent.config.extensions import McpOAuth
from agent.errors import McpUnavailable
from agent.mcp.http_client import EXPIRY_MARGIN_SECONDS, OAuthTokenAuth
from tests.harness.local_server import served
from tests.harness.mcp import Time, call, configured, named, our_server, pooled

Form = dict[str, str]
CLIENT = {"client_id": "bot", "client_secret": "s3cret"}


class TokenServer:
    """Gives out `token-1`, `token-2`, …; what it was asked stands in `asked`."""

    def __init__(self) -> None:
        self.asked: list[tuple[Form, str]] = []
        self.answer: Callable[[int], Response] = lambda number: JSONResponse(
            {"access_token": f"token-{number}", "token_type": "Bearer", "expires_in": 300}
        )
        self.url = ""

    async def token(self, request: Request) -> Response:
        form = {key: values[0] for key, values in parse_qs((await request.body()).decode()).items()}
        self.asked.append((form, request.headers.get("authorization", "")))
        return self.answer(len(self.asked))

    async def whoami(self, request: Request) -> Response:
        given = request.headers.get("authorization", "")
        return JSONResponse({"given": given}, 401 if given.endswith("-refused") else 200)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[TokenServer]:
        routes = [
            Route("/token", self.token, methods=["POST"]),
            Route("/whoami", self.whoami, methods=["GET"]),
        ]
        async with served(routes) as client:
            self.url = str(client.base_url).rstrip("/")
            yield self


@pytest.fixture
async def tokens() -> AsyncIterator[TokenServer]:
    async with TokenServer().running() as server:
        yield server


def auth(tokens: TokenServer, time: Time | None = None, **more: Any) -> OAuthTokenAuth:
    config = McpOAuth.model_validate({"token_url": f"{tokens.url}/token", **CLIENT, **more})
    return OAuthTokenAuth(config, server="x", clock=time or Time())


async def given(tokens: TokenServer, by: OAuthTokenAuth) -> str:
    """The header that a request arrives with."""
    async with httpx.AsyncClient(trust_env=False) as http:
        response = await http.get(f"{tokens.url}/whoami", auth=by)
    return str(response.json()["given"])


async def test_client_credentials(tokens: TokenServer) -> None:
    by = auth(tokens, scope="read write", audience="https://mcp")
    assert await given(tokens, by) == "Bearer token-1"
    assert await given(tokens, by) == "Bearer token-1", "kept while it holds"
    [(form, header)] = tokens.asked
    assert form == {
        "grant_type": "client_credentials",
        "scope": "read write",
        "audience": "https://mcp",
        **CLIENT,
    }
    assert header == ""


async def test_the_client_may_show_itself_in_the_header(tokens: TokenServer) -> None:
    await given(tokens, auth(tokens, client_auth="basic"))
    [(form, header)] = tokens.asked
    assert form == {"grant_type": "client_credentials"}
    assert base64.b64decode(header.removeprefix("Basic ")) == b"bot:s3cret"


async def test_a_refresh_token_is_exchanged_and_replaced(tokens: TokenServer) -> None:
    tokens.answer = lambda number: JSONResponse(
        {"access_token": f"token-{number}", "expires_in": "60", "refresh_token": f"next-{number}"}
    )
    time = Time()
    by = auth(tokens, time, grant_type="refresh_token", refresh_token="first", client_secret=None)
    assert await given(tokens, by) == "Bearer token-1"
    time.now += 60
    assert await given(tokens, by) == "Bearer token-2"
    assert [form["refresh_token"] for form, _ in tokens.asked] == ["first", "next-1"]
    assert tokens.asked[0][0] == {
        "grant_type": "refresh_token",
        "refresh_token": "first",
        "client_id": "bot",
    }


async def test_a_token_is_replaced_before_it_ends(tokens: TokenServer) -> None:
    time = Time()
    by = auth(tokens, time)
    await by.get_token()
    time.now += 300 - EXPIRY_MARGIN_SECONDS - 1
    assert await by.get_token() == "token-1"
    time.now += 1
    assert await by.get_token() == "token-2"


@pytest.mark.parametrize("life", [None, "soon", -1, True, 0])
async def test_a_token_without_an_end_holds_until_it_is_refused(tokens: TokenServer, life: object) -> None:
    tokens.answer = lambda number: JSONResponse({"access_token": f"token-{number}", "expires_in": life})
    time = Time()
    by = auth(tokens, time)
    await by.get_token()
    time.now += 1e9
    assert await by.get_token() == "token-1"
    assert await by.get_token(rejected="token-1") == "token-2"
    assert await by.get_token(rejected="token-1") == "token-2", "another request has got a new one already"


async def test_a_short_life_is_used_for_half(tokens: TokenServer) -> None:
    tokens.answer = lambda number: JSONResponse({"access_token": f"token-{number}", "expires_in": 10})
    time = Time()
    by = auth(tokens, time)
    await by.get_token()
    time.now += 4
    assert await by.get_token() == "token-1"
    time.now += 1
    assert await by.get_token() == "token-2"


async def test_requests_at_the_same_time_ask_once(tokens: TokenServer) -> None:
    by = auth(tokens)
    assert set(await asyncio.gather(*(given(tokens, by) for _ in range(8)))) == {"Bearer token-1"}
    assert len(tokens.asked) == 1


async def test_a_refused_token_gets_one_more_try(tokens: TokenServer) -> None:
    tokens.answer = lambda number: JSONResponse({"access_token": "token-refused" if number == 1 else "good"})
    assert await given(tokens, auth(tokens)) == "Bearer good"
    tokens.answer = lambda number: JSONResponse({"access_token": "token-refused"})
    tokens.asked.clear()
    assert await given(tokens, auth(tokens)) == "Bearer token-refused"
    assert len(tokens.asked) == 2, "one more try, and no third"


REFUSALS: list[tuple[Response, str]] = [
    (JSONResponse({"error": "invalid_client"}, 401), "returned status 401: invalid_client"),
    (JSONResponse({"error": "s3cret <b>"}, 400), "returned status 400."),
    (Response("nope", 500), "sent an unreadable response"),
    (Response(b"", 503), "returned status 503"),
    (JSONResponse(["x"]), "returned status 200"),
    (JSONResponse({"token": "x"}), "returned no token"),
    (JSONResponse({"access_token": "a\r\nX: b"}), "returned no token"),
    (Response(b"", 302, {"location": "http://127.0.0.1:9/"}), "returned status 302"),
]


@pytest.mark.parametrize(("answer", "why"), REFUSALS)
async def test_what_the_token_server_refuses(tokens: TokenServer, answer: Response, why: str) -> None:
    tokens.answer = lambda _: answer
    with pytest.raises(McpUnavailable) as caught:
        await auth(tokens).get_token()
    assert why in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert "Check its `oauth`" in str(caught.value)


async def test_a_token_server_that_is_away() -> None:
    config = McpOAuth.model_validate({"token_url": "http://127.0.0.1:9/token", **CLIENT})
    with pytest.raises(McpUnavailable, match="can't be reached"):
        await OAuthTokenAuth(config, server="x").get_token()


@pytest.mark.parametrize("transport", ["http", pytest.param("sse", marks=pytest.mark.long)])
async def test_a_server_behind_a_token(tokens: TokenServer, transport: str) -> None:
    async with our_server(transport, "0", "token-1") as (port, _), pooled() as pool:
        url = f"http://127.0.0.1:{port}/{'mcp' if transport == 'http' else 'sse'}"
        oauth = {"token_url": f"{tokens.url}/token", **CLIENT}
        servers = configured(
            test={"type": transport, "url": url, "oauth": oauth},
            closed={"type": transport, "url": url},
            plain={"type": transport, "url": url, "headers": {"Authorization": "Bearer token-1"}},
        )
        tools = named(await pool.load_tools(servers))
        assert await call(tools, "test_add", a=2, b=2) == "4"
        assert await call(tools, "plain_add", a=2, b=3) == "5"
        assert not [name for name in tools if name.startswith("closed")]
        assert len(tokens.asked) == 1


async def test_a_token_that_the_server_refuses_is_got_anew(tokens: TokenServer) -> None:
    async with our_server("http", "0", "token-2") as (port, _), pooled() as pool:
        oauth = {"token_url": f"{tokens.url}/token", **CLIENT}
        servers = configured(test={"url": f"http://127.0.0.1:{port}/mcp", "oauth": oauth})
        tools = named(await pool.load_tools(servers))
        assert await call(tools, "test_add", a=2, b=2) == "4"
        assert len(tokens.asked) == 2


async def test_no_token_is_a_clear_line(tokens: TokenServer) -> None:
    tokens.answer = lambda _: JSONResponse({"error": "invalid_client"}, 401)
    async with our_server("http", "0", "token-1") as (port, _), pooled() as pool:
        oauth = {"token_url": f"{tokens.url}/token", **CLIENT}
        await pool.load_tools(configured(test={"url": f"http://127.0.0.1:{port}/mcp", "oauth": oauth}))
        assert (
            "can't be used because its token server returned status 401: invalid_client"
            in pool.servers["test"].problem
        )
