"""A project with users whose rows belong to them, for tests of `auth`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIStatusError

from agent.runtime.loader import read_graphs_file
from agent.shared.tls import tls_context
from tests.runtime.serving import Served, serve

GRAPH = """
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.runtime import get_runtime
from langgraph.types import interrupt
from langgraph_sdk.auth.types import BaseUser
from langgraph_sdk.runtime import ServerRuntime
from typing_extensions import TypedDict

class State(TypedDict, total=False):
    ask: str
    seen: dict

def look(state: State, config: RunnableConfig) -> State:
    found = config["configurable"]
    user = found.get("langgraph_auth_user")
    info = get_runtime().server_info
    return {"seen": {
        "user": user and {**user},
        "id": found.get("langgraph_auth_user_id"),
        "permissions": found.get("langgraph_auth_permissions"),
        "team": user and user.team,
        "is_user": isinstance(user, BaseUser),
        "server": info.user and info.user.identity,
    }}

def wait(state: State) -> State:
    return {"ask": interrupt(state.get("ask", ""))}

graph = StateGraph(State).add_node("look", look).add_edge(START, "look").compile()
asking = StateGraph(State).add_node("wait", wait).add_edge(START, "wait").compile()
made = []

def factory(config: RunnableConfig, runtime: ServerRuntime):
    user = runtime.ensure_user()
    made.append((runtime.access_context, user.identity, config["configurable"]["langgraph_auth_user_id"]))
    return graph
"""
AUTH = """
from langgraph_sdk import Auth

auth = Auth()
TEAMS = {"alice": "red", "bob": "blue"}

@auth.authenticate
async def identify(authorization: str | None):
    name = (authorization or "").removeprefix("Bearer ").removesuffix("-key")
    if name not in TEAMS:
        raise Auth.exceptions.HTTPException(401, "Who are you?", headers={"www-authenticate": "Bearer"})
    return {"identity": name, "team": TEAMS[name], "permissions": ["chat"]}

@auth.on
async def own(ctx, value):
    value.setdefault("metadata", {})["owner"] = ctx.user.identity
    return {"owner": ctx.user.identity}

@auth.on.assistants.read
@auth.on.assistants.search
async def shared(ctx, value):
    return {"$or": [{"owner": {"$eq": ctx.user.identity}}, {"created_by": "system"}]}

@auth.on.store
async def own_items(ctx, value):
    value["namespace"] = (ctx.user.identity, *(value["namespace"] or ()))
"""
FILES = {"graph.py": GRAPH, "auth.py": AUTH}
KEYS = {
    "graphs": {
        "g": "./graph.py:graph",
        "asking": "./graph.py:asking",
        "made": "./graph.py:factory",
    },
    "auth": {"path": "./auth.py:auth"},
}


def load(folder: Path, files: dict[str, str] | None = None, **keys: Any) -> Any:
    """Load a project of these files and keys of its `langgraph.json`."""
    for name, text in {**FILES, **(files or {})}.items():
        (folder / name).write_text(text)
    (folder / "langgraph.json").write_text(json.dumps({**KEYS, **keys}))
    return read_graphs_file(folder / "langgraph.json")


@asynccontextmanager
async def serve_project(
    folder: Path, files: dict[str, str] | None = None, options: Any = None, **keys: Any
) -> AsyncIterator[Served]:
    """Serve a project. `client` and `http` are the operator's."""
    found = load(folder, files, **keys)
    options = {"settings": {"project": found.project}, "cors": found.cors, **(options or {})}
    async with serve(folder / "home", sources=found.sources, **options) as served:
        yield served


@asynccontextmanager
async def signed_in(served: Served, *names: str) -> AsyncIterator[tuple[LangGraphClient, ...]]:
    """Clients of users."""
    found = tuple(
        get_client(url=served.url, api_key=None, headers={"authorization": f"Bearer {name}-key"})
        for name in names
    )
    try:
        yield found
    finally:
        for client in found:
            await client.aclose()


@asynccontextmanager
async def browser(served: Served, name: str = "") -> AsyncIterator[httpx.AsyncClient]:
    """An HTTP client of a user, or of nobody."""
    headers = {"authorization": f"Bearer {name}-key"} if name else {}
    async with httpx.AsyncClient(
        base_url=served.url, headers=headers, timeout=30, verify=tls_context()
    ) as http:
        yield http


ALICE = {"identity": "alice", "display_name": "alice", "is_authenticated": True, "team": "red"}
ALICE_RUN = {
    "user": {**ALICE, "permissions": ["chat"]},
    "id": "alice",
    "permissions": ["chat"],
    "team": "red",
    "is_user": True,
    "server": "alice",
}


async def status_of(call: Any) -> int:
    try:
        await call
    except (APIStatusError, httpx.HTTPStatusError) as error:
        return error.response.status_code
    return 200
