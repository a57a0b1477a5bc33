"""Sign-in pages for MCP servers: the page behind the sign-in link, and the provider's callback.

A secret in the query identifies the sign-in, since the browser may not be signed in here. The first page says
who signs in to what, so that nobody gives their account away with a link that somebody else sent them. What
comes of a sign-in is recorded in the audit log.
"""

from __future__ import annotations

from html import escape
from typing import Any
from urllib.parse import urlsplit

import httpx
from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from bot.access import Role
from bot.server.api.auth import open_to
from bot.server.api.dependencies import ApiServices
from bot.store.audit import Actor, AuditEvent, record_event
from bot.texts import Texts, texts_for

router = APIRouter(prefix="/api/mcp/sign-in", tags=["mcp"])
_PAGE = (
    '<!doctype html><html lang="{lang}"><meta charset="utf-8"><meta name="viewport" '
    'content="width=device-width"><title>Roebot</title><p>{text}</p>{link}</html>'
)
_TIMEOUT = 10.0
SIGNED_IN, NOT_SIGNED_IN = "mcp signed in", "mcp not signed in"
_RUNTIME = "/api/mcp/sign-ins"


@router.get("/start", response_class=HTMLResponse)
@open_to(Role.BLOCKED)
async def start_sign_in(request: Request, ticket: str) -> HTMLResponse:
    """Show who signs in to which server, with a link to the provider. 404: the link has expired."""
    texts = _texts_of(request)
    found = await _ask_runtime(request, "GET", "link", params={"ticket": ticket})
    if found is None:
        return _page(texts, texts("mcp_sign_in_expired"), status=404)
    url = str(found["url"])
    if urlsplit(url).scheme not in {"http", "https"}:
        return _page(texts, texts("mcp_sign_in_expired"), status=404)
    said = texts("mcp_sign_in_start", server=found["server"], person=found["person"] or "–")
    host = urlsplit(url).hostname or ""
    return _page(texts, said, link=(url, texts("mcp_sign_in_go", host=host)))


@router.get("/callback", response_class=HTMLResponse)
@open_to(Role.BLOCKED)
async def complete_sign_in(request: Request, state: str, code: str = "", error: str = "") -> HTMLResponse:
    """Complete a sign-in with the provider's response. 404: the sign-in has expired or is already
    complete.
    """
    texts = _texts_of(request)
    answer = {"state": state, "code": code, "error": error}
    found = await _ask_runtime(request, "POST", "complete", json=answer)
    if found is None:
        return _page(texts, texts("mcp_sign_in_expired"), status=404)
    await _record(request.app.state.services, found)
    if found["error"]:
        return _page(texts, texts("mcp_sign_in_refused", server=found["server"], error=found["error"]))
    return _page(texts, texts("mcp_sign_in_done", server=found["server"]))


async def _record(services: ApiServices, found: dict[str, str]) -> None:
    """Record in the audit log that a person signed in to a server, or was refused by its provider."""
    key = f"mcp-sign-in:{services.core.new_id()}"
    actor = Actor(key, found.get("asked_by") or found["person"], "", found.get("account", ""), "")
    deed = AuditEvent(NOT_SIGNED_IN if found["error"] else SIGNED_IN, found["server"], found["error"])
    await services.db.transact(record_event, actor, deed, services.clock.now())


async def _ask_runtime(request: Request, method: str, name: str, **options: Any) -> dict[str, str] | None:
    """Return the runtime's answer, or None for an error."""
    client: httpx.AsyncClient = request.app.state.runtime.management
    try:
        answer = await client.request(method, f"{_RUNTIME}/{name}", timeout=_TIMEOUT, **options)
    except httpx.HTTPError:
        return None
    found: dict[str, str] | None = answer.json() if answer.status_code == 200 else None
    return found


def _texts_of(request: Request) -> Texts:
    return texts_for(request.headers.get("accept-language", ""))


def _page(texts: Texts, said: str, *, link: tuple[str, str] | None = None, status: int = 200) -> HTMLResponse:
    shown = f'<p><a href="{escape(link[0])}" rel="noreferrer">{escape(link[1])}</a></p>' if link else ""
    page = _PAGE.format(lang=escape(texts.locale), text=escape(said), link=shown)
    return HTMLResponse(page, status, {"cache-control": "no-store"})
