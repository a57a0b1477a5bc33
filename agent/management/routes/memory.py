"""The routes about memory; each takes `?scope=`, without it the runtime's own owner is meant."""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agent.catalog.source import ModelSource
from agent.config.memory import MemoryConfig
from agent.core.interfaces import MemoryScope
from agent.management.routes.endpoints import answer, body_of, guarded
from agent.memory.bodies import FactBody, NewFactBody
from agent.memory.scopes import parse_scope
from agent.memory.service import MemoryService


def memory_routes(home: Path, source: ModelSource) -> list[BaseRoute]:
    """The routes below `/api/memory`."""

    async def settings() -> MemoryConfig:
        return (await source.config()).memory

    return MemoryRoutes(MemoryService(home, settings)).routes()


class MemoryRoutes:
    """Show, export, mend and forget what is remembered."""

    def __init__(self, memory: MemoryService) -> None:
        self._memory = memory

    def routes(self) -> list[BaseRoute]:
        """The routes below `/api/memory`."""
        base = "/api/memory"
        return [
            Route(base, guarded(self.show), methods=["GET"]),
            Route(base, guarded(self.forget), methods=["DELETE"]),
            Route(f"{base}/reload", guarded(self.reload), methods=["POST"]),
            Route(f"{base}/config", guarded(self.config), methods=["GET"]),
            Route(f"{base}/status", guarded(self.status), methods=["GET"]),
            Route(f"{base}/facts", guarded(self.add), methods=["POST"]),
            Route(f"{base}/facts/{{fact}}", guarded(self.change), methods=["PATCH"]),
            Route(f"{base}/facts/{{fact}}", guarded(self.remove), methods=["DELETE"]),
        ]

    async def show(self, request: Request) -> Response:
        """All that is remembered; this is what an export is, too."""
        return answer(await self._memory.load_document(scope_of(request)))

    async def forget(self, request: Request) -> Response:
        """Erase it all."""
        return answer(await self._memory.erase(scope_of(request)))

    async def reload(self, request: Request) -> Response:
        """Read the file anew."""
        return answer(await self._memory.reload_document(scope_of(request)))

    async def config(self, request: Request) -> Response:
        """How memory is configured."""
        scope_of(request)
        return answer(await self._memory.load_settings())

    async def status(self, request: Request) -> Response:
        """How much is remembered, and what waits."""
        return answer(await self._memory.load_status(scope_of(request)))

    async def add(self, request: Request) -> Response:
        """Add a fact."""
        body = NewFactBody.of(await body_of(request))
        return answer(await self._memory.add_fact(scope_of(request), **body.model_dump()), 201)

    async def change(self, request: Request) -> Response:
        """Change a fact."""
        body = FactBody.of(await body_of(request))
        found = await self._memory.change_fact(
            scope_of(request), request.path_params["fact"], **body.model_dump()
        )
        return answer(found)

    async def remove(self, request: Request) -> Response:
        """Forget one fact."""
        return answer(await self._memory.remove_fact(scope_of(request), request.path_params["fact"]))


def scope_of(request: Request) -> MemoryScope:
    """Whose memory is meant. Raises BadIdentifier."""
    return parse_scope(request.query_params.get("scope"))
