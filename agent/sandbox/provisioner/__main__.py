"""Run the sandbox service: `python -m agent.sandbox.provisioner`.

Its token is in ROEBOT_SANDBOX_TOKEN; without a token it serves only this machine.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
import yaml

from agent.config.harness import LOCAL_SANDBOX
from agent.core.interfaces import SandboxError, SandboxProvider
from agent.sandbox.options import Surroundings, load_provider, read_options
from agent.sandbox.provisioner.cluster import in_cluster
from agent.sandbox.provisioner.kubernetes import KubernetesBackend
from agent.sandbox.provisioner.local_stations import LocalBackend
from agent.sandbox.provisioner.pod_manifest import KubernetesOptions, PodOptions
from agent.sandbox.provisioner.pod_sandbox import PodBackend, first_process, hide_process
from agent.sandbox.provisioner.service import TokenMissing, check_token, create_app
from agent.sandbox.provisioner.station_pool import Backend, StationPool
from agent.shared.arguments import port_number

TOKEN_VARIABLE = "ROEBOT_SANDBOX_TOKEN"  # noqa: S105 - a name, not a token
PORT = 2027
FOLDER = Path("sandbox", "provisioner")
"""Folder of the copied files in the data directory."""
SHUTDOWN_SECONDS = 10


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m agent.sandbox.provisioner", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("--port", type=port_number, default=PORT, help="0: any free port (%(default)s)")
    parser.add_argument("--port-file", type=Path, help="file for the port, written when the service is ready")
    parser.add_argument("--certificate", type=Path, help="certificate file, for https")
    parser.add_argument("--key", type=Path, help="file with the certificate's key")
    parser.add_argument(
        "--backend",
        choices=("local", "pod", "kubernetes"),
        default="local",
        help="local: sandboxes on this machine; kubernetes: a pod for each sandbox; pod: inside such a pod",
    )
    parser.add_argument("--home", type=Path, default=Path(os.environ.get("ROEBOT_HOME") or ".roebot"))
    parser.add_argument("--config", type=Path, help="YAML file with the settings of the backend")
    parser.add_argument("--settings", help="the same as JSON, instead of a file")
    parser.add_argument("--most", type=int, default=100, help="maximum number of sandboxes (%(default)s)")
    parser.add_argument(
        "--idle-seconds", type=float, default=600.0, help="seconds without use after which a sandbox is ended"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Serve until a signal. If that is impossible, print one line and return 1."""
    options = parse_arguments(arguments)
    # Commands must not inherit the token.
    token = os.environ.pop(TOKEN_VARIABLE, None) or None
    try:
        check_token(options.host, token)
        serve(options, token)
    except (TokenMissing, SandboxError, OSError, ValueError) as error:
        print(f"roebot sandbox: {error}", file=sys.stderr)  # noqa: T201 - console output
        return 1
    return 0


def serve(options: argparse.Namespace, token: str | None) -> None:
    """Serve until a signal. Raises SandboxUnavailable, OSError or ValueError."""
    if options.most < 1 or options.idle_seconds <= 0:
        raise ValueError("--most and --idle-seconds are above 0.")
    pool = StationPool(
        make_backend(options, read_settings(options), token),
        max_sandboxes=options.most,
        idle_seconds=options.idle_seconds,
    )
    server = _Server(
        uvicorn.Config(
            create_app(pool, token),
            host=options.host,
            port=options.port,
            ssl_certfile=options.certificate,
            ssl_keyfile=options.key,
            ws="none",
            lifespan="on",
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        ),
        options.port_file,
    )
    server.run()
    if not server.started:
        raise OSError(f"{options.host}:{options.port} can't be served.")


class _Server(uvicorn.Server):
    """Prints its address, and writes the port file, once it accepts connections."""

    def __init__(self, config: uvicorn.Config, port_file: Path | None) -> None:
        super().__init__(config)
        self._port_file = port_file

    async def startup(self, sockets: Any = None) -> None:
        """Start, and print the address."""
        await super().startup(sockets)
        if not self.started:
            return
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        scheme = "https" if self.config.is_ssl else "http"
        line = f"roebot sandbox: ready at {scheme}://{host}:{port}"
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - console output
        if self._port_file is not None:
            part = self._port_file.with_suffix(".part")
            part.write_text(f"{port}\n")
            part.rename(self._port_file)


def make_backend(options: argparse.Namespace, settings: Mapping[str, Any], token: str | None) -> Backend:
    """Create the backend of the command line. Raises SandboxUnavailable or ValueError. Blocks."""
    if options.backend == "pod":
        hide_process()
        return PodBackend(read_options(PodOptions, settings).limits(), first=first_process())
    if options.backend == "kubernetes":
        if token is None:
            raise ValueError("The backend kubernetes needs a token in ROEBOT_SANDBOX_TOKEN.")
        kubernetes = read_options(KubernetesOptions, settings)
        return KubernetesBackend(in_cluster(kubernetes.namespace), kubernetes, token)
    use = str(settings.get("use", LOCAL_SANDBOX))
    rest = {key: value for key, value in settings.items() if key != "use"}
    home = options.home.absolute()
    # Report invalid settings now rather than to the first caller.
    _make_provider(use, rest, home, Surroundings(lambda _: {}, home))
    return LocalBackend(home / FOLDER, partial(_make_provider, use, rest, home))


def _make_provider(
    use: str, settings: Mapping[str, Any], home: Path, around: Surroundings
) -> SandboxProvider:
    """Create a provider with the sandbox's Python and the container engine of this home."""
    return load_provider(use, replace(around, home=home), settings)


def read_settings(options: argparse.Namespace) -> Mapping[str, Any]:
    """Return the settings of the command line. Raises OSError or ValueError."""
    text = options.settings or (options.config.read_text(encoding="utf-8") if options.config else "")
    try:
        settings = yaml.safe_load(text) or {}
    except yaml.YAMLError:
        raise ValueError("The settings are no YAML.") from None
    if not isinstance(settings, dict):
        raise ValueError("The settings are no mapping.")
    return settings


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
