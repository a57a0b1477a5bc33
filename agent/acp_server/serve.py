"""The agent as an ACP agent on standard input and output: `python -m agent.acp_server.serve`."""

from __future__ import annotations

import argparse
import asyncio
import os
import stat
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MAX_MESSAGE_BYTES = 50 * 1024 * 1024
OVERRIDES: dict[str, Any] = {"acp_agents": None, "memory": {"enabled": False}, "title": {"enabled": False}}
"""The client is a program, so there is no memory, no title and no delegation to external agents."""


async def serve(home: Path, config: Path | None, output: int) -> None:
    """Serve on standard input and the descriptor `output` until the client disconnects."""
    from agent.acp_server.server import AcpServer, serve_connection
    from agent.client import AgentClient

    client = AgentClient(OVERRIDES, config_path=config, home=home)
    try:
        await serve_connection(AcpServer(client), *await _open_streams(output))
    finally:
        await asyncio.to_thread(client.close)


async def _open_streams(output: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_MESSAGE_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
    transport, _ = await loop.connect_write_pipe(lambda: protocol, os.fdopen(output, "wb", 0))
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)


def main(arguments: Sequence[str]) -> int:
    """Serve and return the exit code. Prints one line to stderr if startup fails."""
    parser = argparse.ArgumentParser(
        prog="python -m agent.acp_server.serve", description="Run the agent for ACP clients."
    )
    parser.add_argument("--home", type=Path, default=Path(os.environ.get("ROEBOT_HOME") or ".roebot"))
    parser.add_argument("--config", type=Path)
    given = parser.parse_args(arguments)
    if find_spec("acp") is None:
        _print_error("ACP needs an optional package: pip install 'roebot[acp]'")
        return 1
    if not all(map(_is_pipe_or_terminal, (0, 1))):
        _print_error("standard input and output must be pipes; start this program from an editor")
        return 2
    if problem := _find_config_problem(given.config):
        _print_error(problem)
        return 2
    if sys.stdin.isatty():
        _print_error("waiting for an ACP client on standard input; normally an editor starts this program")
    # Only the protocol may use standard output, so prints are redirected to stderr.
    output = os.dup(1)
    os.dup2(2, 1)
    from agent.runtime.server import configure_logging

    configure_logging()
    asyncio.run(serve(given.home, given.config, output))
    return 0


def _is_pipe_or_terminal(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)


def _find_config_problem(config: Path | None) -> str:
    """Return the configuration's problem, or ""."""
    from agent.catalog.source import ModelSource
    from agent.config.errors import ConfigErrors

    try:
        asyncio.run(ModelSource(config).config())
    except ConfigErrors as errors:
        return "; ".join(str(errors).splitlines())
    return ""


def _print_error(text: str) -> None:
    print(f"roebot agent: {text}", file=sys.stderr)  # noqa: T201 - the one line a person needs


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
