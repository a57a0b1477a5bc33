"""The OpenAPI document: one for everything behind the port, and what it says while the runtime is away."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.app.http_server import api_services
from bot.server.api.dependencies import ApiServices
from bot.server.api.openapi import AWAY, RuntimeDocuments, merge_documents
from bot.server.api.runtime_proxy import RuntimeClients
from bot.testing.clock import ManualClock
from tests.platforms.web.serving import serving, world

OWN: dict[str, Any] = {"info": {"title": "Roebot"}, "paths": {"/health": {"get": {}}}, "components": {}}


def references(value: object) -> Iterator[str]:
    """Every reference in a document."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "$ref":
                yield item
            else:
                yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


async def test_it_names_the_routes_of_both_halves(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        document = (await service.http.get("/api/openapi.json")).json()
        schemas = document["components"]["schemas"]
        made = document["paths"]["/api/agents"]["post"]
        body = made["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        assert set(schemas[body.rpartition("/")[2]]["properties"]) >= {"name", "model", "personality"}
        answer = made["responses"]["201"]["content"]["application/json"]["schema"]["$ref"]
        assert "problem" in schemas[answer.rpartition("/")[2]]["properties"]
        assert "/api/threads/{thread_id}/suggestions" in document["paths"]
        run = document["paths"]["/api/langgraph/threads/{thread_id}/runs/stream"]["post"]
        assert "text/event-stream" in run["responses"]["200"]["content"]
        assert [one["name"] for one in run["parameters"]] == ["thread_id"]
        assert "/api/threads/{thread_id}/artifacts/{path}" in document["paths"]
        assert "description" not in document["info"]
        for reference in references(document):
            assert reference.removeprefix("#/components/schemas/") in schemas
        again = (await service.http.get("/api/openapi.json")).json()
        assert again == document


async def test_while_the_runtime_is_away_it_says_so(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        service.runtime.should_exit = True
        while service.runtime.started and service.runtime.servers and service.runtime.servers[0].is_serving():
            await service.http.get("/health")
        document = (await service.http.get("/api/openapi.json")).json()
        assert document["info"]["description"] == AWAY
        assert "/api/turns" in document["paths"]
        assert not [path for path in document["paths"] if path.startswith(("/api/langgraph", "/api/agents"))]


@dataclass
class Foreign:
    """A server that says what it serves, and counts how often it was asked."""

    document: Any
    asked: int = 0

    async def openapi(self, _request: Request) -> Response:
        self.asked += 1
        return JSONResponse(self.document)


@asynccontextmanager
async def asking(foreign: Foreign) -> AsyncIterator[RuntimeClients]:
    async with serving(Starlette(routes=[Route("/openapi.json", foreign.openapi)])) as (url, _):
        client = httpx.AsyncClient(base_url=url)
        try:
            yield RuntimeClients(client, client)
        finally:
            await client.aclose()


def starting(services: ApiServices, start: int, clock: ManualClock) -> ApiServices:
    return replace(services, runtime_start=lambda: start, clock=clock)


async def test_the_runtime_is_asked_once_for_each_of_its_starts(tmp_path: Path) -> None:
    foreign, clock = Foreign({"paths": {"/runs": {}}}), ManualClock()
    async with world(tmp_path) as service, asking(foreign) as runtime:
        services, described = api_services(service.service, port=0), RuntimeDocuments()
        for start, asked in ((1, 1), (1, 1), (2, 2), (2, 2)):
            await described.load_parts(starting(services, start, clock), runtime)
            assert foreign.asked == asked


async def test_one_that_is_elsewhere_is_asked_again_after_a_while(tmp_path: Path) -> None:
    foreign, clock = Foreign({"paths": {}}), ManualClock()
    async with world(tmp_path) as service, asking(foreign) as runtime:
        services, described = starting(api_services(service.service, port=0), 0, clock), RuntimeDocuments()
        for seconds, asked in ((0.0, 1), (299.0, 1), (2.0, 2)):
            await clock.advance(seconds)
            await described.load_parts(services, runtime)
            assert foreign.asked == asked


async def test_schemas_of_others_are_not_mistaken_for_ours(tmp_path: Path) -> None:
    schema = {"$ref": "#/components/schemas/Health"}
    told = {"get": {"security": [{"key": []}], "responses": {"200": {"content": {"x": {"schema": schema}}}}}}
    theirs = {
        "paths": {"/ok": told, "/api/models": told, "/api/secrets": told, "/health": told},
        "components": {"schemas": {"Health": {"type": "object"}}, "securitySchemes": {"key": {}}},
    }
    own = {**OWN, "components": {"schemas": {"Health": {"type": "string"}}}}
    async with world(tmp_path) as service, asking(Foreign(theirs)) as runtime:
        whole = merge_documents(
            own, await RuntimeDocuments().load_parts(api_services(service.service, port=0), runtime)
        )
    assert set(whole["paths"]) == {
        "/health",
        "/api/langgraph/ok",
        "/api/langgraph/health",
        "/api/models",
    }
    found = whole["paths"]["/api/models"]["get"]
    assert "security" not in found
    assert list(references(found)) == ["#/components/schemas/agent.Health"]
    assert whole["components"] == {
        "schemas": {"Health": {"type": "string"}, "agent.Health": {"type": "object"}}
    }
    assert own["components"] == {"schemas": {"Health": {"type": "string"}}}


async def test_what_is_no_document_is_none(tmp_path: Path) -> None:
    for nonsense in ([], {"paths": 3}, "x"):
        async with world(tmp_path) as service, asking(Foreign(nonsense)) as runtime:
            whole = merge_documents(
                OWN, await RuntimeDocuments().load_parts(api_services(service.service, port=0), runtime)
            )
        assert whole["info"]["description"] == AWAY
