"""The routes that the application has, and paths to call them by."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import FastAPI

from bot.features.agent_management.runtime_proxy import AREAS

MANAGED = tuple(f"/api/{area}{rest}" for area in AREAS for rest in ("", "/{path:path}"))
PASSED_ON = ("/api/langgraph/{path:path}", *MANAGED, "/api/{path:path}")
"""Paths of the calls that are passed on to the agent runtime, and of unknown ones."""
METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")
REAL = {"/static": "/static/app/main.js", "{path:path}": "threads", "{": "", "}": ""}


def application_routes(app: FastAPI) -> Iterator[str]:
    """Yield every route as "METHOD path"."""
    for route in app.routes:
        included = getattr(route, "effective_route_contexts", None)
        for one in included() if included else [route]:
            for method in (getattr(one, "methods", None) or {"GET"}) - {"HEAD"}:
                yield f"{method} {one.path}"


def passed_on() -> set[str]:
    """Return the routes whose calls are passed on to the agent runtime."""
    return {f"{method} {path}" for method in METHODS for path in PASSED_ON}


def real_path(path: str) -> str:
    """Return a path with something in its places."""
    for part, value in REAL.items():
        path = path.replace(part, value)
    return path
