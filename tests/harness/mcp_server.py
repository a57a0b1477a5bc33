"""An MCP server to test with: `python -m tests.harness.mcp_server stdio|http|sse [port] [token]`.

It is made with the protocol's own package. It can count, keep state, hang, freeze, crash and grow.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcp.server.fastmcp import Context, FastMCP
from mcp.types import ToolAnnotations

server = FastMCP("test", log_level="CRITICAL")
kept: dict[str, str] = {}


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def remember(key: str, value: str) -> str:
    """Remember a value for the life of the process."""
    kept[key] = value
    return "remembered"


@server.tool()
def recall(key: str) -> str:
    """What was remembered."""
    return kept.get(key, "nothing")


@server.tool()
def pid() -> str:
    """The id of the process."""
    return str(os.getpid())


@server.tool()
def variable(name: str) -> str:
    """An environment variable."""
    return os.environ.get(name, "unset")


@server.tool()
async def hang(mark: str = "") -> str:
    """Never answer, but stay alive; a file with the name of the mark says that the call has arrived."""
    if mark:
        Path(mark).touch()
    await asyncio.Event().wait()
    return "never"


@server.tool()
def freeze() -> str:
    """Never answer anything any more."""
    while True:
        time.sleep(3600)


@server.tool()
def crash() -> str:
    """End at once, with a last word."""
    print("Traceback …\nRuntimeError: out of cheese", file=sys.stderr, flush=True)
    os._exit(3)


@server.tool()
def fail() -> str:
    """Fail as tools do."""
    raise ValueError("no such thing")


@server.tool()
def much(characters: int) -> str:
    """A lot of text."""
    return "x" * characters


@server.tool()
async def grow(ctx: Context[Any, Any, Any]) -> str:
    """Offer one more tool."""

    def extra() -> str:
        """One more."""
        return "extra"

    server.add_tool(extra)
    await ctx.session.send_tool_list_changed()
    return "grown"


def guarded(application: Any, token: str) -> Callable[..., Awaitable[None]]:
    """The application, for those who have the token."""

    async def guard(scope: Any, receive: Any, send: Any) -> None:
        given = dict(scope.get("headers", [])).get(b"authorization", b"").decode()
        if scope["type"] == "http" and given != f"Bearer {token}":
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await application(scope, receive, send)

    return guard


def main(arguments: list[str]) -> None:
    """Serve until the end."""
    transport, *rest = arguments
    if transport == "stdio":
        server.run("stdio")
        return
    import socket

    import uvicorn

    application: Any = server.streamable_http_app() if transport == "http" else server.sse_app()
    if len(rest) > 1:
        application = guarded(application, rest[1])
    listener = socket.create_server(("127.0.0.1", int(rest[0]) if rest else 0))
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(application, log_level="critical")).run([listener])


if __name__ == "__main__":
    main(sys.argv[1:])
