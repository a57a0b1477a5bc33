"""The OpenAPI documents: the service's own, and the agent runtime's below `/api/langgraph`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.platforms.web.serving import world

RUNTIME_DOCUMENT = "/api/langgraph/openapi.json"


def references(value: object) -> Iterator[str]:
    """Yield every reference in a document."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "$ref":
                yield item
            else:
                yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


async def test_the_document_describes_the_service_and_links_the_runtime(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        document = (await service.http.get("/api/openapi.json")).json()
        assert {"/health", "/metrics", "/api/channels", "/api/conversations", "/api/turns"} <= set(
            document["paths"]
        )
        posted = document["paths"]["/api/conversations/{conversation}/messages"]["post"]["requestBody"]
        assert set(posted["content"]) == {"application/json", "multipart/form-data"}
        assert not [path for path in document["paths"] if path.startswith(("/api/langgraph", "/api/agents"))]
        schemas = document["components"]["schemas"]
        for reference in references(document):
            assert reference.removeprefix("#/components/schemas/") in schemas
        assert RUNTIME_DOCUMENT in document["info"]["description"]
        runtime = (await service.http.get(RUNTIME_DOCUMENT)).json()
        made = runtime["paths"]["/api/agents"]["post"]
        body = made["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        schemas = runtime["components"]["schemas"]
        assert set(schemas[body.rpartition("/")[2]]["properties"]) >= {"name", "model", "personality"}
        run = runtime["paths"]["/threads/{thread_id}/runs/stream"]["post"]
        assert "text/event-stream" in run["responses"]["200"]["content"]
        assert [one["name"] for one in run["parameters"]] == ["thread_id"]
        for path in ("/api/threads/{thread_id}/suggestions", "/api/threads/{thread_id}/artifacts/{path}"):
            assert path in runtime["paths"]
        for reference in references(runtime):
            assert reference.removeprefix("#/components/schemas/") in schemas


async def test_the_document_does_not_need_the_runtime(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        service.runtime.should_exit = True
        while service.runtime.started and service.runtime.servers and service.runtime.servers[0].is_serving():
            await service.http.get("/health")
        document = (await service.http.get("/api/openapi.json")).json()
        assert "/api/turns" in document["paths"]
        assert (await service.http.get(RUNTIME_DOCUMENT)).status_code == 503
