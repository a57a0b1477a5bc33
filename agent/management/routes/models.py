"""The routes about models."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agent.catalog.source import ModelSource
from agent.management.check.models import probe_model
from agent.management.routes.endpoints import answer, guarded
from agent.management.routes.pagination import paged


def model_routes(source: ModelSource) -> list[BaseRoute]:
    """`GET /api/models`, `GET /api/models/{name}` and `POST /api/models/{name}/probe`."""

    async def listing(request: Request) -> Response:
        return paged(request, (await source.catalog()).describe_all(), "models")

    async def one(request: Request) -> Response:
        catalog = await source.catalog()
        return answer(catalog.describe(catalog.pick(request.path_params["name"])))

    async def probed(request: Request) -> Response:
        catalog = await source.catalog()
        return answer(await probe_model(catalog.pick(request.path_params["name"])))

    return [
        Route("/api/models", guarded(listing), methods=["GET"]),
        Route("/api/models/{name:path}/probe", guarded(probed), methods=["POST"]),
        Route("/api/models/{name:path}", guarded(one), methods=["GET"]),
    ]
