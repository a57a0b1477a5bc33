"""An OpenAI-compatible chat completion server: `python -m tests.benchmarks.openai_server`.

It streams what the markers in the person's text ask for (`roebot_testing.agent.script` without the
environment), so that two systems measured side by side wait for the same model. `GET /ends` says when it sent
the last byte of each streamed answer since it was asked. Prints its address once it listens.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import orjson
from starlette.requests import Request

from roebot_testing.agent.script import Script, parse_markers
from roebot_testing.emulators.http import answer
from roebot_testing.emulators.server import LoopbackServer, Receive, Scope, Send, until_signalled

# Answers and their ends, in seconds of the machine's monotonic clock, which emulators use, too.
_ends: dict[str, float] = {}
_STREAM = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """`POST /v1/chat/completions`, with `stream` or without, and `GET /ends`."""
    if scope["type"] == "http" and scope["path"] == "/ends":
        ends = dict(_ends)
        _ends.clear()
        await answer(send, 200, ends)
        return
    if scope["type"] != "http" or not scope["path"].endswith("/chat/completions"):
        await answer(send, 404, {"error": {"message": "not found"}})
        return
    body = orjson.loads(await Request(scope, receive).body())
    heard, fields = parse_markers(_asked(body["messages"]))
    script = Script().with_fields(fields)
    tokens = script.answer_tokens(heard) or ["…"]
    if body.get("stream"):
        await _stream(send, script, tokens, body)
    else:
        await asyncio.sleep(script.delay + script.every * (len(tokens) - 1))
        message = {"role": "assistant", "content": "".join(tokens)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        await answer(send, 200, _envelope(body, "chat.completion", [choice], usage=_usage(tokens)))


async def _stream(send: Send, script: Script, tokens: list[str], body: dict[str, Any]) -> None:
    await send(_STREAM)
    await asyncio.sleep(script.delay)
    for count, token in enumerate(tokens):
        if count and script.every:
            await asyncio.sleep(script.every)
        await _event(send, body, [_delta({"role": "assistant", "content": token})])
    await _event(send, body, [_delta({}, finish="stop")])
    if (body.get("stream_options") or {}).get("include_usage"):
        await _event(send, body, [], usage=_usage(tokens))
    _ends["".join(tokens).strip()] = time.monotonic()
    await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})


async def _event(send: Send, body: dict[str, Any], choices: list[dict[str, Any]], **more: Any) -> None:
    data = orjson.dumps(_envelope(body, "chat.completion.chunk", choices, **more))
    await send({"type": "http.response.body", "body": b"data: " + data + b"\n\n", "more_body": True})


def _envelope(body: dict[str, Any], kind: str, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    model, now = body.get("model", "scripted"), int(time.time())
    return {"id": "chatcmpl-1", "object": kind, "created": now, "model": model, "choices": choices, **more}


def _delta(delta: dict[str, Any], *, finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}


def _usage(tokens: list[str]) -> dict[str, int]:
    return {"prompt_tokens": 1, "completion_tokens": len(tokens), "total_tokens": 1 + len(tokens)}


def _asked(messages: list[dict[str, Any]]) -> str:
    """What the person wrote since the last answer."""
    texts: list[str] = []
    for message in reversed(messages):
        if message["role"] == "user":
            texts.insert(0, _text(message["content"]))
        elif texts:
            break
    return "\n".join(texts)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


async def main() -> None:
    """Serve until signalled."""
    server = LoopbackServer(app)
    async with server.running():
        print(f"model server on {server.url}", flush=True)
        await until_signalled()


if __name__ == "__main__":
    import uvloop

    uvloop.run(main())
