"""An MCP server that reports progress, logs, asks people, and has resources and prompts.

`python -m tests.harness.mcp_talking stdio|http [port]`, made with the protocol's own package.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from mcp.server.fastmcp import Context, FastMCP
from mcp.types import SamplingMessage, TextContent
from pydantic import BaseModel, Field

server = FastMCP("talking", log_level="CRITICAL")
done: list[str] = []
Here = Context[Any, Any, Any]


class Order(BaseModel):
    """The form of an order."""

    size: str = Field(description="Which size?", json_schema_extra={"enum": ["small", "large"]})
    amount: int = Field(ge=1, le=5, title="How many?")
    gift: bool = Field(default=False, title="A gift?")


class Nothing(BaseModel):
    """A form without fields."""


@server.tool()
async def order(what: str, ctx: Here) -> str:
    """Order something, after a person has said how."""
    done.append(f"began {what}")
    answer = await ctx.elicit(f"How do you want the {what}?", Order)
    if answer.action != "accept":
        return f"{what}: {answer.action}"
    done.append(f"ordered {what}")
    form = answer.data
    return f"{form.amount} {form.size} {what}{' as a gift' if form.gift else ''}"


@server.tool()
async def twice(ctx: Here) -> str:
    """Ask two questions."""
    done.append("began twice")
    first = await ctx.elicit("Really?", Nothing)
    second = await ctx.elicit("Really really?", Nothing)
    return f"{first.action} {second.action}"


@server.tool()
async def link(ctx: Here) -> str:
    """Ask a person to open a link."""
    answer = await ctx.elicit_url("Sign in first", "https://example.com/sign-in?x=1", "e1")
    return answer.action


@server.tool()
async def think(ctx: Here) -> str:
    """Ask the client's model, although it offers none."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text="What is 2 + 2?"))
    answer = await ctx.session.create_message([message], max_tokens=10)
    return str(answer.content)


@server.tool()
async def roots(ctx: Here) -> str:
    """Ask for the client's folders, although it offers none."""
    return str((await ctx.session.list_roots()).roots)


@server.tool()
def what_happened() -> str:
    """What the tools have done in this process."""
    return "; ".join(done) or "nothing"


@server.tool()
async def work(steps: int, pause: float, ctx: Here) -> str:
    """Work step by step and report progress."""
    try:
        for step in range(steps):
            await ctx.report_progress(step + 1, steps, f"step {step + 1}")
            await asyncio.sleep(pause)
    except asyncio.CancelledError:
        done.append("stopped work")
        raise
    return "worked"


@server.tool()
async def chatter(lines: int, ctx: Here) -> str:
    """Log lines."""
    for line in range(lines):
        await ctx.warning(f"line {line}")
    return "logged"


@server.resource("notes://today", title="Today", description="What is to do.", mime_type="text/plain")
def today() -> str:
    """A note."""
    return "Buy cheese."


@server.resource("notes://day/{day}", mime_type="text/plain")
def day(day: str) -> str:
    """A note of a day."""
    return f"Nothing on {day}."


@server.resource("shots://one", mime_type="image/png")
def shot() -> bytes:
    """A picture."""
    from tests.harness.mcp_contents import png

    return png()


@server.prompt(description="Review a change.")
def review(number: str, tone: str = "friendly") -> str:
    """A prompt."""
    return f"Review the change {number} in a {tone} tone."


def main(arguments: list[str]) -> None:
    """Serve until the end."""
    if arguments[0] == "stdio":
        server.run("stdio")
        return
    import socket

    import uvicorn

    listener = socket.create_server(("127.0.0.1", int(arguments[1]) if len(arguments) > 1 else 0))
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="critical")).run([listener])


if __name__ == "__main__":
    main(sys.argv[1:])
