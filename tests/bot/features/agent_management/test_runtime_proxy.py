"""Calls that are passed on to the agent runtime, and runtimes that are away or foreign."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
from fastapi import Depends, FastAPI
from langgraph_sdk import get_client
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from bot.access import Role
from bot.app.http_server import api_services
from bot.features.agent_management import runtime_proxy
from bot.server.api.auth import AuthMethod, Principal, attach_principal
from bot.server.api.dependencies import RuntimeClients
from bot.server.api.errors import add_handlers
from bot.server.api.sessions import LinkSessions
from tests.harness.credentials import SERVICE_TOKEN
from tests.platforms.web.people import CHATS, signed_in
from tests.platforms.web.serving import RUNTIME_TOKEN, serving, world

PROPOSING = """
models:
  - {name: m, use: "roebot_testing.agent.model:ScriptedChatModel", script: {reply: '["And then?"]'}}
"""


async def test_models_come_from_the_runtime(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        answer = await service.http.get("/api/models")
        assert answer.status_code == 200
        assert "models" in answer.json()
        missing = await service.http.get("/api/models/nobody")
        assert missing.status_code == 404
        assert "nobody" in missing.json()["detail"]


async def test_memory_is_the_owners_own_unless_another_is_named(tmp_path: Path) -> None:
    """Who has the service's token is the one that writes at the page."""
    async with world(tmp_path) as service:
        await service.http.post("/api/memory/facts", json={"content": "Mine."})
        other = {"scope": "group:telegram:-100"}
        await service.http.post("/api/memory/facts", params=other, json={"content": "Theirs."})
        for params, content in (
            ({}, "Mine."),
            ({"scope": "person:web:web:owner"}, "Mine."),
            (other, "Theirs."),
        ):
            found = await service.http.get("/api/memory", params=params)
            assert [fact["content"] for fact in found.json()["facts"]] == [content]
        status = await service.http.get("/api/memory/status?x=1")
        assert status.json()["scope"] == "person:web:web:owner"
        assert (await service.http.delete("/api/memory")).json()["success"]
        assert (await service.http.get("/api/memory")).json()["facts"] == []


async def test_the_sdk_works_through_the_port(tmp_path: Path) -> None:
    """The client needs no token of the runtime's own: the service adds it."""
    async with world(tmp_path, graph="slow") as service:
        client = get_client(url=f"{service.url}/api/langgraph", api_key=SERVICE_TOKEN)
        try:
            thread = await client.threads.create()
            events = []
            stream = client.runs.stream(
                thread["thread_id"],
                "slow",
                input={"messages": [{"type": "human", "content": "[tokens=5]"}]},
                stream_mode="messages-tuple",
            )
            async for part in stream:
                events.append(part.event)
            assert events.count("messages") >= 5
            state: Any = await client.threads.get_state(thread["thread_id"])
            assert state["values"]["messages"][-1]["content"].startswith("word1")
        finally:
            await client.aclose()


async def test_what_to_say_next_comes_of_what_was_said_in_the_thread(tmp_path: Path) -> None:
    async with world(tmp_path, extra=PROPOSING) as service:
        client = get_client(url=f"{service.url}/api/langgraph", api_key=SERVICE_TOKEN)
        try:
            thread = (await client.threads.create())["thread_id"]
            path = f"/api/threads/{thread}/suggestions"
            assert (await service.http.post(path, json={})).json() == {"suggestions": []}
            await client.runs.wait(thread, "echo", input={"messages": [{"type": "human", "content": "Hi"}]})
            assert (await service.http.post(path, json={})).json() == {"suggestions": ["And then?"]}
        finally:
            await client.aclose()
        gone = await service.http.post(path.replace(thread, str(uuid4())), json={})
        assert gone.status_code == 404


async def test_proposals_count_for_the_budget_of_who_asks(tmp_path: Path) -> None:
    extra = f"{CHATS}{PROPOSING}budgets: {{person: {{messages_per_hour: 2}}}}\n"
    async with world(tmp_path, extra=extra) as service, signed_in(service) as ann:
        made = (await ann.post("/api/conversations", json={})).json()
        path = f"/api/conversations/{made['id']}/messages"
        turn = (await ann.post(path, json={"text": "hello"})).json()["turn"]
        while not (await ann.get(f"/api/turns/{turn}")).json()["finished_at"]:
            await asyncio.sleep(0.02)
        thread = (await ann.get(f"/api/conversations/{made['id']}")).json()["thread_id"]
        first, second = [await ann.post(f"/api/threads/{thread}/suggestions", json={}) for _ in range(2)]
        assert (first.status_code, first.json()) == (200, {"suggestions": ["And then?"]})
        assert second.status_code == 429
        assert second.json()["detail"].startswith("You've reached your hourly message limit (2).")


async def test_who_changed_agents_and_mcp_servers_is_written_down(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        made = await service.http.post("/api/agents", json={"name": "Poet", "description": "Rhymes."})
        assert (made.status_code, made.headers["location"]) == (201, "/api/agents/poet")
        assert (await service.http.post("/api/agents", json={"name": "Poet"})).status_code == 409
        assert (await service.http.put("/api/agents/poet", json={"description": "Sings."})).status_code == 200
        assert (await service.http.put("/api/mcp/config", json={"mcp_servers": {}})).status_code == 200
        assert (await service.http.delete("/api/agents/poet")).status_code == 200
        entries = (await service.http.get("/api/audit")).json()["entries"]
        deeds = [(one["action"], one["subject"], one["detail"]) for one in reversed(entries)]
        assert deeds == [
            ("agents changed", "poet", "POST"),
            ("agents changed", "poet", "PUT poet"),
            ("mcp changed", "config", "PUT config"),
            ("agents changed", "poet", "DELETE poet"),
        ]


async def test_what_is_changed_of_memory_and_threads_is_written_down(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        other = {"scope": "person:tg:telegram:7"}
        await service.http.post("/api/memory/facts", json={"content": "Mine."})
        await service.http.post("/api/memory/facts", params=other, json={"content": "Theirs."})
        assert (await service.http.delete("/api/memory", params=other)).status_code == 200
        assert (await service.http.post("/api/channels/terminal/restart")).status_code == 202
        client = get_client(url=f"{service.url}/api/langgraph", api_key=SERVICE_TOKEN)
        try:
            thread = (await client.threads.create())["thread_id"]
            await client.threads.delete(thread)
        finally:
            await client.aclose()
        entries = (await service.http.get("/api/audit")).json()["entries"]
        deeds = [(one["action"], one["subject"], one["detail"]) for one in reversed(entries)]
        assert deeds == [
            ("memory changed", "person:web:web:owner", "POST facts"),
            ("read", "memory person:tg:telegram:7", ""),
            ("memory changed", "person:tg:telegram:7", "POST facts"),
            ("memory changed", "person:tg:telegram:7", "DELETE"),
            ("restart", "terminal", ""),
            ("read", "agent runtime", ""),
            ("agent runtime changed", f"/threads/{thread}", "DELETE"),
        ]


async def test_nothing_of_the_runtime_is_reached_without_the_service(tmp_path: Path) -> None:
    async with (
        world(tmp_path) as service,
        httpx.AsyncClient(verify=False, base_url=service.runtime_url) as direct,
    ):
        assert (await direct.get("/api/models")).status_code == 401
        told = await service.http.get("/api/langgraph/info", headers={"x-api-key": "other"})
        assert told.status_code == 200
        assert RUNTIME_TOKEN not in told.text


async def test_a_runtime_that_is_away_is_said_so(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        service.runtime.should_exit = True
        while service.runtime.started and service.runtime.servers and service.runtime.servers[0].is_serving():
            await service.http.get("/health")
        answer = await service.http.get("/api/models")
        assert answer.status_code == 503
        assert answer.json() == {"detail": "The agent runtime is not responding."}
        ready = await service.http.get("/health/ready")
        assert ready.status_code == 503
        assert ready.json()["runtime"]["ok"] is False
        assert ready.json()["database"]["ok"] is True
        assert (await service.http.get("/health")).status_code == 200


async def echo(request: Request) -> Response:
    """What arrived, as JSON."""
    return JSONResponse(
        {
            "method": request.method,
            "path": request.scope["raw_path"].decode(),
            "query": request.url.query,
            "headers": dict(request.headers),
            "body": (await request.body()).decode(),
        },
        headers={"set-cookie": "stolen=1", "x-kept": "yes"},
    )


async def broken(_request: Request) -> Response:
    return PlainTextResponse("secret trace", 500)


async def streaming(_request: Request) -> Response:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"data: 1\n\n"
        yield b"data: 2\n\n"

    return StreamingResponse(chunks(), media_type="text/event-stream")


def owner(request: Request) -> None:
    attach_principal(request.scope, Principal(Role.OWNER, AuthMethod.TOKEN))


@asynccontextmanager
async def foreign(home: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of our routes in front of a server that is not ours."""
    methods = ["GET", "POST", "DELETE"]
    other = Starlette(
        routes=[
            Route("/info", broken),
            Route("/ok", streaming),
            Route("/api/threads/t/artifacts/{rest:path}", echo, methods=methods),
        ]
    )
    async with world(home) as service, serving(other) as (url, _):
        runtime = httpx.AsyncClient(verify=False, base_url=url, headers={"authorization": "Bearer service"})
        app = FastAPI(dependencies=[Depends(owner)])
        add_handlers(app)
        app.include_router(runtime_proxy.router)
        app.state.services = api_services(service.service, port=0)
        app.state.links = LinkSessions(app.state.services)
        app.state.runtime = RuntimeClients(runtime, runtime)
        async with (
            serving(app) as (own, _),
            httpx.AsyncClient(
                verify=False, base_url=own, headers={"authorization": "Bearer client"}
            ) as client,
        ):
            yield client
        await app.state.runtime.close()


async def test_the_clients_own_credentials_stop_here(tmp_path: Path) -> None:
    async with foreign(tmp_path) as client:
        headers = {
            "cookie": "roebot_session=x",
            "x-api-key": "mine",
            "x-forwarded-for": "1.2.3.4",
            "x-a": "b",
        }
        answer = await client.post("/api/threads/t/artifacts/a%2Fb?x=1&x=2", json={"k": 1}, headers=headers)
        seen = answer.json()
        assert seen["headers"]["authorization"] == "Bearer service"
        assert {"cookie", "x-api-key", "x-forwarded-for", "origin"}.isdisjoint(seen["headers"])
        assert seen["headers"]["x-a"] == "b"
        assert (seen["method"], seen["path"], seen["query"]) == (
            "POST",
            "/api/threads/t/artifacts/a%2Fb",
            "x=1&x=2",
        )
        assert seen["body"] == '{"k":1}'
        assert "set-cookie" not in answer.headers
        assert answer.headers["x-kept"] == "yes"


async def test_a_server_without_management_routes_says_so(tmp_path: Path) -> None:
    async with foreign(tmp_path) as client:
        for path in ("/api/models", "/api/threads/1/uploads/list", "/api/skills"):
            answer = await client.get(path)
            assert answer.status_code == 404
            assert answer.json() == {"detail": "The agent runtime does not have this route."}


async def test_errors_keep_their_status_and_tell_nothing_else(tmp_path: Path) -> None:
    async with foreign(tmp_path) as client:
        answer = await client.get("/api/langgraph/info")
        assert (answer.status_code, answer.json()) == (
            500,
            {"detail": "The agent runtime returned status 500."},
        )


async def test_unknown_areas_and_dots_are_not_passed_on(tmp_path: Path) -> None:
    async with foreign(tmp_path) as client:
        for path in ("/api/nothing", "/api/langgraph/threads/%2e%2e/x", "/api/threads/%2e/x"):
            assert (await client.get(path)).status_code == 404, path


async def test_a_stream_arrives_as_it_is(tmp_path: Path) -> None:
    async with foreign(tmp_path) as client, client.stream("GET", "/api/langgraph/ok") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert b"".join([chunk async for chunk in answer.aiter_raw()]) == b"data: 1\n\ndata: 2\n\n"
