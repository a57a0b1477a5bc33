"""Proxies, and what proves the server."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.errors import AccountRefused
from bot.platforms import http
from bot.platforms.http import NetworkRoute, find_route, proxy_for
from bot.platforms.telegram.errors import TelegramNotSent, TelegramRefused
from bot.platforms.telegram.http import TelegramClient

TOKEN = "123456:abcdefghijklmnop"
API = "https://api.telegram.org"
NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    http._tls_context.cache_clear()
    yield
    http._tls_context.cache_clear()


def test_a_proxy_is_used_where_the_environment_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert proxy_for(API) is None
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:3128")
    assert proxy_for(API) == "http://127.0.0.1:3128"
    assert proxy_for("http://127.0.0.1:8081") is None
    monkeypatch.setenv("no_proxy", "telegram.org")
    assert proxy_for(API) is None


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_loopback_never_goes_through_a_proxy(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("all_proxy", "http://127.0.0.1:3128")
    assert proxy_for("http://telegram.invalid") == "http://127.0.0.1:3128"
    assert proxy_for(f"http://{host}:8081") is None


def test_a_proxy_without_a_scheme_is_one_of_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "proxy.example:3128")
    assert proxy_for(API) == "http://proxy.example:3128"


async def test_a_proxy_of_another_kind_is_refused_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("all_proxy", "socks5://ada:secret@proxy.example:1080")
    client = TelegramClient(TOKEN)
    with pytest.raises(AccountRefused, match=r"sets a socks5 proxy for api\.telegram\.org") as refused:
        await client.open()
    assert "secret" not in str(refused.value)
    await client.close()


async def test_behind_a_proxy_calls_go_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        refusal = b'{"ok":false,"error_code":403,"description":"Forbidden: by proxy"}'
        writer.write(b"HTTP/1.1 403 No\r\nContent-Length: %d\r\n\r\n" % len(refusal) + refusal)
        writer.close()

    listening = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    monkeypatch.setenv("http_proxy", f"http://ada:secret@127.0.0.1:{port}")
    async with listening:
        client = TelegramClient(TOKEN, "http://telegram.invalid")
        await client.open()
        with pytest.raises(TelegramRefused, match="by proxy"):
            await client.call("getMe")
        with pytest.raises(TelegramRefused, match="by proxy"):
            await client.poll_updates(None, 0, ["message"], lambda: None)
        await client.close()
    assert all(head.startswith(b"POST http://telegram.invalid/bot123456:") for head in seen)
    assert all(b"Proxy-Authorization: Basic YWRhOnNlY3JldA==" in head for head in seen)


async def test_a_proxy_that_is_not_there_or_refuses_the_way_means_never_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"CONNECT telegram.invalid:443 ")
        writer.write(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    listening = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with listening:
        for port in (9, listening.sockets[0].getsockname()[1]):
            monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
            client = TelegramClient(TOKEN, "https://telegram.invalid")
            await client.open()
            with pytest.raises(TelegramNotSent) as unsent:
                await client.call("getMe")
            assert TOKEN not in repr(unsent.value)
            await client.close()


async def test_the_systems_store_proves_the_server_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a.0").touch()
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    assert await find_route(API) == NetworkRoute(None, True)


async def test_where_the_system_has_none_the_bundled_one_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    found = await find_route(API)
    assert isinstance(found.tls, ssl.SSLContext)
    assert found.tls.verify_mode is ssl.CERT_REQUIRED and found.tls.check_hostname
    assert found.tls.cert_store_stats()["x509_ca"] > 50
    assert (await find_route(API)).tls is found.tls


async def test_plain_http_needs_no_proof() -> None:
    assert await find_route("http://127.0.0.1:8081") == NetworkRoute()
