"""The HTTP client that the models of a server share."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from aiohttp import web

from agent.models.errors import describe_error
from agent.models.failure_texts import Category
from agent.models.http import open_client, shared_client
from agent.models.resolve import build_model
from agent.models.spec import ModelSpec

OPENAI = "langchain_openai:ChatOpenAI"
CHUNK = (
    'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m",'
    '"choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":%s}]}\n\n'
)


class Provider:
    """Streams "ab"; the model `cut` breaks off after "a", `gone` before it, `busy` is refused."""

    def __init__(self) -> None:
        self.connections: set[object] = set()
        self.agents: set[str] = set()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.connections.add(request.transport)
        self.agents.add(request.headers["user-agent"])
        model = (await request.json())["model"]
        if model == "gone":
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        if model == "busy":
            return web.json_response({"error": {"message": "slow"}}, status=429, headers={"Retry-After": "7"})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write((CHUNK % ("a", "null")).encode())
        if model == "cut":
            assert request.transport is not None
            request.transport.close()
            return response
        await response.write((CHUNK % ("b", '"stop"')).encode() + b"data: [DONE]\n\n")
        return response


@asynccontextmanager
async def provider() -> AsyncIterator[tuple[Provider, str]]:
    served = Provider()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", served.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield served, f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


async def model(address: str, name: str = "m", **settings: Any) -> Any:
    given = {"api_key": "k", "base_url": address, "max_retries": 0, **settings}
    return await asyncio.to_thread(
        build_model, ModelSpec(name=name, use=OPENAI, model=name, display_name=name, settings=given)
    )


async def test_models_of_a_server_share_connections() -> None:
    async with provider() as (served, address), shared_client():
        for _ in range(3):
            for name in ("one", "two"):
                said = [chunk.text async for chunk in (await model(address, name)).astream("hi")]
                assert "".join(said) == "ab"
    assert len(served.connections) == 1
    assert all(agent.startswith("AsyncOpenAI") for agent in served.agents)


@pytest.mark.parametrize(
    ("name", "category"),
    [("busy", Category.RATE_LIMIT), ("cut", Category.CONNECTION), ("gone", Category.CONNECTION)],
)
async def test_failures_are_named_as_with_any_client(name: str, category: Category) -> None:
    async with provider() as (_, address), shared_client():
        with pytest.raises(Exception) as caught:
            [chunk async for chunk in (await model(address, name)).astream("hi")]
    assert describe_error(caught.value, model="m").category is category


async def test_a_provider_that_is_away_is_no_time_out() -> None:
    async with shared_client():
        with pytest.raises(Exception) as caught:
            await (await model("http://127.0.0.1:9/v1")).ainvoke("hi")
    assert describe_error(caught.value, model="m").category is Category.CONNECTION


async def test_a_configured_client_and_models_without_a_server_keep_their_own() -> None:
    assert open_client() is None
    alone = await model("http://127.0.0.1:9/v1")
    assert alone.http_async_client is None
    async with shared_client(), httpx.AsyncClient() as own:
        assert (await model("http://127.0.0.1:9/v1")).http_async_client is open_client()
        assert (await model("http://127.0.0.1:9/v1", http_async_client=own)).http_async_client is own
    assert open_client() is None
