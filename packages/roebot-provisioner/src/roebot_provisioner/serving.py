"""The sandbox service's uvicorn server, with the command line's backend."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
import yaml

from agent.config.harness import LOCAL_SANDBOX
from agent.core.interfaces import SandboxProvider
from agent.sandbox.options import Surroundings, load_provider, read_options
from agent.shared.atomic_file import replace_file
from agent.shared.connection_limits import ConnectionLimits
from agent.shared.http_protocol import LimitedConfig
from roebot_provisioner.cluster import in_cluster
from roebot_provisioner.kubernetes import KubernetesBackend
from roebot_provisioner.local_stations import LocalBackend
from roebot_provisioner.pod_manifest import KubernetesOptions, PodOptions
from roebot_provisioner.pod_sandbox import PodBackend, first_process, hide_process
from roebot_provisioner.service import create_app
from roebot_provisioner.station_pool import Backend, StationPool

FOLDER = Path("sandbox", "provisioner")
"""Folder of the copied files in the data directory."""
SHUTDOWN_SECONDS = 10
MAX_CONNECTIONS = 1024


def serve(options: argparse.Namespace, token: str | None) -> None:
    """Serve until a signal. Raises SandboxUnavailable, OSError or ValueError."""
    if options.most < 1 or options.idle_seconds <= 0:
        raise ValueError("--most and --idle-seconds must be greater than 0.")
    pool = StationPool(
        make_backend(options, read_settings(options), token),
        max_sandboxes=options.most,
        idle_seconds=options.idle_seconds,
    )
    server = _Server(
        LimitedConfig(
            create_app(pool, token),
            ConnectionLimits(total=MAX_CONNECTIONS),
            host=options.host,
            port=options.port,
            ssl_certfile=options.certificate,
            ssl_keyfile=options.key,
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
        raise OSError(f"The service can't listen on {options.host}:{options.port}.")


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
            await asyncio.to_thread(replace_file, self._port_file, f"{port}\n", mode=None)


def make_backend(options: argparse.Namespace, settings: Mapping[str, Any], token: str | None) -> Backend:
    """Create the command line's backend. Raises SandboxUnavailable or ValueError. Blocks."""
    if options.backend == "pod":
        hide_process()
        pod = read_options(PodOptions, settings)
        return PodBackend(pod.limits(), first=first_process(), proxy=pod.proxy)
    if options.backend == "kubernetes":
        if token is None:
            raise ValueError("The kubernetes backend needs a token: set ROEBOT_SANDBOX_TOKEN.")
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
    """Create a provider with the sandbox's Python and this data directory's container engine."""
    return load_provider(use, replace(around, home=home), settings)


def read_settings(options: argparse.Namespace) -> Mapping[str, Any]:
    """Return the command line's settings. Raises OSError or ValueError."""
    text = options.settings or (options.config.read_text(encoding="utf-8") if options.config else "")
    try:
        settings = yaml.safe_load(text) or {}
    except yaml.YAMLError:
        raise ValueError("The settings are not valid YAML.") from None
    if not isinstance(settings, dict):
        raise ValueError("The settings must be a mapping.")
    return settings
