"""uvicorn around the service, with the backend that the command line names."""

from __future__ import annotations

import argparse
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
from agent.sandbox.loading import load_provider
from agent.sandbox.options import Surroundings, read_options
from agent.sandbox.provisioner.cluster import in_cluster
from agent.sandbox.provisioner.kubernetes import KubernetesBackend
from agent.sandbox.provisioner.local_stations import LocalBackend
from agent.sandbox.provisioner.options import KubernetesOptions, PodOptions
from agent.sandbox.provisioner.pod import PodBackend, first_process, hide
from agent.sandbox.provisioner.ports import Backend
from agent.sandbox.provisioner.service import application
from agent.sandbox.provisioner.station_pool import Stations

FOLDER = Path("sandbox", "provisioner")
"""Below the home: the copies of other homes' files."""
ENDING_SECONDS = 10


def serve(given: argparse.Namespace, token: str | None) -> None:
    """Serve until a signal. Raises SandboxUnavailable, OSError or ValueError where that can't be."""
    if given.most < 1 or given.idle_seconds <= 0:
        raise ValueError("--most and --idle-seconds are above 0.")
    stations = Stations(
        backend(given, settings_of(given), token), most=given.most, idle_seconds=given.idle_seconds
    )
    server = _Server(
        uvicorn.Config(
            application(stations, token),
            host=given.host,
            port=given.port,
            ssl_certfile=given.certificate,
            ssl_keyfile=given.key,
            ws="none",
            lifespan="on",
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=ENDING_SECONDS,
        ),
        given.port_file,
    )
    server.run()
    if not server.started:
        raise OSError(f"{given.host}:{given.port} can't be served.")


class _Server(uvicorn.Server):
    """Says its port when it accepts."""

    def __init__(self, config: uvicorn.Config, port_file: Path | None) -> None:
        super().__init__(config)
        self._port_file = port_file

    async def startup(self, sockets: Any = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        if not self.started:
            return
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        scheme = "https" if self.config.is_ssl else "http"
        line = f"roebot sandbox: ready at {scheme}://{host}:{port}"
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - for who started it
        if self._port_file is not None:
            part = self._port_file.with_suffix(".part")
            part.write_text(f"{port}\n")
            part.rename(self._port_file)


def backend(given: argparse.Namespace, settings: Mapping[str, Any], token: str | None) -> Backend:
    """The one that the command line names. Raises SandboxUnavailable or ValueError. Blocking."""
    if given.backend == "pod":
        hide()
        return PodBackend(read_options(PodOptions, settings).limits(), first=first_process())
    if given.backend == "kubernetes":
        if token is None:
            raise ValueError("The backend kubernetes needs a token in ROEBOT_SANDBOX_TOKEN.")
        options = read_options(KubernetesOptions, settings)
        return KubernetesBackend(in_cluster(options.namespace), options, token)
    use = str(settings.get("use", LOCAL_SANDBOX))
    rest = {key: value for key, value in settings.items() if key != "use"}
    home = given.home.absolute()
    # What is wrong is said now, and not to the first who wants a sandbox.
    _provider(use, rest, home, Surroundings(lambda _: {}, home))
    return LocalBackend(home / FOLDER, partial(_provider, use, rest, home))


def _provider(use: str, settings: Mapping[str, Any], home: Path, around: Surroundings) -> SandboxProvider:
    """One of this machine's, with the sandbox's Python and the engines of this home."""
    return load_provider(use, replace(around, home=home), settings)


def settings_of(given: argparse.Namespace) -> Mapping[str, Any]:
    """What the command line says of the backend. Raises OSError or ValueError."""
    text = given.settings or (given.config.read_text(encoding="utf-8") if given.config else "")
    try:
        found = yaml.safe_load(text) or {}
    except yaml.YAMLError:
        raise ValueError("The settings are no YAML.") from None
    if not isinstance(found, dict):
        raise ValueError("The settings are no mapping.")
    return found
