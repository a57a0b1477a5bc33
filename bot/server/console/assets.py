"""Static files of the console: compressed, and cached by browsers under an address that names their build."""

from __future__ import annotations

import asyncio
import gzip
import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from agent.shared.recent_items import RecentItems

HERE = Path(__file__).parent / "static"
FIRST = ("app/main.js", "chat/chat.js")
"""Modules that the first view needs; the browser loads what they import at the same time."""
MOST_KNOWN = 512
"""Files in memory; there are about 250."""
SMALLEST = 1_000
"""Size from which files are compressed, bytes."""
_FOREVER = "public, max-age=31536000, immutable"
_IMPORT = re.compile(r"""^(?:import|export)\b[^"']*["'](\.[^"']+)["']""", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Build:
    """The present state of the files: a name for their address, and the modules that the first view needs."""

    name: str
    modules: tuple[str, ...]


def read_build() -> Build:
    """Return the build of the files as they are now. Blocks for about a millisecond."""
    states = [(path, path.stat()) for path in sorted(HERE.rglob("*")) if path.is_file()]
    told = [f"{path.relative_to(HERE)} {state.st_size} {state.st_mtime_ns}" for path, state in states]
    return _build(sha256("\n".join(told).encode()).hexdigest()[:16])


@lru_cache(maxsize=1)
def _build(name: str) -> Build:
    found: dict[Path, None] = {}
    waiting = [HERE / path for path in FIRST]
    while waiting:
        path = waiting.pop()
        if path in found or not path.is_file():
            continue
        found[path] = None
        waiting += [(path.parent / one).resolve() for one in _IMPORT.findall(path.read_text())]
    return Build(name, tuple(sorted(str(path.relative_to(HERE)) for path in found)))


class _Files(StaticFiles):
    """Files, each compressed once."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        found = await super().get_response(path, scope)
        is_plain = "gzip" not in Headers(scope=scope).get("accept-encoding", "")
        if is_plain or not isinstance(found, FileResponse) or found.stat_result is None:
            return found
        if found.stat_result.st_size < SMALLEST:
            return found
        body = await asyncio.to_thread(_compress, str(found.path), found.stat_result.st_mtime_ns)
        answer = Response(body, media_type=found.media_type)
        answer.headers.update(
            {"content-encoding": "gzip", "vary": "Accept-Encoding", "etag": found.headers["etag"]}
        )
        return answer


class _BuildFiles(_Files):
    """Files whose address names their build, so that browsers need not ask for them again.

    The first view loads 80 of them. They are answered from memory, since looking for a file takes longer than
    sending it.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._known: RecentItems[tuple[str, str, bool], Response] = RecentItems(MOST_KNOWN)

    async def get_response(self, path: str, scope: Scope) -> Response:
        is_plain = "gzip" not in Headers(scope=scope).get("accept-encoding", "")
        key = (scope["path_params"]["build"], path, is_plain)
        if (known := self._known.get(key)) is not None:
            return known
        response = await super().get_response(path, scope)
        if isinstance(response, FileResponse):
            body = await asyncio.to_thread(Path(response.path).read_bytes)
            response = Response(body, media_type=response.media_type)
        response.headers["cache-control"] = _FOREVER
        # The frame that draws diagrams loads its scripts from an opaque origin; they are public.
        response.headers["access-control-allow-origin"] = "*"
        if response.status_code == HTTPStatus.OK:
            self._known[key] = response
        return response


@lru_cache(maxsize=256)
def _compress(path: str, _changed_at: int) -> bytes:
    return gzip.compress(Path(path).read_bytes(), compresslevel=6, mtime=0)


def mount_assets(app: Starlette) -> None:
    """Serve the files at `/static`, and at `/static/build-NAME` for ever."""
    for path, kind in (("/static/build-{build}", _BuildFiles), ("/static", _Files)):
        app.mount(path, kind(directory=HERE, check_dir=False), name=path)
