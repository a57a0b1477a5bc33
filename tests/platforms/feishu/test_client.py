"""The client against servers that do not answer as Feishu does, and its handling of tokens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from bot.errors import AccountRefused
from bot.platforms.feishu.client import FeishuClient
from bot.platforms.feishu.errors import FeishuRefused, FeishuUnreached
from bot.platforms.feishu.requests import describe_bot
from roebot_testing.clock import ManualClock
from roebot_testing.emulators.feishu import FeishuEmulator

TOKEN = "/open-apis/auth/v3/tenant_access_token/internal"


class Server:
    """Gives out a token, and answers everything else as told."""

    def __init__(self, token: str = "t") -> None:
        self.url = ""
        self.token = token
        self.tokens = 0
        self.seen: list[str] = []
        self.response: Callable[[], web.Response] = lambda: web.json_response({"code": 0, "data": {}})

    async def handle(self, request: web.Request) -> web.Response:
        if request.path == TOKEN:
            self.tokens += 1
            answer = {"code": 0, "tenant_access_token": f"{self.token}-{self.tokens}", "expire": 7200}
            return web.json_response(answer)
        self.seen.append(request.headers.get("Authorization", ""))
        return self.response()


@asynccontextmanager
async def serve(server: Server) -> AsyncIterator[Server]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serve(Server()) as server:
        yield server


def of(url: str, clock: ManualClock, refused: list[str] | None = None) -> FeishuClient:
    heard = refused if refused is not None else []
    return FeishuClient("cli_1", "a-secret", f"{url}/", clock, heard.append)


@pytest.fixture
async def client(server: Server, clock: ManualClock) -> AsyncIterator[FeishuClient]:
    made = of(server.url, clock)
    await made.open()
    yield made
    await made.close()


@pytest.mark.parametrize(
    ("status", "text"),
    [(200, "<html>a proxy</html>"), (200, ""), (200, "[]"), (200, "{}"), (200, '{"code": "0"}')],
)
async def test_an_answer_that_is_none(server: Server, client: FeishuClient, status: int, text: str) -> None:
    server.response = lambda: web.Response(status=status, text=text)
    with pytest.raises(FeishuUnreached, match="does not match the Feishu API"):
        await client.send(describe_bot())


@pytest.mark.parametrize("status", [302, 403, 404, 500, 502])
async def test_a_status_without_a_body(server: Server, client: FeishuClient, status: int) -> None:
    server.response = lambda: web.Response(status=status, text="<html>", headers={"Location": "/x"})
    with pytest.raises((FeishuRefused, FeishuUnreached)) as caught:
        await client.send(describe_bot())
    if isinstance(caught.value, FeishuRefused):
        assert caught.value.status == status


@pytest.mark.parametrize(
    ("header", "reset"), [("7", 7.0), ("0.5", 0.5), ("soon", 0.0), ("-3", 0.0), ("9" * 20, 86400.0)]
)
async def test_the_reset_header(server: Server, client: FeishuClient, header: str, reset: float) -> None:
    headers = {"x-ogw-ratelimit-reset": header, "x-ogw-ratelimit-limit": "50"}
    server.response = lambda: web.json_response({"code": 99991400}, status=429, headers=headers)
    with pytest.raises(FeishuRefused) as caught:
        await client.send(describe_bot())
    assert (caught.value.reset, caught.value.limit) == (reset, 50)


async def test_data_that_is_no_object_is_empty(server: Server, client: FeishuClient) -> None:
    server.response = lambda: web.json_response({"code": 0, "data": [1]})
    assert (await client.send(describe_bot())).data == {}


async def test_one_token_serves_many_calls(server: Server, client: FeishuClient) -> None:
    await asyncio.gather(*(client.send(describe_bot()) for _ in range(30)))
    assert server.tokens == 1


async def test_one_app_on_two_domains_has_a_token_for_each(
    server: Server, client: FeishuClient, clock: ManualClock
) -> None:
    async with serve(Server("other")) as elsewhere:
        other = of(elsewhere.url, clock)
        await other.open()
        for one in (client, other, client, other):
            await one.send(describe_bot())
        await other.close()
    assert (server.seen, elsewhere.seen) == (["Bearer t-1"] * 2, ["Bearer other-1"] * 2)


async def test_a_token_is_renewed_before_its_end(
    server: Server, client: FeishuClient, clock: ManualClock
) -> None:
    await client.send(describe_bot())
    await clock.advance(6800)
    await client.send(describe_bot())
    assert server.tokens == 1
    await clock.advance(200)
    await client.send(describe_bot())
    assert server.tokens == 2


async def test_a_token_that_is_refused_is_renewed_once(server: Server, client: FeishuClient) -> None:
    server.response = lambda: web.json_response({"code": 99991663, "msg": "bad"}, status=400)
    with pytest.raises(FeishuRefused) as caught:
        await client.send(describe_bot())
    assert caught.value.code == 99991663
    assert server.tokens == 2


async def test_a_wrong_secret_is_told(clock: ManualClock) -> None:
    heard: list[str] = []
    async with FeishuEmulator.serve() as emulator:
        client = of(emulator.url, clock, heard)
        await client.open()
        with pytest.raises(FeishuRefused):
            await client.authorize()
        await client.close()
    assert heard == ["10014 app secret invalid"]


async def test_a_closed_client_sends_nothing(server: Server, client: FeishuClient) -> None:
    await client.close()
    await client.close()
    with pytest.raises(FeishuUnreached) as caught:
        await client.send(describe_bot())
    assert not caught.value.sent


async def test_a_refused_handshake_keeps_its_headers(server: Server, client: FeishuClient) -> None:
    headers = {"handshake-msg": "auth failed"}
    server.response = lambda: web.Response(status=403, headers=headers)
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await client.connect(f"{server.url}/ws")
    assert refused.value.headers and refused.value.headers["handshake-msg"] == "auth failed"


async def test_nobody_there(clock: ManualClock) -> None:
    async with FeishuEmulator.serve() as emulator:
        url = emulator.url
    client = of(url, clock)
    await client.open()
    with pytest.raises(FeishuUnreached, match="cannot connect") as caught:
        await client.send(describe_bot())
    assert not caught.value.sent
    with pytest.raises(FeishuUnreached, match="cannot connect"):
        await client.connect(f"{url}/ws")
    await client.close()


async def test_a_proxy_of_a_wrong_kind_is_refused(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "socks5://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    client = FeishuClient("cli_1", "s", "https://open.feishu.cn", clock, lambda reason: None)
    with pytest.raises(AccountRefused, match="socks5"):
        await client.open()


@pytest.mark.parametrize(
    "answer", [{"code": 0}, {"code": 0, "tenant_access_token": 5, "expire": 1}, {"code": 0, "expire": "x"}]
)
async def test_a_token_that_is_none(
    server: Server, client: FeishuClient, monkeypatch: pytest.MonkeyPatch, answer: dict[str, object]
) -> None:
    async def handle(request: web.Request) -> web.Response:
        return web.json_response(answer)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    client._root = f"http://127.0.0.1:{runner.addresses[0][1]}"
    with pytest.raises(FeishuUnreached, match="no tenant access token"):
        await client.send(describe_bot())
    await runner.cleanup()
