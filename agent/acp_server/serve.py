"""The process of our agent for clients of the protocol: `python -m agent.acp_server.serve`."""

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
"""Who speaks is another program: nobody's memory is for it, nothing is titled, and no task is handed on."""


async def serve(home: Path, config: Path | None, output: int) -> None:
    """Serve on standard input and the descriptor `output` until the client goes."""
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
    """Serve; the exit code. One clear line on stderr when it can't."""
    parser = argparse.ArgumentParser(
        prog="python -m agent.acp_server.serve", description="Be an agent of the Agent Client Protocol."
    )
    parser.add_argument("--home", type=Path, default=Path(os.environ.get("ROEBOT_HOME") or ".roebot"))
    parser.add_argument("--config", type=Path)
    given = parser.parse_args(arguments)
    if find_spec("acp") is None:
        _print_error("ACP needs a package: pip install 'roebot[acp]'")
        return 1
    if not all(map(_is_pipe_or_terminal, (0, 1))):
        _print_error("standard input and output have to be pipes, as the editor that starts this makes them")
        return 2
    if problem := _find_config_problem(given.config):
        _print_error(problem)
        return 2
    if sys.stdin.isatty():
        _print_error("waiting for a client of the protocol on standard input; an editor starts this")
    # Standard output is the protocol's alone: whoever prints something must not break it.
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
    """What is wrong with the configuration, "" where it can be used."""
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
