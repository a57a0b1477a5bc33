"""A runtime with a signing key takes the identity of a run from nobody but who holds the key."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypedDict
from uuid import uuid4

import httpx
import orjson
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph

from agent.core.run_context import RunContext
from agent.shared.request_signature import LIFETIME, SIGNATURE_HEADER, sign_request
from agent.shared.run_identity import CHAT_FACTS, IDENTITY_FIELDS, MAX_DEPTH, names_author, without_authors
from bot.runtime.signing import RequestSigner
from tests.runtime.serving import SOURCES, Served, serve

KEY = "the-key-of-the-bot"
IDENTITY: dict[str, Any] = {
    "user_id": "telegram:1",
    "roles": ["owner", "admin", "member"],
    "approved": ["bash"],
    "denied_tools": ["web_*"],
    "allowed_skills": [["pdf-*"]],
    "account": "tg",
    "platform": "telegram",
    "chat": "7",
    "chat_kind": "private",
    "turn_id": "12",
    CHAT_FACTS: {"platform": "Telegram"},
}
HUMAN = {"messages": [{"type": "human", "content": "hello"}]}
FORGED = [{"type": "human", "content": "x", "additional_kwargs": {"sender": "telegram:1"}}]


class Seen(TypedDict, total=False):
    """What the run was told."""

    messages: list[Any]
    user: str
    roles: list[str]
    approved: list[str]


def tells(_state: Seen, config: RunnableConfig) -> Seen:
    """Say for whom the run works."""
    context = RunContext.of(config)
    return {
        "user": context.user_id or "",
        "roles": list(context.roles),
        "approved": list(context.approved),
    }


def whose() -> Any:
    """A graph of that one step."""
    return StateGraph(Seen).add_node("tells", tells).add_edge(START, "tells").add_edge("tells", END).compile()


@asynccontextmanager
async def signing(home: Path) -> AsyncIterator[tuple[Served, httpx.AsyncClient]]:
    """A server with a key; its own client holds none, the other one signs."""
    sources = {**SOURCES, "whose": whose}
    async with (
        serve(home, settings={"signing_key": KEY}, sources=sources) as server,
        httpx.AsyncClient(
            base_url=server.url, auth=RequestSigner(KEY), headers=server.http.headers, timeout=30
        ) as bot,
    ):
        yield server, bot


async def new_thread(client: httpx.AsyncClient) -> str:
    """A thread's id."""
    found: str = (await client.post("/threads", json={})).json()["thread_id"]
    return found


def run(graph: str = "whose", **more: Any) -> dict[str, Any]:
    """The body of a run."""
    return {"assistant_id": graph, "input": HUMAN, **more}


@pytest.mark.parametrize("off", [-3600.0, 3600.0])
async def test_the_bots_clock_may_differ_from_the_runtimes(tmp_path: Path, off: float) -> None:
    """A refused request is signed with the runtime's time, and so are those after it."""
    sent: list[str] = []

    async def note(request: httpx.Request) -> None:
        sent.append(request.url.path)

    async with signing(tmp_path) as (_, bot):
        bot.auth = RequestSigner(KEY, lambda: time.time() + off)
        bot.event_hooks = {"request": [note]}
        thread = await new_thread(bot)
        for _ in range(3):
            answer = await bot.post(f"/threads/{thread}/runs/wait", json=run(context=IDENTITY))
            assert answer.status_code == 200, answer.text
    assert sent.count(f"/threads/{thread}/runs/wait") <= 4


def test_the_fields_of_an_identity_are_those_that_the_agent_reads() -> None:
    fields = set(RunContext.__dataclass_fields__) - {"thread_id", "run_id", "locale"}
    # The day is read from the description of the chat, and the skills choose the graph.
    fields = fields - {"local_day"} | {CHAT_FACTS, "allowed_skills"}
    assert fields == IDENTITY_FIELDS == set(IDENTITY)


async def test_what_the_bot_signed_reaches_the_run(tmp_path: Path) -> None:
    async with signing(tmp_path) as (_, bot):
        thread = await new_thread(bot)
        for where in ({"config": {"configurable": IDENTITY}}, {"context": IDENTITY}):
            answer = await bot.post(f"/threads/{thread}/runs/wait", json=run(**where))
            assert answer.status_code == 200, answer.text
            found = answer.json()
            assert (found["user"], found["roles"], found["approved"]) == (
                "telegram:1",
                ["owner", "admin", "member"],
                ["bash"],
            )


@pytest.mark.guard(
    "an unsigned identity is refused",
    "agent/runtime/http/trust.py",
    "if not trusted and has_identity(sources):",
    "if False:",
    against="forged identities",
)
@pytest.mark.guard(
    "an unsigned answer to an interrupt is refused",
    "agent/runtime/http/run_creation.py",
    "    if body.command is not None:\n        require_trust",
    "    if False:\n        require_trust",
    against="forged identities",
)
@pytest.mark.guard(
    "an unsigned author of a message is refused",
    "agent/runtime/http/trust.py",
    "if not trusted and names_author(value):",
    "if False:",
    against="forged identities",
)
@pytest.mark.parametrize("path", ["/threads/{thread}/runs", "/runs"])
@pytest.mark.parametrize("way", ["", "/stream", "/wait"])
async def test_an_identity_that_nobody_signed_is_refused(tmp_path: Path, path: str, way: str) -> None:
    async with signing(tmp_path) as (server, bot):
        thread = await new_thread(bot)
        url = path.format(thread=thread) + way
        for field, value in [*IDENTITY.items(), ("__pregel_resume_map", {"a": "approve"})]:
            for where in ({"config": {"configurable": {field: value}}}, {"context": {field: value}}):
                answer = await server.http.post(url, json=run(**where))
                assert answer.status_code == 403, (field, answer.text)
                assert "a run's identity" in answer.json()["detail"]
        for body, what in (
            (run(command={"resume": "approve"}, input=None), "a command"),
            (run(command={"update": {"approved": ["bash"]}}, input=None), "a command"),
            (run(input={"messages": FORGED}), "the author of a message"),
        ):
            answer = await server.http.post(url, json=body)
            assert (answer.status_code, what in answer.json()["detail"]) == (403, True)
        batch = await server.http.post("/runs/batch", json=[run(), run(context={"roles": ["owner"]})])
        assert batch.status_code == 403
        answer = await server.http.post(f"/threads/{thread}/runs/wait", json=run())
        assert {key: answer.json().get(key) for key in ("user", "roles", "approved")} == {
            "user": "",
            "roles": [],
            "approved": [],
        }


@pytest.mark.guard(
    "unsigned changes of a state are refused",
    "agent/runtime/http/threads.py",
    '    require_trust(trusted, "changes of a thread\'s state")\n',
    "",
    against="forged identities",
)
async def test_states_and_inboxes_are_the_bots_alone(tmp_path: Path) -> None:
    async with signing(tmp_path) as (server, bot):
        thread = await new_thread(bot)
        assert (await bot.post(f"/threads/{thread}/runs/wait", json=run())).status_code == 200
        item = {"namespace": ["steer", thread], "key": "1", "value": {"turn": "12"}}
        for method, path, body in (
            ("POST", f"/threads/{thread}/state", {"values": {"messages": FORGED}}),
            ("POST", f"/threads/{thread}/state", {"values": {"approved": ["bash"]}, "as_node": "tells"}),
            (
                "POST",
                "/threads",
                {
                    "metadata": {"graph_id": "whose"},
                    "supersteps": [{"updates": [{"values": {"user": "x"}, "as_node": "tells"}]}],
                },
            ),
            ("PUT", "/store/items", item),
            ("DELETE", "/store/items", {"namespace": item["namespace"], "key": "1"}),
            ("POST", "/assistants", {"graph_id": "whose", "config": {"configurable": IDENTITY}}),
            ("POST", "/assistants", {"graph_id": "whose", "context": IDENTITY}),
        ):
            answer = await server.http.request(method, path, json=body)
            assert answer.status_code == 403, (path, answer.text)
            assert (await bot.request(method, path, json=body)).is_success, path
        other = {**item, "namespace": ["notes"]}
        assert (await server.http.put("/store/items", json=other)).status_code == 204


@pytest.mark.guard(
    "an identity stored with an assistant is ignored",
    "agent/runtime/http/trust.py",
    "return found if runtime.settings.signing_key is None else without_identity(found)",
    "return found",
    against="forged identities",
)
async def test_what_an_assistant_was_stored_with_is_no_identity(tmp_path: Path) -> None:
    async with serve(tmp_path, sources={**SOURCES, "whose": whose}) as server:
        body = {"graph_id": "whose", "config": {"configurable": {**IDENTITY, "model_name": "m"}}}
        made = (await server.http.post("/assistants", json=body)).json()["assistant_id"]
        found = await server.http.post("/runs/wait", json=run(made))
        assert found.json()["user"] == "telegram:1"
    async with signing(tmp_path) as (server, bot):
        for client in (server.http, bot):
            found = await client.post("/runs/wait", json=run(made))
            assert (found.json()["user"], found.json()["approved"]) == ("", [])
        patched = await server.http.patch(f"/assistants/{made}", json={"context": IDENTITY})
        assert patched.status_code == 403


@pytest.mark.guard(
    "a signature expires",
    "agent/shared/request_signature.py",
    " or abs(now - int(time)) > LIFETIME:",
    ":",
    against="forged identities",
)
@pytest.mark.guard(
    "a signature covers the body",
    "agent/shared/request_signature.py",
    "hashlib.sha256(body).hexdigest())\n    return hmac",
    '"")\n    return hmac',
    against="forged identities",
)
@pytest.mark.parametrize(
    "changed", ["body", "path", "method", "key", "idempotency", "time", "future", "form"]
)
async def test_a_signature_covers_all_of_a_request(tmp_path: Path, changed: str) -> None:
    async with signing(tmp_path) as (server, bot):
        thread = await new_thread(bot)
        path, now = f"/threads/{thread}/runs/wait", time.time()
        body = orjson.dumps(run(config={"configurable": IDENTITY}))
        at = now + {"time": -LIFETIME - 5, "future": LIFETIME + 5}.get(changed, 0.0)
        signature = sign_request(
            "another" if changed == "key" else KEY,
            "PUT" if changed == "method" else "POST",
            f"/threads/{uuid4()}/runs/wait" if changed == "path" else path,
            b"{}" if changed == "body" else body,
            idempotency_key="2:1" if changed == "idempotency" else "1:1",
            at=at,
        )
        headers = {"content-type": "application/json", "idempotency-key": "1:1"}
        headers[SIGNATURE_HEADER] = "x" if changed == "form" else signature
        answer = await server.http.post(path, content=body, headers=headers)
        assert answer.status_code == 403
        good = sign_request(KEY, "POST", path, body, idempotency_key="1:1", at=now)
        answer = await server.http.post(path, content=body, headers={**headers, SIGNATURE_HEADER: good})
        assert answer.status_code == 200
        again = await server.http.post(path, content=body, headers={**headers, SIGNATURE_HEADER: good})
        assert again.headers["location"] == answer.headers["location"]


async def test_without_a_key_the_token_is_enough(tmp_path: Path) -> None:
    async with serve(tmp_path, token="t" * 32, sources={**SOURCES, "whose": whose}) as server:
        answer = await server.http.post("/runs/wait", json=run(context={"roles": ["owner"]}))
        assert answer.json()["roles"] == ["owner"]


def test_authors_are_found_and_left_out_at_any_depth() -> None:
    state = {"a": [{"messages": FORGED}], "b": 1}
    assert names_author(state)
    cleared = without_authors(state)
    assert cleared == {"a": [{"messages": [{**FORGED[0], "additional_kwargs": {}}]}], "b": 1}
    assert not names_author(cleared)
    deep: Any = "end"
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]
    assert names_author(deep)
