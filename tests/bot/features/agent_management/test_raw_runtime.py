"""What owners may call of the agent runtime's own API, and as whom their runs work."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import orjson
import pytest
from fastapi import Depends, FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.access import Role
from bot.app.http_server import api_services
from bot.domain import Sender
from bot.features.agent_management import runtime_proxy
from bot.features.agent_management.raw_runtime import LARGEST_BODY, OWNER_KEY
from bot.features.agent_management.runtime_proxy import METHODS
from bot.server.api.auth import AuthMethod, Principal, attach_principal
from bot.server.api.dependencies import RuntimeClients
from bot.server.api.errors import add_handlers
from bot.server.api.sessions import LinkSessions
from bot.store.admission_types import Verdict
from bot.store.audit import list_audit_entries
from tests.contract.store.inbound_messages import ANN as ANN_HERSELF
from tests.contract.store.inbound_messages import BEN, accept, admission, message
from tests.platforms.web.people import CHATS
from tests.platforms.web.serving import World, world

FORGED: dict[str, Any] = {
    "user_id": "telegram:8",
    "roles": ["owner"],
    "approved": ["bash"],
    "account": "far",
    "platform": "slack",
    "chat": "C1",
    "chat_kind": "group",
    "turn_id": "12",
    "__pregel_resume_map": {"i": "approve"},
}
OPTIONS = {"model_name": "m", "locale": "zh"}
ANN = Principal(Role.OWNER, AuthMethod.LINK, Sender("telegram:7", "Ann", account="tg"))
IDENTITY = {
    "user_id": "telegram:7",
    "roles": ["owner", "admin", "member"],
    "account": "tg",
    "platform": "web",
    "chat_kind": "private",
}
FORGED_INPUT = {"messages": [{"type": "human", "content": "x", "additional_kwargs": {"sender": "slack:U1"}}]}
INPUT = {"messages": [{"type": "human", "content": "x", "additional_kwargs": {}}]}


@dataclass
class Bench:
    """The routes in front of a runtime that only records what it is sent."""

    http: httpx.AsyncClient
    service: World
    by: Principal = ANN
    owners: dict[str, str] = field(default_factory=dict)
    """Who created which thread."""
    seen: list[tuple[str, str, Any]] = field(default_factory=list)

    async def answer(self, request: Request) -> Response:
        """Be the runtime."""
        method, path, content = request.method, request.url.path, await request.body()
        thread = path.rpartition("/")[2]
        if method == "GET" and path == f"/threads/{thread}":
            if thread not in self.owners:
                return JSONResponse({"detail": "none"}, 404)
            return JSONResponse({"metadata": {OWNER_KEY: self.owners[thread]}})
        self.seen.append((method, path, orjson.loads(content) if content else None))
        return JSONResponse({})

    async def call(self, line: str, body: Any = None) -> int:
        """The status of a call."""
        method, path = line.split()
        return (await self.http.request(method, f"/api/langgraph{path}", json=body)).status_code


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path) as made:
        yield made


@asynccontextmanager
async def bench(home: Path) -> AsyncIterator[Bench]:
    async def sign_in(request: Request) -> None:
        attach_principal(request.scope, made.by)

    app = FastAPI(dependencies=[Depends(sign_in)])
    add_handlers(app)
    app.include_router(runtime_proxy.router)
    async with world(home, extra=CHATS) as service:
        http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://bot")
        made = Bench(http, service)
        recording = Starlette(routes=[Route("/{path:path}", made.answer, methods=METHODS)])
        transport = httpx.ASGITransport(recording)
        runtime = httpx.AsyncClient(transport=transport, base_url="http://runtime")
        app.state.services = api_services(service.service, port=0)
        app.state.links = LinkSessions(app.state.services)
        app.state.runtime = RuntimeClients(runtime, runtime)
        async with http, runtime:
            yield made


@pytest.mark.guard(
    "a raw run works for its caller",
    "bot/features/agent_management/raw_runtime.py",
    'run["context"] = {**run["context"], **identity}',
    'run["context"] = {**identity, **(body or {}).get("context", {})}  # type: ignore[attr-defined]',
    against="forged identities",
)
async def test_a_run_works_for_who_calls_whatever_the_body_says(at: Bench) -> None:
    thread = str(uuid4())
    at.owners[thread] = "telegram:7"
    for path in (f"/threads/{thread}/runs", "/runs"):
        for way in ("", "/stream", "/wait"):
            for where in ("configurable", "context"):
                told = {**OPTIONS, **FORGED}
                sent = {"context": told} if where == "context" else {"config": {"configurable": told}}
                body = {"assistant_id": "a", "input": FORGED_INPUT, **sent}
                assert await at.call(f"POST {path}{way}", body) == 200
                method, reached, run = at.seen.pop()
                assert (method, reached, run["input"]) == ("POST", f"{path}{way}", INPUT)
                found = run["context"] if where == "context" else run["config"]["configurable"]
                assert found == {**OPTIONS, **IDENTITY}
    assert await at.call("POST /runs/batch", [{"assistant_id": "a", "context": FORGED}, {}]) == 200
    _, _, [first, second] = at.seen.pop()
    assert first["context"] == second["config"]["configurable"] == IDENTITY
    odd = {"assistant_id": "a", "config": {"configurable": ["roles"]}, "context": "roles"}
    assert await at.call("POST /runs", odd) == 200
    assert at.seen.pop()[2] == {
        "assistant_id": "a",
        "config": {"configurable": IDENTITY},
        "input": None,
    }


@pytest.mark.guard(
    "a command of a raw run names no author",
    "bot/features/agent_management/raw_runtime.py",
    'without_authors(run["command"])',
    'run["command"]',
    against="forged identities",
)
async def test_a_command_names_no_author(at: Bench) -> None:
    body = {"assistant_id": "a", "command": {"resume": "yes", "update": FORGED_INPUT}}
    assert await at.call("POST /runs", body) == 200
    assert at.seen.pop()[2]["command"] == {"resume": "yes", "update": INPUT}


@pytest.mark.guard(
    "a run of the thread protocol works for its caller",
    "bot/features/agent_management/raw_runtime.py",
    '        return {**body, "params": self._run_body(params)}',
    '        return {**body, "params": params}',
    against="forged identities",
)
@pytest.mark.parametrize("method", ["run.start", "input.respond"])
async def test_a_command_to_a_thread_works_for_who_calls(at: Bench, method: str) -> None:
    thread = str(uuid4())
    path = f"/threads/{thread}/commands"
    told = {**OPTIONS, **FORGED}
    params = {"assistant_id": "a", "input": FORGED_INPUT, "update": FORGED_INPUT}
    params |= {"config": {"configurable": told}, "context": told}
    body = {"id": 1, "method": method, "params": params}
    assert await at.call(f"POST {path}", body) == 404
    at.owners[thread] = "telegram:7"
    assert await at.call(f"POST {path}", body) == 200
    sent = {"assistant_id": "a", "input": INPUT, "update": INPUT}
    sent |= {"config": {"configurable": {**OPTIONS, **IDENTITY}}}
    assert at.seen == [("POST", path, {"id": 1, "method": method, "params": sent})]
    found = await at.service.service.db.transact(list_audit_entries)
    assert [one.deed.action for one in found].count("agent runtime run") == 1


@pytest.mark.guard(
    "each raw run is recorded",
    "bot/features/agent_management/raw_runtime.py",
    "        if call.is_run or call.is_command:\n            actor",
    "        if False:\n            actor",
    against="forged identities",
)
async def test_each_run_is_written_down(at: Bench) -> None:
    for _ in range(2):
        await at.call("POST /runs/wait", {"assistant_id": "a"})
    found = await at.service.service.db.transact(list_audit_entries)
    assert [(one.person, one.deed.action, one.deed.subject) for one in found] == [
        ("telegram:7", "agent runtime run", "/runs/wait"),
        ("telegram:7", "agent runtime run", "/runs/wait"),
        ("telegram:7", "read", "agent runtime"),
    ]


THREAD_CALLS = (
    *("GET {}", "PATCH {}", "DELETE {}", "GET {}/state", "POST {}/state", "POST {}/state/checkpoint"),
    *("GET {}/state/c1", "GET {}/history", "POST {}/history", "POST {}/copy", "GET {}/runs", "POST {}/runs"),
    *("POST {}/runs/stream", "POST {}/runs/wait", "GET {}/runs/r1", "DELETE {}/runs/r1"),
    *("POST {}/runs/r1/cancel", "GET {}/runs/r1/join", "GET {}/runs/r1/stream"),
    *("POST {}/commands", "POST {}/stream/events", "GET {}/stream"),
)
NAMED = (
    ("POST /threads/prune", lambda thread: {"thread_ids": [thread]}),
    ("POST /runs/cancel", lambda thread: {"thread_id": thread, "status": "all"}),
    ("POST /runs", lambda thread: {"thread_id": thread}),
    ("POST /runs/wait", lambda thread: {"thread_id": thread}),
    ("POST /runs/batch", lambda thread: [{}, {"thread_id": thread}]),
    ("POST /threads", lambda thread: {"thread_id": thread, "if_exists": "do_nothing"}),
)


@pytest.mark.guard(
    "a conversation is not copied out of reach of an erasure",
    "bot/features/agent_management/raw_runtime.py",
    '                await self._check_copy(found["thread"])\n',
    "                pass\n",
    against="forged identities",
)
@pytest.mark.guard(
    "raw runs are on threads of the caller",
    "bot/features/agent_management/raw_runtime.py",
    "if not may(self._services, by, Permission.RAW_RUNS, Target(own=own)):",
    "if False:",
    against="forged identities",
)
@pytest.mark.guard(
    "a thread of a conversation is not taken over by creating it",
    "bot/features/agent_management/raw_runtime.py",
    "if not own and not await db.transact(find_thread_conversations, thread):",
    "if not own:",
    against="forged identities",
)
async def test_only_ones_own_threads_are_reached(at: Bench) -> None:
    """Those of one's own conversations, and those that one created; never one of another conversation."""
    mine, bens, created, elses, unknown = (str(uuid4()) for _ in range(5))
    for sender, thread in ((ANN_HERSELF, mine), (BEN, bens)):
        asked = admission(message(sender=sender, chat=f"p{sender.id}"), Verdict.NOTICE, notice="hello")
        await accept(at.service.service.db, replace(asked, thread_id=thread), now=1.0)
    # Somebody created a thread with the id of a conversation before its first message.
    at.owners = {mine: "", created: "telegram:7", elses: "telegram:8", bens: "telegram:7"}
    for thread, own in ((mine, True), (created, True), (bens, False), (elses, False), (unknown, False)):
        for line in THREAD_CALLS:
            at.seen.clear()
            status = await at.call(line.format(f"/threads/{thread}"), None if "GET" in line else {})
            outlives = thread == mine and line == "POST {}/copy"
            assert status == (403 if outlives else 200 if own else 404), line
            # The only call that comes through for a thread of somebody else asks whose it is.
            assert bool(at.seen) is (own and not outlives and line != "GET {}"), line
        for line, make in NAMED:
            free = thread == unknown and line == "POST /threads"
            assert await at.call(line, make(thread)) == (200 if own or free else 404), line
    for line, body in (
        ("POST /runs/cancel", {"status": "all"}),
        ("POST /runs/cancel", {"run_ids": [str(uuid4())]}),
        ("POST /threads/prune", {"thread_ids": ["*"]}),
        ("POST /threads/prune", {"thread_ids": "all"}),
        ("POST /runs", {"thread_id": "../assistants"}),
        ("POST /runs", ["x"]),
        ("POST /runs/batch", {}),
    ):
        assert await at.call(line, body) == 422, line


async def test_a_thread_belongs_to_who_created_it(at: Bench) -> None:
    mine = str(uuid4())
    at.owners[mine] = "telegram:7"
    body = {"metadata": {OWNER_KEY: "telegram:8", "a": 1}, "supersteps": [{"updates": [FORGED_INPUT]}]}
    for line in (
        "POST /threads",
        f"PATCH /threads/{mine}",
        "POST /threads/search",
        "POST /threads/count",
    ):
        assert await at.call(line, body) == 200
        assert at.seen.pop()[2] == {
            "metadata": {OWNER_KEY: "telegram:7", "a": 1},
            "supersteps": [{"updates": [INPUT]}],
        }
    assert await at.call(f"POST /threads/{mine}/state", {"values": FORGED_INPUT}) == 200
    assert at.seen.pop()[2] == {"values": INPUT}


@pytest.mark.guard(
    "messages that join a run are not written through the port",
    "bot/features/agent_management/raw_runtime.py",
    "    if STEERING in first:",
    "    if False:",
    against="forged identities",
)
@pytest.mark.parametrize(
    ("line", "body", "status"),
    [
        ("POST /runs/crons", {}, 422),
        ("GET /runs/crons/search", None, 422),
        ("DELETE /runs/crons/1", None, 422),
        ("POST /threads/0b9a/runs/crons", {}, 422),
        ("DELETE /assistants/a?delete_threads=true", None, 422),
        ("PUT /store/items", {"namespace": ["steer", "t"], "key": "1", "value": {}}, 403),
        ("DELETE /store/items", {"namespace": ["steer", "t"], "key": "1"}, 403),
        ("GET /store/items?namespace=steer.t&key=1", None, 403),
        ("GET /store/items?namespace=a&namespace=steer.t&key=1", None, 403),
        ("POST /store/items/search", {"namespace_prefix": ["steer"]}, 403),
        ("POST /store/items/search", {}, 422),
        ("POST /store/items/search", None, 422),
        ("POST /storage/compact", {}, 404),
        ("PUT /store/items", {"namespace": "steer", "key": "1", "value": {}}, 422),
        ("PUT /store/items", {"namespace": ["notes"], "key": "1", "value": {}}, 200),
        ("GET /store/items?namespace=notes&key=1", None, 200),
        ("POST /store/items/search", {"namespace_prefix": ["notes"]}, 200),
        ("POST /store/namespaces", {}, 200),
        ("GET /info", None, 200),
        ("POST /assistants/search", {}, 200),
        ("GET /internal/dump", None, 404),
        ("POST /mcp", {}, 404),
        ("POST /a2a/x", {}, 404),
        ("POST /threads/stream", {}, 404),
        ("GET /threads/%2e%2e/info", None, 404),
        ("GET /assistants%2fx", None, 404),
    ],
)
async def test_what_is_let_through_besides(at: Bench, line: str, body: Any, status: int) -> None:
    assert await at.call(line, body) == status


async def test_an_assistant_says_not_for_whom_it_works(at: Bench) -> None:
    body = {"graph_id": "a", "context": {**OPTIONS, **FORGED}, "config": {"configurable": FORGED}}
    for line in ("POST /assistants", "PATCH /assistants/1"):
        assert await at.call(line, body) == 200
        assert at.seen.pop()[2] == {"graph_id": "a", "context": OPTIONS, "config": {"configurable": {}}}


async def test_bodies_are_bounded_and_json(at: Bench) -> None:
    large = b'{"a":"' + b"x" * LARGEST_BODY + b'"}'
    for content, status in ((large, 413), (b"{", 400), (b'"\xff"', 400)):
        headers = {"content-type": "application/json"}
        answer = await at.http.post("/api/langgraph/runs", content=content, headers=headers)
        assert answer.status_code == status
    assert at.seen == []
