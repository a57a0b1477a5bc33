"""Routes of the web console and its static files."""

from __future__ import annotations

import asyncio
import json
import mimetypes
import secrets
from pathlib import Path

from fastapi import FastAPI, Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from starlette.responses import HTMLResponse, Response

from bot.access import Permission, Role
from bot.access.permissions import home_origin
from bot.server.api.auth import WEB, Principal, find_caller, may, open_to
from bot.server.api.dependencies import ApiServices
from bot.server.api.display_names import platform_titles, texts_of
from bot.server.console.assets import mount_assets, read_build
from bot.store import read_models
from bot.texts import texts_for

# Load the table of MIME types now rather than during the first request.
mimetypes.init()
HERE = Path(__file__).parent
_NO_STORE = {"cache-control": "no-store"}
_DIAGRAM_HEADERS = {
    **_NO_STORE,
    "content-security-policy": (
        "default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'unsafe-inline';"
        " form-action 'none'; base-uri 'none'; frame-ancestors 'self'; sandbox allow-scripts"
    ),
    "x-frame-options": "SAMEORIGIN",
}
"""Headers of the frame that draws diagrams: its origin is opaque, its scripts are our files, and it reaches
nothing. WebKit lets 'self' match nothing in a sandbox, so the script and what it imports have a nonce."""
_TEMPLATES = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=select_autoescape(default=True),
    auto_reload=False,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
SHEETS = (
    *("design/tokens", "design/base", "design/shell", "setup/setup", "chat/chat", "chat/composer", "ui/ui"),
    *("work/work", "markdown/markdown"),
)
"""Style sheets of the console, later ones before earlier ones where both apply."""
# Loaded with the module, so that requests don't wait for a file.
SIGN_IN = _TEMPLATES.get_template("sign_in.html")
DIAGRAM = _TEMPLATES.get_template("diagram.html")
CONSOLE = _TEMPLATES.get_template("console.html")
for _name in _TEMPLATES.list_templates():
    _TEMPLATES.get_template(_name)


def add_console(app: FastAPI) -> None:
    """Add the console at `/` and its files at `/static`."""

    @app.get("/", include_in_schema=False)
    @open_to(Role.BLOCKED)
    async def console(request: Request) -> Response:
        """Return the console, or the sign-in form for a caller without a session."""
        services: ApiServices = request.app.state.services
        by = find_caller(request)
        if by is None:
            return await _sign_in_page(request)
        shown = CONSOLE.render(
            language=_language(services, by),
            session=await _session(services, by),
            build=await asyncio.to_thread(read_build),
            sheets=SHEETS,
        )
        return HTMLResponse(shown, headers=_NO_STORE)

    @app.get("/diagram", include_in_schema=False)
    @open_to(Role.MEMBER)
    async def diagram() -> Response:
        """Return the frame in which the console draws diagrams."""
        build = await asyncio.to_thread(read_build)
        nonce = secrets.token_urlsafe(16)
        headers = {name: value.replace("{nonce}", nonce) for name, value in _DIAGRAM_HEADERS.items()}
        return HTMLResponse(DIAGRAM.render(build=build, nonce=nonce), headers=headers)

    @app.get("/favicon.ico", include_in_schema=False)
    @open_to(Role.BLOCKED)
    async def icon() -> Response:
        """Return no icon. Browsers request this path, but the console specifies its own icon."""
        return Response(status_code=204)

    mount_assets(app)


async def _sign_in_page(request: Request) -> Response:
    """Return the sign-in form in the browser's language."""
    language = texts_for(request.headers.get("accept-language", "")).locale
    sign_on = request.app.state.identity_provider is not None
    shown = SIGN_IN.render(language=language, sign_on=sign_on, build=await asyncio.to_thread(read_build))
    return HTMLResponse(shown, headers=_NO_STORE)


def _language(services: ApiServices, by: Principal) -> str:
    """Return the caller's language: their own choice, or else that of the browser."""
    origin = home_origin(WEB, WEB, by.sender)
    return services.core.account(origin.account).texts_for(origin).locale


async def _session(services: ApiServices, by: Principal) -> str:
    """Return what the console needs to know of the caller and the service, as JSON."""
    return json.dumps(
        {
            "person": by.person,
            "name": "" if by.is_local_owner else by.sender.name,
            "role": by.role.name.lower(),
            "account": by.account,
            "version": services.version,
            "fileBytes": services.file_bytes,
            "isLocalOwner": by.is_local_owner,
            "isNew": not await services.db.transact(read_models.list_turns, None, limit=1),
            "platforms": platform_titles(services, texts_of(services, by)),
            "permissions": [str(one) for one in Permission if may(services, by, one)],
        }
    )
