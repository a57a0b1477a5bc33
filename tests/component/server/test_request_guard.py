"""What comes in through the port, and what does not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from agent.shared.live_token import LiveToken
from bot.config.models import ServerConfig
from bot.server.api.credential_attempts import CredentialAttempts
from bot.server.api.request_guard import guard_requests, session_cookies
from bot.server.api.sessions import COOKIE, TokenSessions
from bot.store.audit import AuditEvent
from roebot_testing.clock import ManualClock

PORT = 2026
TOKEN = "J4sQm8-pX2vR7_bT9wLc3y-Kd6Zn"
SIGNED = {"authorization": f"Bearer {TOKEN}"}


async def inner(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    await JSONResponse({"path": scope["path"], "size": len(body)})(scope, receive, send)


def token_sessions() -> TokenSessions:
    return TokenSessions(LiveToken(TOKEN))


def no_limits() -> CredentialAttempts:
    async def record(_event: AuditEvent) -> None:
        pass

    return CredentialAttempts(ManualClock(), record)


def guard(headers: Mapping[str, str] | None = None, **server: object) -> httpx.AsyncClient:
    app = guard_requests(
        inner, server=ServerConfig(**server), port=PORT, sessions=token_sessions(), attempts=no_limits()
    )
    transport = httpx.ASGITransport(app=app)
    return httpx.AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{PORT}", headers=headers)


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with guard(SIGNED) as opened:
        yield opened


@pytest.mark.parametrize("host", ["127.0.0.1:2026", "localhost:2026", "LOCALHOST:2026", "[::1]:2026"])
async def test_loopback_names_with_our_port_are_served(client: httpx.AsyncClient, host: str) -> None:
    assert (await client.get("/api/turns", headers={"host": host})).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:2026", "127.0.0.1", "127.0.0.1:80", "127.0.0.1.evil.example:2026", "",
     "localhost:2026.evil.example", "0.0.0.0:2026", "[::2]:2026", "2026", ":2026"],
)  # fmt: skip
async def test_other_hosts_are_refused(client: httpx.AsyncClient, host: str) -> None:
    answer = await client.get("/", headers={"host": host})
    assert answer.status_code == 421
    assert "Unknown host" in answer.json()["detail"]


async def test_a_configured_host_is_served_behind_a_proxy() -> None:
    async with guard(SIGNED, allowed_hosts=["bot.example.org"]) as client:
        for host in ("bot.example.org", "bot.example.org:8443"):
            assert (await client.get("/api/turns", headers={"host": host})).status_code == 200
        same = {"host": "bot.example.org", "origin": "https://bot.example.org"}
        assert (await client.get("/api/turns", headers=same)).status_code == 200


async def test_the_own_address_is_a_host_but_the_one_that_means_all_is_not() -> None:
    async with guard(SIGNED, host="192.0.2.7") as client:
        answer = await client.get("/api/turns", headers={"host": f"192.0.2.7:{PORT}"})
        assert answer.status_code == 200
    async with guard(SIGNED, host="0.0.0.0") as client:
        answer = await client.get("/api/turns", headers={"host": f"0.0.0.0:{PORT}"})
        assert answer.status_code == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:8080", "http://localhost:2026", "", "file://"]
)
async def test_a_foreign_origin_is_refused(client: httpx.AsyncClient, origin: str) -> None:
    for method in ("GET", "POST", "DELETE"):
        answer = await client.request(method, "/api/turns", headers={"origin": origin})
        assert answer.status_code == 403, origin


async def test_an_opaque_origin_gets_static_files_only(client: httpx.AsyncClient) -> None:
    path = "/static/app/main.js"
    assert (await client.get(path, headers={"origin": "null"})).status_code != 403
    assert (await client.get(path, headers={"origin": "http://evil.example"})).status_code == 403
    for other in ("/api/turns", "/diagram", "/"):
        assert (await client.get(other, headers={"origin": "null"})).status_code == 403


async def test_the_own_origin_is_served(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/turns", json={}, headers={"origin": f"http://127.0.0.1:{PORT}"})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
async def test_a_body_that_a_form_could_send_is_refused(client: httpx.AsyncClient, kind: str) -> None:
    answer = await client.post("/api/conversations", content=b"{}", headers={"content-type": kind})
    assert answer.status_code == 415


async def test_a_chunked_body_is_looked_at_too(client: httpx.AsyncClient) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"{}"

    answer = await client.post("/api/turns", content=body(), headers={"content-type": "text/plain"})
    assert answer.status_code == 415


async def test_json_with_a_charset_no_body_and_uploads_pass(client: httpx.AsyncClient) -> None:
    json = {"content-type": "application/json; charset=utf-8"}
    assert (await client.post("/api/turns", content=b"{}", headers=json)).json()["size"] == 2
    assert (await client.post("/api/turns/1/retry")).status_code == 200
    answer = await client.post("/api/conversations/1/messages", files={"files": ("a.txt", b"x")})
    assert answer.status_code == 200


@pytest.mark.guard(
    "the console loads no pictures of other hosts",
    "bot/server/api/request_guard.py",
    "img-src 'self' blob:;",
    "img-src *;",
    against="leaks without a click",
)
async def test_everything_carries_the_protective_headers(client: httpx.AsyncClient) -> None:
    for answer in (await client.get("/"), await client.get("/", headers={"host": "evil.example"})):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "img-src 'self' blob:;" in policy, "a picture of another host would tell it that it was read"
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.guard(
    "bot: every address requires one",
    "bot/server/api/request_guard.py",
    "        return RequestRefusal(401, WRONG_TOKEN if sent_tokens(headers) else NO_TOKEN)",
    "        return None",
    against="no credential",
)
@pytest.mark.parametrize("path", ["/api/turns", "/metrics", "/api/langgraph/threads"])
async def test_nothing_is_told_without_the_token(path: str) -> None:
    async with guard() as client:
        assert (await client.get(path)).status_code == 401
        for wrong in ("Bearer ", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x"):
            assert (await client.get(path, headers={"authorization": wrong})).status_code == 401
        for wrong in ("", "wrong", f"{TOKEN}x", f"Bearer {TOKEN}"):
            assert (await client.get(path, headers={"x-api-key": wrong})).status_code == 401
        answer = await client.get(path, headers=SIGNED)
        assert answer.status_code == 200
        for key in ({"x-api-key": TOKEN}, {"x-api-key": "of another service", **SIGNED}):
            assert (await client.get(path, headers=key)).status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/health", "/health/ready", "/static/design/base.css", "/webhooks/slack", "/api/session"]
)
async def test_health_sign_in_and_webhooks_need_no_token(path: str) -> None:
    async with guard() as client:
        assert (await client.get(path)).status_code == 200


@pytest.mark.parametrize(
    ("header", "value"), [("", ""), ("a=b", ""), (f"{COOKIE}=v", "v"), (f"a=b;{COOKIE}=v=w", "v=w")]
)
def test_the_cookie_is_found(header: str, value: str) -> None:
    assert session_cookies(header).get(COOKIE, "") == value


async def test_websockets_are_refused() -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    app = guard_requests(
        inner, server=ServerConfig(), port=PORT, sessions=token_sessions(), attempts=no_limits()
    )
    await app({"type": "websocket", "path": "/", "headers": []}, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]
