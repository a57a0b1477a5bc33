"""Serves the page and its static files."""

from __future__ import annotations

import mimetypes
from pathlib import Path

from fastapi import FastAPI, Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles

from bot.access import Role
from bot.server.api.auth import AuthMethod, find_caller, open_to
from bot.server.api.dependencies import ApiServices
from bot.server.api.sign_in import TokenSessions

# The table of file types is read now rather than by the first request.
mimetypes.init()
HERE = Path(__file__).parent
_NO_STORE = {"cache-control": "no-store"}
_TEMPLATES = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=select_autoescape(default=True),
    auto_reload=False,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
# Read when the module is, so that no request waits for a file.
CHAT = _TEMPLATES.get_template("chat.html")
SIGN_IN = _TEMPLATES.get_template("sign_in.html")
PARTS = (
    ("schedules", "Schedules", Role.MEMBER),
    ("accounts", "Accounts", Role.ADMIN),
    ("conversations", "Conversations", Role.MEMBER),
    ("turns", "Turns", Role.MEMBER),
    ("people", "People", Role.ADMIN),
    ("audit", "Audit", Role.ADMIN),
    ("usage", "Usage", Role.MEMBER),
    ("memory", "Memory", Role.MEMBER),
    ("skills", "Skills", Role.MEMBER),
    ("mcp", "MCP servers", Role.ADMIN),
    ("models", "Models", Role.MEMBER),
    ("agents", "Agents", Role.MEMBER),
)
"""The parts beside the chat: the name in the address, what it is called, and the least role that sees it."""
for _name in _TEMPLATES.list_templates():
    _TEMPLATES.get_template(_name)


def add_page(app: FastAPI) -> None:
    """The page at `/`, its files below `/static`."""

    @app.get("/", include_in_schema=False)
    @open_to(Role.BLOCKED)
    async def page(request: Request) -> Response:
        """The chat, or the sign-in form where a token is needed and there is no session."""
        services: ApiServices = request.app.state.services
        sessions: TokenSessions = request.app.state.sessions
        by = find_caller(request)
        parts = [(name, label) for name, label, least in PARTS if by is not None and by.role >= least]
        shown = (SIGN_IN if by is None else CHAT).render(
            version=services.version,
            asks_token=sessions.is_required,
            signs_out=sessions.is_required or (by is not None and by.how is AuthMethod.LINK),
            by=by,
            file_bytes=services.file_bytes,
            parts=parts,
            sees_accounts="accounts" in dict(parts),
        )
        return HTMLResponse(shown, headers=_NO_STORE)

    @app.get("/favicon.ico", include_in_schema=False)
    @open_to(Role.BLOCKED)
    async def icon() -> Response:
        """Browsers ask for it; the page names its own."""
        return Response(status_code=204)

    app.mount("/static", StaticFiles(directory=HERE / "static", check_dir=False), name="static")
