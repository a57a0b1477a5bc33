"""Run the egress proxy as a service for the pods of sandboxes: `python -m agent.sandbox.egress`.

It asks for no credential, so only sandboxes may reach its port; see deploy/sandbox/kubernetes.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence

from agent.sandbox.egress.gate import PORT
from agent.sandbox.egress.proxy import EgressProxy
from agent.sandbox.egress.rules import EgressRules, parse_hosts
from agent.sandbox.egress.server import EgressServer
from agent.shared.arguments import port_number


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m agent.sandbox.egress", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("--port", type=port_number, default=PORT, help="0: any free port (%(default)s)")
    parser.add_argument(
        "--allow",
        action="append",
        metavar="HOST",
        help="a host or private network as in sandbox.network; can be repeated (default: public hosts)",
    )
    return parser.parse_args(arguments)


async def serve(options: argparse.Namespace) -> None:
    """Serve until a signal. Raises OSError or ValueError."""
    proxy = EgressProxy(parse_hosts(options.allow) if options.allow else EgressRules())
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with EgressServer(proxy).listen(options.host, options.port) as port:
        line = f"roebot egress: ready at {options.host}:{port}"
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - console output
        await stopped.wait()


def main(arguments: Sequence[str]) -> int:
    """Serve until a signal, or print one line and return 1 if that is impossible."""
    try:
        asyncio.run(serve(parse_arguments(arguments)))
    except (OSError, ValueError) as error:
        print(f"roebot egress: {error}", file=sys.stderr)  # noqa: T201 - console output
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
