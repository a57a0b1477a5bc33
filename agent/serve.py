"""Run the agent runtime: `python -m agent.serve`, or `run_server` with existing settings."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent.core.lean_imports import postpone_packages, without_packages
from agent.errors import AgentError, GraphLoadError
from agent.runtime.settings import ServeSettings
from agent.shared.arguments import port_number, positive_number
from agent.shared.connection_limits import ConnectionLimits
from agent.shared.gc_tuning import pause_gc
from agent.shared.replica_folder import REPLICA_VARIABLE
from agent.shared.request_signature import KEY_VARIABLE
from agent.shared.service_address import ADDRESS_VARIABLE

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from agent.runtime.loader import LoadedFile
    from agent.shared.live_token import LiveToken

TOKEN_VARIABLE = "ROEBOT_RUNTIME_TOKEN"  # noqa: S105 - a name, not a token
PREFIX = "roebot agent: "
PRELOADED = ("lead_agent",)
EXIT_UNUSABLE_CONFIG = 2
"""Exit code if the configuration is unusable."""
MAX_PORT = 65_535
OWN_GRAPHS: Mapping[str, str] = {
    "lead_agent": "agent.lead:make_lead_agent",
    "compaction": "agent.lead:make_compaction_graph",
}


def run_server(settings: ServeSettings) -> int:
    """Serve until a signal or the parent's exit, and return the exit code. Errors are printed as one line on
    stderr.
    """
    pause_gc()
    # Databases, logs and sockets are private to the owner.
    os.umask(0o077)
    os.environ["ROEBOT_HOME"] = str(settings.home)
    if settings.config is not None:
        os.environ["ROEBOT_CONFIG_PATH"] = str(settings.config)
    postpone_packages()
    with without_packages():
        try:
            check_graphs_file(settings)
        except GraphLoadError as error:
            print(f"{PREFIX}{error}", file=sys.stderr)  # noqa: T201 - as below
            return 1

        from agent.config.errors import ConfigErrors
        from agent.errors import ModelUnavailable
        from agent.runtime.server import ServerFailed
        from agent.shared.tokens import TokenFileError

    try:
        _serve(settings)
    except (ConfigErrors, ModelUnavailable) as error:
        print(f"{PREFIX}{'; '.join(str(error).splitlines())}", file=sys.stderr)  # noqa: T201 - as below
        return EXIT_UNUSABLE_CONFIG
    except (AgentError, ServerFailed, TokenFileError, OSError, ValueError) as error:
        print(f"{PREFIX}{error}", file=sys.stderr)  # noqa: T201 - the one line a person needs
        return 1
    return 0


def check_graphs_file(settings: ServeSettings) -> None:
    """Check the graphs file before the imports that take seconds. Raises GraphLoadError."""
    if settings.graphs is not None:
        from agent.runtime.loader import parse_graphs_file

        parse_graphs_file(settings.graphs)


def _serve(settings: ServeSettings) -> None:
    """Compose the application and serve it. Raises ServerFailed and AgentError."""
    from agent.config.database import read_server_sections
    from agent.core.telemetry import trace_hooks_on_demand
    from agent.mcp.pool import open_shared_pool
    from agent.mcp.sign_ins import SignIns
    from agent.models.http import shared_client
    from agent.runtime.server import configure_logging, serve
    from agent.shared.tracing import export_traces

    sections = read_server_sections(settings.config, os.environ, Path.cwd(), settings.home)
    configure_logging(sections.logging.level)
    trace_hooks_on_demand()
    graphs = load_graphs(settings)
    sign_ins = SignIns(settings.home, os.environ.get(ADDRESS_VARIABLE))
    traces = export_traces("roebot-agent", **sections.tracing.model_dump())
    around: list[AbstractAsyncContextManager[None]] = [traces, shared_client(), open_shared_pool(sign_ins)]
    routes: list[BaseRoute] = []
    if settings.graphs is None:
        from agent.management.lead_lifecycle import run_memory_updates
        from agent.management.routes import management_routes

        around.append(run_memory_updates())
        routes = management_routes(settings.home, settings.config)
    token = load_token(settings)
    serve(
        replace(settings, database_url=sections.postgres_url),
        token,
        graphs,
        extra_routes=routes,
        around=around,
        preloaded=PRELOADED if settings.graphs is None else (),
    )


def load_token(settings: ServeSettings) -> LiveToken:
    """Return the token that clients must send, generating it at the first start.

    Raises TokenFileError, and ServerFailed if the token is too weak for the address.
    """
    from agent.core.paths import make_private_folder
    from agent.runtime.server import ServerFailed
    from agent.shared.client_address import is_loopback
    from agent.shared.live_token import LiveToken
    from agent.shared.tokens import ensure_token, find_weakness

    if settings.token is None:
        make_private_folder(settings.home)
        return LiveToken(ensure_token(settings.token_file), settings.token_file)
    weakness = find_weakness(settings.token)
    if weakness and settings.uds is None and not is_loopback(settings.host):
        raise ServerFailed(
            f"other machines can reach {settings.host}, and {TOKEN_VARIABLE} must not be used there: "
            f"{weakness}. Unset it to have a token generated, or use the output of `openssl rand -hex 32`"
        )
    return LiveToken(settings.token)


def load_graphs(settings: ServeSettings) -> LoadedFile:
    """Return graph loaders and descriptions by name, and all allowed origins. Raises `GraphLoadError`."""
    from pydantic import ValidationError

    from agent.runtime.loader import LoadedFile, load_object, problems_in, read_graphs_file

    if settings.graphs is None:
        graphs = LoadedFile({name: partial(load_object, use) for name, use in OWN_GRAPHS.items()}, {})
    else:
        graphs = read_graphs_file(settings.graphs)
    try:
        return replace(graphs, cors=graphs.cors.add_origins(settings.cors_origins))
    except ValidationError as error:
        raise GraphLoadError(f"--cors-origin: {problems_in(error)[0]}") from error


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the options that limit clients' resources."""
    parser.add_argument("--max-connections", type=positive_number, default=1024)
    parser.add_argument("--header-seconds", type=positive_number, default=10)
    parser.add_argument("--body-seconds", type=positive_number, default=20)
    parser.add_argument("--max-body-mb", type=positive_number, default=64)


def parse_arguments(arguments: Sequence[str]) -> ServeSettings:
    """Parse the command line; token and signing key are taken from the environment and removed there."""
    parser = argparse.ArgumentParser(
        prog="python -m agent.serve", description="Serve graphs by the LangGraph API."
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=port_number, default=2024)
    parser.add_argument("--uds", type=Path)
    parser.add_argument("--graphs", type=Path, help="a langgraph.json; default: the lead agent")
    parser.add_argument("--config", type=Path)
    parser.add_argument("--home", type=Path, default=Path(os.environ.get("ROEBOT_HOME") or ".roebot"))
    parser.add_argument("--replica", default=os.environ.get(REPLICA_VARIABLE, ""))
    parser.add_argument("--allowed-host", action="append", default=[], dest="allowed_hosts")
    parser.add_argument("--cors-origin", action="append", default=[], dest="cors_origins")
    parser.add_argument("--max-runs", type=int, default=256)
    add_limits(parser)
    parser.add_argument("--port-file", type=Path)
    parser.add_argument("--ready-fd", type=int)
    parser.add_argument("--parent-pid", type=int)
    parser.add_argument("--until-stdin-closes", action="store_true")
    given = vars(parser.parse_args(arguments))
    for name in ("allowed_hosts", "cors_origins"):
        given[name] = tuple(given[name])
    given["body_bytes"] = given.pop("max_body_mb") * 1_000_000
    given["connections"] = ConnectionLimits(
        total=given.pop("max_connections"),
        header_seconds=given.pop("header_seconds"),
        body_seconds=given.pop("body_seconds"),
    )
    key = os.environ.pop(KEY_VARIABLE, None) or None
    return ServeSettings(**given, token=os.environ.pop(TOKEN_VARIABLE, None) or None, signing_key=key)


if __name__ == "__main__":
    raise SystemExit(run_server(parse_arguments(sys.argv[1:])))
