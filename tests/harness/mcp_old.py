"""MCP servers of the protocol version 2025-11-25 with various responses to an unknown request.

`python -m tests.harness.mcp_old stdio|http KIND`. `KIND` is a key of `RESPONSES` or `STATUSES`, `slow` or
`hangs`.
"""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
RESPONSES: dict[str, Json | None] = {
    "unknown": {"error": {"code": -32601, "message": "Method not found"}},
    "early": {"error": {"code": -32000, "message": "Server not initialized"}},
    "strange": {"error": {"code": 17, "message": "hm", "data": ["supported"]}},
    "empty": {"result": {}},
    "talkative": {"result": {"supportedVersions": ["2025-11-25"], "capabilities": {}}},
    "newer": {"error": {"code": -32022, "message": "no", "data": {"supported": ["2025-11-25"]}}},
    "silent": None,
    "noise": None,
    "dies": None,
}
STATUSES = {
    "text": (400, b"Bad Request: no session"),
    "page": (200, b"<html>hello</html>"),
    "missing": (404, b""),
}
STATUSES |= {"method": (405, b""), "accepted": (202, b""), "list": (400, b"[]"), "broken": (500, b"oops")}


def answer(message: Json, kind: str) -> Json | None:
    """The response to a message; None: no response."""
    method, result = message["method"], None
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "old", "version": "1"}}
        result["capabilities"] = {"tools": {}}
    elif method == "tools/list":
        result = {"tools": [{"name": "hello", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "hello"}]}
    elif "id" in message:
        if kind == "dies":
            sys.exit("Error: expected initialize")
        if kind == "noise":
            print("what is this?", flush=True)
        own = RESPONSES.get(kind)
        return None if own is None else {"jsonrpc": "2.0", "id": message["id"], **own}
    return None if result is None else {"jsonrpc": "2.0", "id": message["id"], "result": result}


def serve_stdio(kind: str) -> None:
    if kind == "slow":
        # A server of the version 2026-07-28 that starts slowly.
        from tests.harness import mcp_stateless

        time.sleep(1)
        mcp_stateless.main(["stdio"])
        return
    while line := sys.stdin.readline():
        if (found := answer(json.loads(line), kind)) is not None:
            print(json.dumps(found), flush=True)


def serve_http(kind: str) -> None:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None: ...

        def do_GET(self) -> None:
            self.respond(405, b"")

        do_DELETE = do_GET

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if message["method"] == "server/discover" and kind == "hangs":
                time.sleep(20)
            elif message["method"] == "server/discover" and kind in STATUSES:
                self.respond(*STATUSES[kind])
            elif (found := answer(message, kind)) is None:
                self.respond(202, b"")
            else:
                self.respond(200, json.dumps(found).encode(), "application/json")

        def respond(self, status: int, body: bytes, media: str = "text/html") -> None:
            self.send_response(status)
            self.send_header("content-type", media)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    {"stdio": serve_stdio, "http": serve_http}[sys.argv[1]](sys.argv[2])
