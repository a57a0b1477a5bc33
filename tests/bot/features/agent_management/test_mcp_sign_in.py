"""The pages of a sign-in to an MCP server, which a browser opens without being signed in here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.features.agent_management import mcp_sign_in
from bot.server.api.dependencies import RuntimeClients
from bot.server.api.errors import add_handlers
from bot.store.audit import Actor, AuditEvent, record_event
from tests.platforms.web.serving import world

URL = "https://login.example/authorize?state=s&x=<1>"


class AuditLog:
    """Takes the place of the database, and keeps what is recorded."""

    def __init__(self) -> None:
        self.recorded: list[tuple[Actor, AuditEvent]] = []

    async def transact(self, work: Callable[..., Any], actor: Actor, deed: AuditEvent, now: float) -> None:
        assert (work, now) == (record_event, 17.0)
        self.recorded.append((actor, deed))


def pages(told: list[Any], *, url: str = URL, audit: AuditLog | None = None) -> httpx.AsyncClient:
    """The pages before a runtime that knows one sign-in."""

    async def link(request: Request) -> Response:
        told.append(dict(request.query_params))
        known = request.query_params["ticket"] == "t"
        found = {"server": "tracker", "person": "web:<anna>", "url": url, "error": ""}
        return JSONResponse(found if known else {"detail": "no"}, 200 if known else 404)

    async def complete(request: Request) -> Response:
        body = await request.json()
        told.append(body)
        known = body["state"] == "s"
        who = {"person": "", "asked_by": "web:anna", "account": "web"}
        found = {"server": "tracker", **who, "url": "", "error": body["error"]}
        return JSONResponse(found if known else {"detail": "no"}, 200 if known else 404)

    routes = [
        Route("/api/mcp/sign-ins/link", link),
        Route("/api/mcp/sign-ins/complete", complete, methods=["POST"]),
    ]
    runtime = httpx.AsyncClient(transport=httpx.ASGITransport(Starlette(routes=routes)), base_url="http://r")
    app = FastAPI()
    app.include_router(mcp_sign_in.router)
    app.state.runtime = RuntimeClients(runtime, runtime)
    app.state.services = SimpleNamespace(
        core=SimpleNamespace(new_id=lambda: "1"),
        db=audit or AuditLog(),
        clock=SimpleNamespace(now=lambda: 17.0),
    )
    add_handlers(app)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://b/api/mcp/sign-in")


async def test_the_link_says_who_signs_in_to_what() -> None:
    told: list[Any] = []
    async with pages(told) as browser:
        page = await browser.get("/start?ticket=t")
        assert page.status_code == 200
        assert "signs in web:&lt;anna&gt; to the MCP server tracker" in page.text
        assert 'href="https://login.example/authorize?state=s&amp;x=&lt;1&gt;"' in page.text
        assert "Sign in at login.example" in page.text
        assert page.headers["cache-control"] == "no-store"
        chinese = await browser.get("/start?ticket=t", headers={"accept-language": "zh-CN,zh;q=0.9"})
        assert '<html lang="zh">' in chinese.text
        old = await browser.get("/start?ticket=u")
        assert (old.status_code, "This link has expired" in old.text) == (404, True)


@pytest.mark.guard(
    "the page of a sign-in to an MCP server links only to pages",
    "bot/features/agent_management/mcp_sign_in.py",
    'if urlsplit(url).scheme not in {"http", "https"}:',
    "if False:",
    against="a forged sign-in",
)
async def test_a_link_to_anything_but_a_page_is_not_shown() -> None:
    async with pages([], url="javascript:alert(1)") as browser:
        page = await browser.get("/start?ticket=t")
        assert (page.status_code, "javascript" in page.text) == (404, False)


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ("state=s&code=c", 200, "Signed in to tracker. You can close this page"),
        ("state=s&error=access_denied", 200, "Not signed in to tracker: access_denied."),
        ("state=u&code=c", 404, "This link has expired"),
        ("code=c", 422, ""),
    ],
)
async def test_the_way_back(query: str, status: int, text: str) -> None:
    told: list[Any] = []
    async with pages(told) as browser:
        page = await browser.get(f"/callback?{query}&iss=https://login.example")
        assert page.status_code == status
        assert text in page.text


@pytest.mark.guard(
    "the audit log records whether a sign-in to an MCP server worked",
    "bot/features/agent_management/mcp_sign_in.py",
    "    await _record(request.app.state.services, found)\n",
    "",
    against="a forged sign-in",
)
@pytest.mark.parametrize(
    ("query", "recorded"),
    [
        ("state=s&code=c", [("mcp signed in", "tracker", "")]),
        ("state=s&error=access_denied", [("mcp not signed in", "tracker", "access_denied")]),
        ("state=u&code=c", []),
    ],
)
async def test_what_comes_of_a_sign_in_is_audited(query: str, recorded: list[Any]) -> None:
    """With the person who asked for it, also if everybody uses it."""
    audit = AuditLog()
    async with pages([], audit=audit) as browser:
        await browser.get("/start?ticket=t")
        await browser.get(f"/callback?{query}")
    assert [(deed.action, deed.subject, deed.detail) for _, deed in audit.recorded] == recorded
    assert all(
        (actor.key, actor.person, actor.account) == ("mcp-sign-in:1", "web:anna", "web")
        for actor, _ in audit.recorded
    )


async def test_a_browser_from_elsewhere_reaches_the_pages(tmp_path: Path) -> None:
    """It has no cookie of this service, and comes from the provider's page."""
    async with (
        world(tmp_path, server=", token: W6hZt3-nF8kB5_qY1rDs9v-Xc4Lm") as service,
        httpx.AsyncClient(verify=False, base_url=service.url) as browser,
    ):
        headers = {"sec-fetch-site": "cross-site", "referer": "https://login.example/"}
        page = await browser.get("/api/mcp/sign-in/callback?state=x&code=y", headers=headers)
        assert (page.status_code, "This link has expired" in page.text) == (404, True)
        assert (await browser.get("/api/mcp/sign-ins/link?ticket=x")).status_code == 401
