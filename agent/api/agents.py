"""The routes about agents of one's own."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agent.api.endpoints import answer, guarded
from agent.check.report import offer_of
from agent.models.source import ModelSource
from agent.profiles import describe_profile, describe_profiles


def agent_routes(home: Path, source: ModelSource) -> list[BaseRoute]:
    """`GET /api/agents` and `GET /api/agents/{name}`."""

    async def listing(_: Request) -> Response:
        return answer(await asyncio.to_thread(describe_profiles, home, os.environ, await offer_of(source)))

    async def one(request: Request) -> Response:
        name = request.path_params["name"]
        offer = await offer_of(source)
        return answer(await asyncio.to_thread(describe_profile, home, name, os.environ, offer))

    return [
        Route("/api/agents", guarded(listing), methods=["GET"]),
        Route("/api/agents/{name}", guarded(one), methods=["GET"]),
    ]
