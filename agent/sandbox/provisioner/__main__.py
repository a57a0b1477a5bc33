"""The service that runs commands for others: `python -m agent.sandbox.provisioner`.

Its token is in ROEBOT_SANDBOX_TOKEN; without one it serves this machine alone.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from agent.core.interfaces import SandboxError
from agent.sandbox.provisioner.auth import TokenMissing, check_token
from agent.shared.arguments import port_number

TOKEN_VARIABLE = "ROEBOT_SANDBOX_TOKEN"  # noqa: S105 - a name, not a token
PORT = 2027


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m agent.sandbox.provisioner", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (%(default)s)")
    parser.add_argument("--port", type=port_number, default=PORT, help="0: any free one (%(default)s)")
    parser.add_argument("--port-file", type=Path, help="gets the port when the service accepts")
    parser.add_argument("--certificate", type=Path, help="a file with its certificate, for https")
    parser.add_argument("--key", type=Path, help="a file with the certificate's key")
    parser.add_argument(
        "--backend",
        choices=("local", "pod", "kubernetes"),
        default="local",
        help="local: this machine's own sandboxes; kubernetes: a pod for each; pod: in such a pod",
    )
    parser.add_argument("--home", type=Path, default=Path(os.environ.get("ROEBOT_HOME") or ".roebot"))
    parser.add_argument("--config", type=Path, help="a file of YAML with the settings of the backend")
    parser.add_argument("--settings", help="the same as JSON, in place of a file")
    parser.add_argument("--most", type=int, default=100, help="sandboxes at once (%(default)s)")
    parser.add_argument("--idle-seconds", type=float, default=600.0, help="without use, after which one goes")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Serve until a signal; one clear line where that can't be."""
    given = parsed(arguments)
    # Nothing that runs here inherits it.
    token = os.environ.pop(TOKEN_VARIABLE, None) or None
    try:
        check_token(given.host, token)
        from agent.sandbox.provisioner.serving import serve

        serve(given, token)
    except (TokenMissing, SandboxError, OSError, ValueError) as error:
        print(f"roebot sandbox: {error}", file=sys.stderr)  # noqa: T201 - the one line a person needs
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
