"""`auth` of a project: who somebody is, and which handler decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from agent.errors import GraphLoadError
from tests.runtime.auth.project import (
    AUTH,
    browser,
    load,
    serve_project,
)
from tests.runtime.serving import Served

pytestmark = pytest.mark.may_block


# Who somebody is


async def test_a_stranger_gets_what_authenticate_raises(served: Served) -> None:
    async with browser(served) as http:
        for headers in ({}, {"authorization": "Bearer mallory-key"}, {"x-api-key": "alice-key"}):
            answer = await http.post("/threads/search", json={}, headers=headers)
            assert (answer.status_code, answer.json()) == (401, {"detail": "Who are you?"})
            assert answer.headers["www-authenticate"] == "Bearer"
        assert (await http.get("/ok")).status_code == 200


async def test_a_preflight_needs_no_user(tmp_path: Path) -> None:
    cors = {"cors": {"allow_origins": ["https://app.example.com"]}}
    headers = {"origin": "https://app.example.com", "access-control-request-method": "POST"}
    async with serve_project(tmp_path, http=cors) as served, browser(served) as http:
        assert (await http.options("/threads", headers=headers)).status_code == 204
        refused = await http.post("/threads", json={}, headers=headers)
        assert refused.status_code == 401
        assert refused.headers["access-control-allow-origin"] == headers["origin"]


async def test_the_token_is_an_operator_with_access_to_all(served: Served, people: Any) -> None:
    thread = (await people[0].threads.create())["thread_id"]
    assert (await served.client.threads.get(thread))["metadata"] == {"owner": "alice"}
    ended: Any = await served.client.runs.wait(thread, "g", input={})
    assert ended["seen"]["user"] is ended["seen"]["id"] is None
    assert (await served.http.post("/storage/compact")).status_code == 200


@pytest.mark.guard(
    "runtime: a user whose proxy sends the token is no operator",
    "agent/runtime/auth.py",
    'sent = sent_tokens({**headers, "x-api-key": ""} if headers.get("authorization") else headers)',
    "sent = sent_tokens(headers)",
    against="other users of a project",
)
async def test_the_token_next_to_the_credential_of_a_user_has_no_effect(served: Served) -> None:
    headers = {"x-api-key": served.token}
    async with browser(served, "alice") as alice, browser(served) as nobody:
        made = (await alice.post("/threads", json={}, headers=headers)).json()
        assert made["metadata"] == {"owner": "alice"}
        for credential in ("Bearer mallory-key", "Basic x"):
            wrong = {**headers, "authorization": credential}
            assert (await nobody.get("/info", headers=wrong)).status_code == 401
        for right in (headers, {"authorization": f"Bearer {served.token}"}):
            assert (await nobody.post("/storage/compact", headers=right)).status_code == 200


async def test_a_user_is_no_operator(served: Served) -> None:
    answer = await served.http.post(
        "/storage/compact", headers={"authorization": "Bearer alice-key", "x-api-key": ""}
    )
    assert answer.status_code == 403


async def test_users_with_wrong_keys_lock_nobody_out(served: Served) -> None:
    async with browser(served) as http:
        for _ in range(12):
            wrong = {"authorization": "Bearer mallory-key"}
            assert (await http.get("/info", headers=wrong)).status_code == 401
        assert (await http.get("/info", headers={"authorization": "Bearer bob-key"})).status_code == 200
    assert (await served.http.get("/info")).status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        ("raise Auth.exceptions.HTTPException(402, 'Pay')", 402, "Pay"),
        ("raise Auth.exceptions.HTTPException()", 401, "Unauthorized"),
        (
            "raise RuntimeError('the database at 10.0.0.7 is gone')",
            500,
            "Internal error; see the log for details",
        ),
        ("return None", 500, "Internal error; see the log for details"),
        ("return {'name': 'alice'}", 500, "Internal error; see the log for details"),
    ],
)
async def test_authenticate_decides_the_answer(tmp_path: Path, body: str, status: int, detail: str) -> None:
    code = f"from langgraph_sdk import Auth\nauth = Auth()\n@auth.authenticate\ndef identify():\n    {body}\n"
    async with serve_project(tmp_path, {"auth.py": code}) as served, browser(served) as http:
        with capture_logs() as logged:
            answer = await http.get("/info")
    assert (answer.status_code, answer.json()) == (status, {"detail": detail})
    assert (status == 500) == ("auth_handler_failed" in [line["event"] for line in logged])


async def test_authenticate_finds_the_request_by_names_of_parameters(tmp_path: Path) -> None:
    code = """
from langgraph_sdk import Auth
auth = Auth()
@auth.authenticate
async def identify(request, scope, path, method, headers, authorization, query_params, path_params, other=1):
    assert request.url.path == path == scope["path"]
    assert request.headers["x-who"].encode() == headers[b"x-who"]
    return ["admin"], " ".join([method, path, authorization, query_params["q"]])
@auth.on
async def look(ctx, value):
    who = f"{ctx.user.identity} {ctx.permissions}"
    raise Auth.exceptions.HTTPException(409, f"{who} {ctx.resource}.{ctx.action}")
"""
    async with serve_project(tmp_path, {"auth.py": code}) as served, browser(served) as http:
        headers = {"authorization": "Basic x", "x-who": "me"}
        answer = await http.post("/threads/search?q=7", json={}, headers=headers)
    assert answer.json() == {"detail": "POST /threads/search Basic x 7 ['admin'] threads.search"}
    assert answer.status_code == 409


@pytest.mark.parametrize(
    ("code", "keys", "problem"),
    [
        (
            "from langgraph_sdk import Auth\nauth = Auth()\n",
            {},
            "not an Auth object with an @auth.authenticate",
        ),
        ("auth = 7\n", {}, "not an Auth object with"),
        (AUTH.replace("authorization:", "body, authorization:"), {}, "unknown parameter 'body'"),
        (AUTH, {"path": "./other.py:auth"}, "can't import './other.py'"),
        (AUTH, {"path": "./auth.py:other"}, "has no 'other'"),
        (AUTH, {"path": "./auth.ts:auth"}, "can't import|is not a Python file"),
        (AUTH, {"path": None}, r"auth\.path: "),
        (AUTH, {"allow_langsmith_api_keys": True}, r"auth\.allow_langsmith_api_keys: "),
        (AUTH, {"path": "./auth.py:auth", "more": 1}, r"auth\.more: unknown key"),
    ],
)
def test_protection_that_can_not_be_honoured_refuses_the_start(
    tmp_path: Path, code: str, keys: dict[str, Any], problem: str
) -> None:
    with pytest.raises(GraphLoadError, match=problem):
        load(tmp_path, {"auth.py": code}, auth={"path": "./auth.py:auth", **keys})


def test_actions_that_every_user_may_do_are_logged(tmp_path: Path) -> None:
    code = AUTH.split("@auth.on")[0] + "@auth.on.threads\nasync def own(ctx, value): return False\n"
    with capture_logs() as logged:
        load(tmp_path, {"auth.py": code}, auth={"path": "./auth.py:auth", "disable_studio_auth": True})
    [line] = logged
    assert line["event"] == "auth_actions_open_to_all_users"
    assert {"assistants.read", "store.put", "crons.create"} < set(line["actions"])
    assert not [name for name in line["actions"] if name.startswith("threads.")]


# Handlers


async def test_the_most_specific_handler_decides(tmp_path: Path) -> None:
    code = (
        AUTH.split("@auth.on")[0]
        + """
def deny(name):
    async def handler(ctx, value):
        raise Auth.exceptions.HTTPException(409, name)
    return handler
auth.on(deny("all"))
auth.on(resources="threads", actions="create")(deny("threads.create"))
auth.on.threads(deny("threads"))
auth.on.threads.search(deny("threads.search"))
@auth.on.threads.delete
async def no(ctx, value):
    return False
@auth.on.threads.update
async def wrong(ctx, value):
    assert value.get("metadata", {}).get("fine"), "not fine"
@auth.on.threads.read
async def broken(ctx, value):
    raise KeyError("secret")
@auth.on.assistants.read
async def unknown(ctx, value):
    return {"owner": {"$ne": "bob"}}
"""
    )
    async with serve_project(tmp_path, {"auth.py": code}) as served:
        thread = (await served.client.threads.create())["thread_id"]
        async with browser(served, "alice") as http:
            for method, path, body, expected in (
                ("POST", "/threads/search", {}, (409, "threads.search")),
                ("POST", "/threads", {}, (409, "threads.create")),
                ("POST", "/runs", {"assistant_id": "g"}, (409, "threads")),
                ("POST", "/assistants/search", {}, (409, "all")),
                ("POST", "/store/namespaces", {}, (409, "all")),
                ("DELETE", f"/threads/{thread}", None, (403, "Forbidden")),
                ("PATCH", f"/threads/{thread}", {}, (403, "not fine")),
                ("GET", f"/threads/{thread}", None, (500, "Internal error; see the log for details")),
                ("GET", "/assistants/g/graph", None, (500, "Internal error; see the log for details")),
            ):
                answer = await http.request(method, path, json=body)
                assert (answer.status_code, answer.json()["detail"]) == expected
            answer = await http.patch(f"/threads/{thread}", json={"metadata": {"fine": True}})
            assert answer.status_code == 200


OPEN = {"/ok", "/health", "/info"}
BODIES: dict[str, Any] = {
    "/assistants": {"graph_id": "g"},
    "/store/items": {"namespace": ["a"], "key": "k", "value": {}},
    "/runs/cancel": {"status": "all"},
    "/threads/prune": {"thread_ids": [str(uuid4())]},
}


@pytest.mark.guard(
    "runtime: every route asks the handlers",
    "agent/runtime/auth.py",
    "        if result is False:",
    "        if result is NotImplemented:",
    against="other users of a project",
)
async def test_no_route_serves_a_user_whom_the_handlers_deny(tmp_path: Path) -> None:
    code = AUTH.split("@auth.on")[0] + "@auth.on\nasync def deny(ctx, value):\n    return False\n"
    async with serve_project(tmp_path, {"auth.py": code}) as served:
        thread = (await served.client.threads.create())["thread_id"]
        run = (await served.client.runs.create(thread, "g", input={}))["run_id"]
        cron: Any = await served.client.crons.create("g", schedule="0 9 * * *")
        made = (await served.client.assistants.create("g"))["assistant_id"]
        names = {"thread_id": thread, "run_id": run, "cron_id": cron["cron_id"], "assistant_id": made}
        names |= {"checkpoint_id": str(uuid4()), "namespace": "a"}
        document = (await served.http.get("/openapi.json")).json()
        async with browser(served, "alice") as http:
            for path, methods in document["paths"].items():
                run_body: Any = {"assistant_id": "g", "schedule": "0 9 * * *", "enabled": False}
                body = BODIES.get(path, {**run_body, "version": 1, "channels": ["values"]})
                body = [run_body] if path == "/runs/batch" else body
                if path in OPEN | {"/mcp"} or path.endswith("/commands"):
                    continue
                for method in methods:
                    where = path.format(**names) + "?key=k&namespace=a" * (path == "/store/items")
                    answer = await http.request(method, where, json=None if method == "get" else body)
                    assert answer.status_code == 403, (method, path, answer.text)


# The project's own routes

APP = """
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

async def hello(request):
    user = request.user.identity if "user" in request.scope else None
    return JSONResponse({"user": user})

class Rewrite:
    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http" and scope["path"] == "/hello/threads":
            scope = {**scope, "path": "/threads/search", "method": "POST"}
        await self.app(scope, receive, send)

app = Starlette(routes=[Route("/hello/{name}", hello)])
app.add_middleware(Rewrite)
"""


@pytest.mark.guard(
    "runtime: routes without authentication lead to none with it",
    "agent/runtime/http/base.py",
    "if runtime.settings.project.auth is not None and",
    "if False and",
    against="no credential",
)
@pytest.mark.parametrize(("keys", "status"), [((), 401), ((True,), 401), ((False,), 200)], ids=str)
async def test_own_routes_know_the_user(tmp_path: Path, keys: tuple[bool], status: int) -> None:
    http_keys = {"app": "./app.py:app", **dict.fromkeys(["enable_custom_route_auth"][: len(keys)], *keys)}
    async with (
        serve_project(tmp_path, {"app.py": APP}, http=http_keys) as served,
        browser(served) as http,
        browser(served, "bob") as bob,
    ):
        assert (await http.get("/hello/you")).status_code == status
        assert (await bob.get("/hello/you")).json() == {"user": None if status == 200 else "bob"}
        assert (await http.get("/hello/threads")).status_code == 401
        assert (await http.post("/threads/search", json={})).status_code == 401
