"""Run the sandbox service: `python -m roebot_provisioner`.

Its token is in ROEBOT_SANDBOX_TOKEN; without a token it serves only this machine.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from agent.core.interfaces import SandboxError
from agent.shared.arguments import port_number
from agent.shared.client_address import is_loopback

TOKEN_VARIABLE = "ROEBOT_SANDBOX_TOKEN"  # noqa: S105 - a name, not a token
PORT = 2027
MIN_TOKEN_LENGTH = 16


class TokenMissing(Exception):
    """The service is reachable from other machines, and its token is missing or too short."""


def check_token(host: str, token: str | None) -> None:
    """Raise TokenMissing if `host` is reachable from other machines and the token is missing or too short."""
    if token is None and not is_loopback(host):
        raise TokenMissing(f"A service that listens on {host} needs a token: set ROEBOT_SANDBOX_TOKEN.")
    if token is not None and len(token) < MIN_TOKEN_LENGTH:
        raise TokenMissing(f"ROEBOT_SANDBOX_TOKEN must have at least {MIN_TOKEN_LENGTH} characters.")


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m roebot_provisioner", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("--port", type=port_number, default=PORT, help="0: any free port (%(default)s)")
    parser.add_argument(
        "--port-file", type=Path, help="file to which the port is written once the service is ready"
    )
    parser.add_argument("--certificate", type=Path, help="certificate file, for https")
    parser.add_argument("--key", type=Path, help="key file of the certificate")
    parser.add_argument(
        "--backend",
        choices=("local", "pod", "kubernetes"),
        default="local",
        help="local: sandboxes on this machine; kubernetes: one pod per sandbox; pod: inside such a pod",
    )
    parser.add_argument("--home", type=Path, default=Path(os.environ.get("ROEBOT_HOME") or ".roebot"))
    parser.add_argument("--config", type=Path, help="YAML file with the backend's settings")
    parser.add_argument("--settings", help="the backend's settings as JSON, instead of a file")
    parser.add_argument("--most", type=int, default=100, help="maximum number of sandboxes (%(default)s)")
    parser.add_argument(
        "--idle-seconds",
        type=float,
        default=600.0,
        help="seconds of inactivity after which a sandbox is stopped",
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Serve until a signal, or print one line and return 1 if that is impossible."""
    options = parse_arguments(arguments)
    # Commands must not inherit the token.
    token = os.environ.pop(TOKEN_VARIABLE, None) or None
    try:
        check_token(options.host, token)
        # The server and its backends load slowly.
        from roebot_provisioner.serving import serve

        serve(options, token)
    except (TokenMissing, SandboxError, OSError, ValueError) as error:
        print(f"roebot sandbox: {error}", file=sys.stderr)  # noqa: T201 - console output
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
