"""The route about the configuration."""

from __future__ import annotations

import os
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agent.catalog.source import ModelSource
from agent.config.extensions_source import ExtensionsSource
from agent.management.check.report import report
from agent.management.routes.endpoints import answer, guarded


def config_routes(home: Path, source: ModelSource, extensions: ExtensionsSource) -> list[BaseRoute]:
    """`GET /api/config/problems`: what of the configuration can't be used, looked at now."""

    async def problems(_: Request) -> Response:
        source.expire()
        return answer(await report(source, home, os.environ, extensions))

    return [Route("/api/config/problems", guarded(problems), methods=["GET"])]
