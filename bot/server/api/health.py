"""Routes for liveness, readiness and the OpenAPI document."""

from __future__ import annotations

import asyncio
import shutil

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from bot.access import Permission, Role
from bot.account_state import Live
from bot.errors import StoreError
from bot.server.api import schemas
from bot.server.api.auth import find_caller, may, open_to
from bot.server.api.dependencies import ApiServices, Services
from bot.server.api.errors import UNREACHABLE
from bot.store.outages import probe_store

router = APIRouter(tags=["health"])
GOOD = frozenset({Live.LIVE, Live.LIMITED})
DATABASE_SECONDS = 5.0
"""Time limit (s) for the database in the readiness check."""
NO_SPACE = 1_048_576
"""Bytes of free space below which the disk counts as full."""
Readiness = schemas.Readiness | schemas.Ready


@router.get("/health")
@open_to(Role.BLOCKED)
async def get_health(services: Services) -> schemas.HealthInfo:
    """Confirm that the process is alive."""
    return schemas.HealthInfo(status="ok", version=services.version)


@router.get("/health/ready", responses={503: {"model": Readiness}})
@open_to(Role.BLOCKED)
async def get_readiness(request: Request, services: Services, response: Response) -> Readiness:
    """Check whether the database and the agent runtime respond and the disk has space (503: otherwise). Only
    admins get details.
    """
    found = await check_readiness(services)
    response.status_code = 200 if found.ready else 503
    by = find_caller(request)
    detailed = by is not None and may(services, by, Permission.HEALTH)
    return found if detailed else schemas.Ready(ready=found.ready)


async def check_readiness(services: ApiServices) -> schemas.Readiness:
    """Check the database, the agent runtime and the accounts."""
    database = await _database_check(services)
    reachable = await services.core.runtime.is_ready()
    runtime = schemas.Check(
        ok=reachable, detail="" if reachable else _runtime_check(services.runtime_trouble())
    )
    accounts = {
        name: schemas.Check(ok=state.live in GOOD, detail=state.reason or state.live.value)
        for name, (_, state) in services.core.accounts.states().items()
    }
    return schemas.Readiness(
        ready=database.ok and runtime.ok, database=database, runtime=runtime, accounts=accounts
    )


@router.get("/api/openapi.json", include_in_schema=False)
@open_to(Role.MEMBER)
async def get_openapi(request: Request) -> Response:
    """Return the OpenAPI document for these routes."""
    return JSONResponse(request.app.openapi())


def _runtime_check(trouble: str) -> str:
    why = f" Its process exited: {trouble} (see logs/agent.log in the data directory)" if trouble else ""
    return f"{UNREACHABLE}{why}"


async def _database_check(services: ApiServices) -> schemas.Check:
    """Check that the database stores a row, since a replica only answers queries.

    Free space is checked separately: on a full disk SQLite may still store a row in place of an old one.
    """
    try:
        async with asyncio.timeout(DATABASE_SECONDS):
            if (await asyncio.to_thread(shutil.disk_usage, services.home)).free < NO_SPACE:
                return schemas.Check(ok=False, detail=f"the disk of {services.home} is full")
            await services.db.transact(probe_store, services.clock.now())
    except TimeoutError:
        return schemas.Check(ok=False, detail=f"no answer within {DATABASE_SECONDS:g} s")
    except StoreError as error:
        return schemas.Check(ok=False, detail=str(error))
    return schemas.Check(ok=True)
