"""A strict MCP server of the protocol version 2026-07-28, written without the mcp package.

`python -m tests.harness.mcp_stateless stdio|http [port]`. It rejects messages that the specification
(modelcontextprotocol/modelcontextprotocol, docs/specification/2026-07-28) forbids clients to send; comments
name the page. `MCP_TEST_VERSIONS` replaces the supported versions (comma-separated).
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

Json = dict[str, Any]
Send = Callable[[Json], Awaitable[None]]
VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"
TASKS = f"{META}tasks"
VERSIONS = os.environ.get("MCP_TEST_VERSIONS", VERSION).split(",")
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"} | {
    f"tasks/{one}": "taskId" for one in ("get", "update", "cancel")
}
CACHED = {"ttlMs": 0, "cacheScope": "private"}
FORM = {
    "type": "object",
    "properties": {"size": {"type": "string", "enum": ["small", "large"]}},
    "required": ["size"],
}
YES = {"type": "object", "properties": {}}


class Refusal(Exception):
    """A JSON-RPC error with its HTTP status."""

    def __init__(self, code: int, message: str, data: Any = None, *, status: int = 200) -> None:
        super().__init__(message)
        self.error: Json = {"code": code, "message": message, **({"data": data} if data is not None else {})}
        self.status = status


def lacking(**capabilities: Any) -> Refusal:
    """An error for capabilities that the request does not declare (basic/index, _meta)."""
    return Refusal(-32021, "Missing capability", {"requiredCapabilities": capabilities}, status=400)


def text(words: str, **more: Any) -> Json:
    return {"resultType": "complete", "content": [{"type": "text", "text": words}], **more}


def form(message: str, schema: Json) -> Json:
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": schema},
    }


def seal(value: str) -> str:
    """A state that the client can't forge or change (basic/patterns/mrtr)."""
    return f"{value}:{hashlib.sha256(f'secret{value}'.encode()).hexdigest()}"


def ask(state: str | None = None, **requests: Json) -> Json:
    result: Json = {"resultType": "input_required"}
    if requests:
        result["inputRequests"] = requests
    return result | ({} if state is None else {"requestState": seal(state)})


def define(name: str, **properties: Json) -> Json:
    return {"name": name, "description": name, "inputSchema": {"type": "object", "properties": properties}}


HEADED = define(
    "headed",
    region={"type": "string", "x-mcp-header": "Region"},
    deep={"type": "object", "properties": {"big": {"type": "boolean", "x-mcp-header": "Big"}}},
)
PARAMETERS: dict[str, dict[str, tuple[str, ...]]] = {
    "headed": {"Region": ("region",), "Big": ("deep", "big")}
}
PLAIN = (
    *("add", "fail", "order", "twice", "both", "link", "think", "rude", "odd", "later", "job", "failing_job"),
    *("work", "hang", "grow", "move", "pid", "crash", "what_happened", "drop"),
)


class Server:
    """Answers requests. No request depends on the state, except for tasks."""

    def __init__(self) -> None:
        self.tools = [define(name) for name in PLAIN] + [HEADED]
        self.tools.append(define("wrong", price={"type": "number", "x-mcp-header": "Price"}))
        self.done: list[str] = []
        self.tasks: dict[str, Json] = {}
        self.listeners: list[asyncio.Queue[Json]] = []
        self.able: Json = {}
        self.state: str | None = None

    async def answer(self, message: Json, notify: Send) -> Json:
        """The result of a request. Raises Refusal."""
        method, params = message.get("method"), message.get("params") or {}
        if method == "initialize":
            # The error names the versions (basic/versioning, Backward Compatibility).
            raise Refusal(-32601, f"initialize is not supported; versions: {VERSIONS}", status=404)
        meta = params.get("_meta")
        needed = {f"{META}protocolVersion": str, f"{META}clientCapabilities": dict}
        if not isinstance(meta, dict) or not all(isinstance(meta.get(k), t) for k, t in needed.items()):
            raise Refusal(-32602, "_meta lacks required fields", status=400)
        version = meta[f"{META}protocolVersion"]
        if version not in VERSIONS:
            data = {"supported": VERSIONS, "requested": version}
            raise Refusal(-32022, "Unsupported protocol version", data, status=400)
        self.able = meta[f"{META}clientCapabilities"]
        handler = getattr(self, f"on_{str(method).replace('/', '_')}", None)
        if handler is None:
            raise Refusal(-32601, f"Method not found: {method}", status=404)
        result: Json = await handler(params, message["id"], notify)
        return {**result, "_meta": {f"{META}serverInfo": {"name": "stateless", "version": "1"}}}

    async def on_server_discover(self, *_: Any) -> Json:
        offer: Json = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}}
        offer["extensions"] = {TASKS: {}}
        return {"resultType": "complete", "supportedVersions": VERSIONS, "capabilities": offer, **CACHED}

    async def on_tools_list(self, params: Json, *_: Any) -> Json:
        first = params.get("cursor") != "2"
        more = {"nextCursor": "2"} if first else {}
        tools = self.tools[:5] if first else self.tools[5:]
        return {"resultType": "complete", "tools": tools, **more, **CACHED}

    async def on_resources_list(self, *_: Any) -> Json:
        return {"resultType": "complete", "resources": [{"uri": "notes://tödäy", "name": "n"}], **CACHED}

    async def on_resources_templates_list(self, *_: Any) -> Json:
        return {"resultType": "complete", "resourceTemplates": [], **CACHED}

    async def on_resources_read(self, params: Json, *_: Any) -> Json:
        if not self.answers(params):
            return self.elicit(which=form("Which page?", YES))
        return {
            "resultType": "complete",
            "contents": [{"uri": params["uri"], "text": "Buy cheese."}],
            **CACHED,
        }

    async def on_prompts_list(self, *_: Any) -> Json:
        return {"resultType": "complete", "prompts": [{"name": "review"}], **CACHED}

    async def on_prompts_get(self, *_: Any) -> Json:
        message = {"role": "user", "content": {"type": "text", "text": "Review it."}}
        return {"resultType": "complete", "messages": [message]}

    async def on_subscriptions_listen(self, params: Json, number: Any, notify: Send) -> Json:
        wanted = params["notifications"]
        about = {"_meta": {f"{META}subscriptionId": number}}
        accepted = {**about, "notifications": {"toolsListChanged": True}}
        await notify({"method": "notifications/subscriptions/acknowledged", "params": accepted})
        changes: asyncio.Queue[Json] = asyncio.Queue()
        self.listeners.append(changes)
        try:
            while wanted.get("toolsListChanged"):
                await notify({**await changes.get(), "params": about})
        finally:
            self.listeners.remove(changes)
        return {"resultType": "complete"}

    async def on_tasks_get(self, params: Json, *_: Any) -> Json:
        task = self.find_task(params)
        if task["status"] == "working":
            task["polls"] += 1
            if task["polls"] == 2 and task["name"] == "job":
                task |= {"status": "input_required", "inputRequests": {"size": form("Which size?", FORM)}}
            elif task["polls"] == 2:
                task |= {"status": "failed", "error": {"code": -32603, "message": "no paper"}}
        return {"resultType": "complete", **{k: v for k, v in task.items() if k not in ("polls", "name")}}

    async def on_tasks_update(self, params: Json, *_: Any) -> Json:
        task = self.find_task(params)
        if list(params["inputResponses"]) != list(task.pop("inputRequests")):
            raise Refusal(-32602, "answers to nothing")
        answer = params["inputResponses"]["size"]
        size = answer["content"]["size"] if answer["action"] == "accept" else answer["action"]
        result = {"content": [{"type": "text", "text": f"printed {size}"}], "isError": False}
        task |= {"status": "completed", "result": result}
        return {"resultType": "complete"}

    async def on_tasks_cancel(self, params: Json, *_: Any) -> Json:
        self.find_task(params)["status"] = "cancelled"
        return {"resultType": "complete"}

    def find_task(self, params: Json) -> Json:
        if TASKS not in (self.able.get("extensions") or {}):
            raise lacking(extensions={TASKS: {}})
        if params["taskId"] not in self.tasks:
            raise Refusal(-32602, "unknown task")
        return self.tasks[params["taskId"]]

    def elicit(self, state: str | None = None, **requests: Json) -> Json:
        if "elicitation" not in self.able:
            raise lacking(elicitation={})
        return ask(state, **requests)

    def answers(self, params: Json) -> Json:
        """The answers of a repeated call. Sets `state`. Raises Refusal for a state that is not ours."""
        state = params.get("requestState")
        self.state = None if state is None else str(state).rpartition(":")[0]
        if self.state is not None and state != seal(self.state):
            raise Refusal(-32602, "requestState is not ours")
        found = params.get("inputResponses") or {}
        for one in found.values():
            if one.get("action") not in ("accept", "decline", "cancel"):
                raise Refusal(-32602, "no ElicitResult")
        return found

    async def on_tools_call(self, params: Json, _: Any, notify: Send) -> Json:
        name = params["name"]
        if name not in {tool["name"] for tool in self.tools}:
            raise Refusal(-32602, f"Unknown tool: {name}")
        found, token = self.answers(params), params["_meta"].get("progressToken")

        async def progress(step: int) -> None:
            about = {"progressToken": token, "progress": step}
            if token is not None:
                await notify({"method": "notifications/progress", "params": about})

        result: Json = await getattr(self, f"tool_{name}")(params.get("arguments") or {}, found, progress)
        return result

    async def tool_add(self, arguments: Json, *_: Any) -> Json:
        return text(str(arguments["a"] + arguments["b"]), structuredContent=[1, None])

    async def tool_headed(self, arguments: Json, *_: Any) -> Json:
        return text(json.dumps(arguments))

    async def tool_fail(self, *_: Any) -> Json:
        return text("no such thing", isError=True)

    async def tool_order(self, _: Json, found: Json, *__: Any) -> Json:
        if not found:
            return self.elicit("order", size=form("Which size?", FORM))
        if self.state != "order":
            raise Refusal(-32602, "the state is missing")
        self.done.append("ordered")
        answer = found["size"]
        return text(answer["content"]["size"] if answer["action"] == "accept" else answer["action"])

    async def tool_twice(self, _: Json, found: Json, *__: Any) -> Json:
        step = int(self.state or 0)
        if step == 2:
            return text(found["q1"]["action"])
        return self.elicit(str(step + 1), **{f"q{step}": form(f"Question {step + 1}?", YES)})

    async def tool_both(self, _: Json, found: Json, *__: Any) -> Json:
        if not found:
            return self.elicit(a=form("A?", YES), b=form("B?", YES))
        if self.state is not None:
            raise Refusal(-32602, "a state that was not sent")
        return text(f"{found['a']['action']} {found['b']['action']}")

    async def tool_link(self, _: Json, found: Json, *__: Any) -> Json:
        link = {"mode": "url", "message": "Sign in", "url": "https://example.com/x"}
        question = {"method": "elicitation/create", "params": link}
        return text(found["u"]["action"]) if found else self.elicit(u=question)

    async def tool_think(self, *_: Any) -> Json:
        raise lacking(sampling={})

    async def tool_rude(self, *_: Any) -> Json:
        return ask(s={"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}})

    async def tool_odd(self, *_: Any) -> Json:
        return {"resultType": "strange"}

    async def tool_later(self, *_: Any) -> Json:
        return text("late") if self.state == "waited" else ask("waited")

    async def tool_job(self, *_: Any, name: str = "job") -> Json:
        if TASKS not in (self.able.get("extensions") or {}):
            raise lacking(extensions={TASKS: {}})
        key, now = f"tâsk-{len(self.tasks)}", "2026-11-29T00:00:00Z"
        task: Json = {"taskId": key, "status": "working", "ttlMs": None, "pollIntervalMs": 1}
        task |= {"createdAt": now, "lastUpdatedAt": now}
        self.tasks[key] = {**task, "statusMessage": "printing", "polls": 0, "name": name}
        return {"resultType": "task", **task}

    async def tool_failing_job(self, *_: Any) -> Json:
        return await self.tool_job(name="failing_job")

    async def tool_work(self, _: Json, __: Json, progress: Callable[[int], Awaitable[None]]) -> Json:
        for step in range(3):
            await progress(step)
        return text("worked")

    async def tool_hang(self, _: Json, __: Json, progress: Callable[[int], Awaitable[None]]) -> Json:
        await progress(1)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.done.append("stopped")
            raise
        raise AssertionError

    async def tool_drop(self, _: Json, __: Json, progress: Callable[[int], Awaitable[None]]) -> Json:
        """Exit in the middle of a response."""
        await progress(1)
        await asyncio.sleep(0.1)
        os._exit(3)

    async def tool_grow(self, *_: Any) -> Json:
        self.tools.append(define("extra"))
        for one in self.listeners:
            one.put_nowait({"method": "notifications/tools/list_changed"})
        return text("grown")

    async def tool_move(self, *_: Any) -> Json:
        """Change the headers of a tool without a notification."""
        PARAMETERS["headed"] = {"Area": ("region",)}
        schema = HEADED["inputSchema"]["properties"]
        schema["region"]["x-mcp-header"] = "Area"
        del schema["deep"]["properties"]["big"]["x-mcp-header"]
        return text("moved")

    async def tool_pid(self, *_: Any) -> Json:
        return text(str(os.getpid()))

    async def tool_crash(self, *_: Any) -> Json:
        os._exit(3)

    async def tool_what_happened(self, *_: Any) -> Json:
        return text("; ".join(self.done) or "nothing")


def is_request(message: Json) -> bool:
    return isinstance(message.get("id"), int | str) and "method" in message


def reply(number: Any, result: Json | None = None, error: Json | None = None) -> Json:
    return {"jsonrpc": "2.0", "id": number} | ({"result": result} if error is None else {"error": error})


async def serve_stdio(server: Server) -> None:
    """Accept only requests and cancellations; send nothing after a cancellation (basic/transports/stdio)."""
    running: dict[Any, asyncio.Task[None]] = {}

    async def send(message: Json) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

    async def run(message: Json) -> None:
        try:
            await send(reply(message["id"], await server.answer(message, send)))
        except Refusal as refusal:
            await send(reply(message["id"], error=refusal.error))
        finally:
            running.pop(message["id"], None)

    while line := await asyncio.to_thread(sys.stdin.readline):
        message = json.loads(line)
        if message.get("method") == "notifications/cancelled":
            if (task := running.get(message["params"]["requestId"])) is not None:
                task.cancel()
        elif (
            not isinstance(message.get("id"), int | str)
            or "method" not in message
            or message["id"] in running
        ):
            print(f"forbidden: {line}", file=sys.stderr, flush=True)
            os._exit(4)
        else:
            running[message["id"]] = asyncio.create_task(run(message))
    for number, task in list(running.items()):
        task.cancel()
        # basic/patterns/subscriptions, Graceful Closure.
        await send(reply(number, {"resultType": "complete"}))


def check_headers(headers: Mapping[str, str], message: Json) -> None:
    """Check a request's headers (basic/transports/streamable-http, Server Validation). Raises Refusal.

    Servers should ignore session ids; this one rejects them, since clients have none to send.
    """
    params = message.get("params") or {}
    wanted: dict[str, Any] = {"mcp-method": message["method"]}
    wanted["mcp-protocol-version"] = (params.get("_meta") or {}).get(f"{META}protocolVersion")
    if message["method"] in NAMES:
        wanted["mcp-name"] = params[NAMES[message["method"]]]
    if message["method"] == "tools/call":
        for name, path in PARAMETERS.get(params["name"], {}).items():
            value: Any = params.get("arguments")
            for key in path:
                value = value.get(key) if isinstance(value, dict) else None
            if value is not None:
                wanted[f"mcp-param-{name.lower()}"] = (
                    str(value).lower() if isinstance(value, bool) else str(value)
                )
    for name, value in wanted.items():
        if decode(headers.get(name, "")) != value:
            raise Refusal(-32020, f"Header mismatch: {name}: {headers.get(name)}", status=400)
    accepted = headers.get("accept", "")
    is_odd = any(name in headers for name in ("mcp-session-id", "last-event-id"))
    if is_odd or "application/json" not in accepted or "text/event-stream" not in accepted:
        raise Refusal(-32600, "forbidden headers", status=400)


def decode(value: str) -> str:
    if value.startswith("=?base64?") and value.endswith("?="):
        return base64.b64decode(value[9:-2]).decode()
    return value


def serve_http(server: Server, port: int) -> None:
    import socket

    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route

    async def post(request: Request) -> Response:
        message = await request.json()
        if not is_request(message):
            # Clients send no responses, and the core defines no notifications (Sending Messages).
            return JSONResponse({"jsonrpc": "2.0", "error": {"code": -32600, "message": "no request"}}, 400)
        if message["method"] == "initialize":
            return JSONResponse(
                reply(message["id"], error={"code": -32601, "message": f"only {VERSIONS}"}), 400
            )
        events: asyncio.Queue[Json | None] = asyncio.Queue()
        try:
            check_headers(request.headers, message)
            if message["method"] != "subscriptions/listen" and message["params"].get("name") not in (
                *("work", "hang", "drop"),
            ):
                return JSONResponse(reply(message["id"], await server.answer(message, events.put)))
        except Refusal as refusal:
            return JSONResponse(reply(message["id"], error=refusal.error), refusal.status)

        async def stream() -> AsyncIterator[str]:
            running = asyncio.create_task(server.answer(message, events.put))
            running.add_done_callback(lambda _: events.put_nowait(None))
            try:
                yield ": begins\n\n"
                while (event := await events.get()) is not None:
                    yield f"data: {json.dumps({'jsonrpc': '2.0', **event})}\n\n"
                yield f"data: {json.dumps(reply(message['id'], await running))}\n\n"
            finally:
                running.cancel()

        return StreamingResponse(stream(), media_type="text/event-stream")

    application = Starlette(routes=[Route("/mcp", post, methods=["POST"])])
    listener = socket.create_server(("127.0.0.1", port))
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(application, log_level="critical")).run([listener])


def main(arguments: list[str]) -> None:
    if arguments[0] == "stdio":
        asyncio.run(serve_stdio(Server()))
    else:
        serve_http(Server(), int(arguments[1]) if len(arguments) > 1 else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
