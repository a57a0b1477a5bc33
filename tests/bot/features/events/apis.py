"""Doubles of the APIs of event sources, which reject what the real ones reject.

Alertmanager: `api/v2/openapi.yaml` (postableSilence), version 0.34. GitHub: REST API, "Repository webhooks".
Sentry: "List an Organization's Issues".
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.harness.free_ports import free_port

API_TOKEN = "t0ken-of-an-api"


@asynccontextmanager
async def served(*routes: Route) -> AsyncIterator[str]:
    """Serve these routes; the URL of the server."""
    port = free_port()
    server = uvicorn.Server(
        uvicorn.Config(
            Starlette(routes=list(routes)), port=port, log_level="error", ws="none", lifespan="off"
        )
    )
    task = asyncio.create_task(server._serve())
    try:
        async with asyncio.timeout(20):
            while not server.started:
                await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await task


def is_signed_in(request: Request) -> bool:
    return request.headers.get("authorization") == f"Bearer {API_TOKEN}"


def silences(kept: list[dict[str, Any]]) -> Callable[[Request], Any]:
    """`POST /api/v2/silences`, which stores valid silences."""

    async def create(request: Request) -> Response:
        if not is_signed_in(request):
            return Response(status_code=401)
        body = json.loads(await request.body())
        needed = {"matchers", "startsAt", "endsAt", "createdBy", "comment"}
        start, end = (datetime.fromisoformat(body[name]) for name in ("startsAt", "endsAt"))
        matchers = body["matchers"]
        is_valid = needed <= body.keys() and matchers and all(one["name"] for one in matchers)
        is_valid = is_valid and all(type(one["isRegex"]) is bool for one in matchers)
        if not is_valid or end <= start or not any(one["value"] for one in matchers):
            return JSONResponse("silence invalid", 400)
        kept.append(body)
        return JSONResponse({"silenceID": str(len(kept))})

    return create


def lost_events(posted: list[str]) -> list[Route]:
    """Deliveries of a GitHub webhook on two pages, of which one never arrived, and issues of Sentry."""
    now = datetime.now(UTC).replace(microsecond=0)

    def at(minutes: float) -> str:
        return (now - timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")

    # A delivery and its redelivery have the same GUID; 0 is the status of one without an answer.
    pages = [
        [
            {"id": 4, "guid": "a", "delivered_at": at(1), "status_code": 202, "redelivery": True},
            {"id": 3, "guid": "a", "delivered_at": at(2), "status_code": 503, "redelivery": False},
        ],
        [
            {"id": 2, "guid": "b", "delivered_at": at(3), "status_code": 0, "redelivery": False},
            {"id": 1, "guid": "c", "delivered_at": at(99), "status_code": 502, "redelivery": False},
        ],
    ]
    issue = {"title": "It broke", "level": "error", "project": {"slug": "web"}}
    issues = [
        {**issue, "id": "11", "shortId": "WEB-1", "status": "unresolved", "lastSeen": at(1)},
        {**issue, "id": "12", "shortId": "WEB-2", "status": "ignored", "lastSeen": at(2)},
        {**issue, "id": "13", "shortId": "WEB-3", "status": "unresolved", "lastSeen": at(200)},
    ]

    async def list_deliveries(request: Request) -> Response:
        if not is_signed_in(request) or int(request.query_params["per_page"]) > 100:
            return Response(status_code=401)
        if request.query_params.get("cursor") == "v1_2":
            return JSONResponse(pages[1])
        following = request.url.include_query_params(cursor="v1_2")
        return JSONResponse(pages[0], headers={"link": f'<{following}>; rel="next"'})

    async def redeliver(request: Request) -> Response:
        posted.append(request.url.path)
        return JSONResponse({}, 202 if is_signed_in(request) else 401)

    async def list_issues(request: Request) -> Response:
        if not is_signed_in(request) or request.query_params["sort"] != "date":
            return Response(status_code=401)
        following = request.url.include_query_params(cursor="0:100:0")
        link = f'<{following}>; rel="next"; results="false"; cursor="0:100:0"'
        return JSONResponse(issues, headers={"link": link})

    return [
        Route("/repos/o/r/hooks/7/deliveries", list_deliveries),
        Route("/repos/o/r/hooks/7/deliveries/{delivery:int}/attempts", redeliver, methods=["POST"]),
        Route("/api/0/organizations/o/issues/", list_issues),
    ]
