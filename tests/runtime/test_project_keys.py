"""Keys of a `langgraph.json`: routes that it hides, headers, its own application, expiry of threads."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.errors import GraphLoadError
from agent.runtime.http_keys import ConfigurableHeaders
from agent.runtime.loader import read_graphs_file
from roebot_testing.clock import ManualClock
from tests.runtime.serving import Served, serve

pytestmark = pytest.mark.may_block
GRAPH = """
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

class State(TypedDict, total=False):
    seen: dict

def look(state: State, config: RunnableConfig) -> State:
    found = config["configurable"]
    return {"seen": {key: value for key, value in found.items() if isinstance(value, str)}}

graph = StateGraph(State).add_node("look", look).add_edge(START, "look").compile()
"""
APP = """
from contextlib import asynccontextmanager
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.routing import Route

events = []

@asynccontextmanager
async def lifespan(app):
    events.append("open")
    yield
    events.append("closed")

class Marking:
    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        async def mark(message):
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"x-marked", b"yes")]
            await send(message)
        await self.app(scope, receive, mark)

async def hello(request):
    return JSONResponse({"hello": request.path_params["name"], "events": events})

async def info(request):
    return JSONResponse({"mine": True})

routes = [Route("/hello/{name}", hello), Route("/info", info)]
app = Starlette(routes=routes, middleware=[Middleware(Marking)], lifespan=lifespan)
nothing = 7
"""


@asynccontextmanager
async def serve_file(folder: Path, options: Any = None, **keys: Any) -> AsyncIterator[Served]:
    """Serve a project with these keys in its `langgraph.json`."""
    (folder / "graph.py").write_text(GRAPH)
    (folder / "app.py").write_text(APP)
    file = folder / "langgraph.json"
    file.write_text(json.dumps({"graphs": {"g": "./graph.py:graph"}, **keys}))
    found = read_graphs_file(file)
    options = {"settings": {"project": found.project}, **(options or {})}
    async with serve(folder / "home", sources=found.sources, **options) as served:
        yield served


DOORS = {
    "assistants": ("POST", "/assistants/search"),
    "threads": ("POST", "/threads"),
    "runs": ("POST", "/runs"),
    "store": ("POST", "/store/items/search"),
    "meta": ("GET", "/info"),
}


@pytest.mark.parametrize("family", DOORS)
async def test_a_disabled_family_is_not_served(tmp_path: Path, family: str) -> None:
    async with serve_file(tmp_path, http={f"disable_{family}": True, "disable_ui": True}) as served:
        for name, (method, path) in DOORS.items():
            response = await served.http.request(method, path, json={} if method == "POST" else None)
            assert (response.status_code in (404, 405)) == (name == family), (name, response.status_code)
        assert (await served.http.get("/ok")).status_code == 200


async def test_without_runs_nothing_starts_one(tmp_path: Path) -> None:
    thread = "0b1f9c3e-0000-4000-8000-000000000001"
    async with serve_file(tmp_path, http={"disable_runs": True}) as served:
        for path in (f"/threads/{thread}/runs", "/runs/wait", "/runs/crons", f"/threads/{thread}/commands"):
            assert (await served.http.post(path, json={"assistant_id": "g"})).status_code in (404, 405)
    async with serve_file(tmp_path, http={"disable_meta": True}) as served:
        assert (await served.http.get("/openapi.json")).status_code == 404


async def test_a_run_sees_the_chosen_headers(tmp_path: Path) -> None:
    rules = {"includes": ["X-Team*", "user-agent", "*key*", "authorization"], "excludes": ["x-team-secret"]}
    headers = {"x-team-a": "1", "X-Team-Secret": "2", "x-other": "3", "user-agent": "me"}
    async with serve_file(tmp_path, http={"configurable_headers": rules}) as served:
        found = await served.client.runs.wait(None, "g", input={}, headers=headers)
    assert {key: found["seen"][key] for key in ("x-team-a", "user-agent")} == {
        "x-team-a": "1",
        "user-agent": "me",
    }
    assert not {"x-team-secret", "x-other", "x-api-key", "authorization"} & found["seen"].keys()


async def test_a_run_sees_no_headers_by_default(tmp_path: Path) -> None:
    async with serve_file(tmp_path) as served:
        found = await served.client.runs.wait(None, "g", input={}, headers={"x-team": "1"})
    assert not [key for key in found["seen"] if key.startswith("x-") or key == "user-agent"]


def test_patterns_of_headers_know_only_the_asterisk() -> None:
    rules = ConfigurableHeaders(includes=("x-[ab]", "x.y", "a*c*"))
    assert rules.select({"x-[ab]": "1", "x-a": "2", "xzy": "3", "abcd": "4", "ab": "5"}) == {
        "x-[ab]": "1",
        "abcd": "4",
    }


async def test_a_header_cannot_state_an_identity(tmp_path: Path) -> None:
    async with serve_file(tmp_path, http={"configurable_headers": {"includes": ["*"]}}) as served:
        app: Any = served.server.config.app
        runtime = app.application.state.runtime
        object.__setattr__(runtime.settings, "signing_key", "k" * 32)
        response = await served.http.post(
            "/runs/wait", json={"assistant_id": "g", "input": {}}, headers={"user_id": "somebody"}
        )
    assert response.status_code == 403


async def test_routes_and_middleware_of_the_project_come_first(tmp_path: Path) -> None:
    async with serve_file(tmp_path, http={"app": "./app.py:app"}) as served:
        response = await served.http.get("/hello/you")
        assert response.json() == {"hello": "you", "events": ["open"]}
        assert (await served.http.get("/info")).json() == {"mine": True}
        found = await served.http.post("/threads", json={})
        assert found.status_code == 200
        assert found.headers["x-marked"] == "yes"
        events = [part.event async for part in served.client.runs.stream(None, "g", input={})]
        assert events[0] == "metadata"
        refused = await served.http.get("/hello/you", headers={"x-api-key": "wrong"})
        assert refused.status_code == 401
        assert (await served.http.get("/nowhere")).status_code == 404


FAST = """
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()

class Asked(BaseModel):
    name: str

@app.post("/hello")
def hello(asked: Asked):
    return {"hello": asked.name}

@app.get("/threads/search")
def search():
    return []
"""


async def test_an_application_of_fastapi_works(tmp_path: Path) -> None:
    (tmp_path / "fast.py").write_text(FAST)
    async with serve_file(tmp_path, http={"app": "./fast.py:app"}) as served:
        assert (await served.http.post("/hello", json={"name": "you"})).json() == {"hello": "you"}
        assert (await served.http.post("/hello", json={})).status_code == 422
        assert (await served.http.get("/info")).json()["server"] == "roebot"
        found = await served.client.runs.wait(None, "g", input={})
        assert "seen" in found
        # The path of a route of the project belongs to it, whatever the method.
        assert (await served.http.post("/threads/search", json={})).status_code == 405
        assert (await served.http.get("/nowhere")).json() == {"detail": "Not Found"}


@pytest.mark.parametrize("app", ["./app.py:nothing", "./app.py:missing", "./none.py:app"])
def test_what_is_no_application_refuses_the_start(tmp_path: Path, app: str) -> None:
    (tmp_path / "app.py").write_text(APP)
    file = tmp_path / "langgraph.json"
    file.write_text(json.dumps({"graphs": {"g": "./graph.py:graph"}, "http": {"app": app}}))
    with pytest.raises(GraphLoadError, match=r"app\.py|none\.py|http\.app"):
        read_graphs_file(file)


async def test_new_threads_expire_as_the_file_says(tmp_path: Path) -> None:
    clock = ManualClock(1_800_000_000.0)
    ttl = {"strategy": "delete", "default_ttl": 5, "sweep_interval_minutes": 1}
    options = {"clock": clock.now, "sleep": clock.sleep}
    async with serve_file(tmp_path, options, checkpointer={"ttl": ttl}) as served:
        threads: Any = served.client.threads
        plain = (await threads.create())["thread_id"]
        own = (await threads.create(ttl=60))["thread_id"]
        implicit = "0b1f9c3e-0000-4000-8000-000000000001"
        await served.client.runs.wait(implicit, "g", input={}, if_not_exists="create")
        await served.client.runs.wait(implicit, "g", input={})
        minutes = [
            (await threads.get(thread, include=["ttl"]))["ttl"]["ttl_minutes"]
            for thread in (plain, own, implicit)
        ]
        assert minutes == [5, 60, 5]
        await clock.advance(2 * 60)
        await threads.create(thread_id=plain, if_exists="do_nothing")
        async with asyncio.timeout(20):
            while [one["thread_id"] for one in await threads.search()] != [own]:
                assert clock.now() < 1_800_000_000.0 + 59 * 60
                await clock.advance(60)
                await asyncio.sleep(0.01)
        assert clock.now() >= 1_800_000_000.0 + 5 * 60


async def test_the_document_describes_bodies_of_the_thread_protocol(tmp_path: Path) -> None:
    async with serve_file(tmp_path) as served:
        paths = (await served.http.get("/openapi.json")).json()["paths"]
    for path, required in (("commands", ["id", "method"]), ("stream/events", ["channels"])):
        body = paths[f"/threads/{{thread_id}}/{path}"]["post"]["requestBody"]
        assert body["content"]["application/json"]["schema"]["required"] == required
