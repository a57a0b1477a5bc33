"""Routes for liveness and readiness."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from bot.access import Permission, Role
from bot.domain import Live
from bot.errors import StoreError
from bot.server.api import schemas
from bot.server.api.auth import find_caller, open_to
from bot.server.api.dependencies import ApiServices, Services
from bot.server.api.errors import UNREACHABLE
from bot.store.inbox import load_cursor

router = APIRouter(tags=["health"])
GOOD = frozenset({Live.LIVE, Live.LIMITED})
Readiness = schemas.Readiness | schemas.Ready


@router.get("/health")
@open_to(Role.BLOCKED)
async def get_health(services: Services) -> schemas.HealthInfo:
    """Return that the process is alive."""
    return schemas.HealthInfo(status="ok", version=services.version)


@router.get("/health/ready", responses={503: {"model": Readiness}})
@open_to(Role.BLOCKED)
async def get_readiness(request: Request, services: Services, response: Response) -> Readiness:
    """Check whether messages can be answered: 503 if the database or the agent runtime is unavailable.
    Only admins get details.
    """
    database = await _database_check(services)
    reachable = await services.core.runtime.is_ready()
    runtime = schemas.Check(
        ok=reachable, detail="" if reachable else _runtime_check(services.runtime_trouble())
    )
    accounts = {
        name: schemas.Check(ok=state.live in GOOD, detail=state.reason or state.live.value)
        for name, (_, state) in services.core.accounts.states().items()
    }
    found = schemas.Readiness(
        ready=database.ok and runtime.ok, database=database, runtime=runtime, accounts=accounts
    )
    response.status_code = 200 if found.ready else 503
    by = find_caller(request)
    return (
        found if by is not None and by.has_permission(Permission.HEALTH) else schemas.Ready(ready=found.ready)
    )


@router.get("/api/openapi.json", include_in_schema=False)
@open_to(Role.MEMBER)
async def get_openapi(request: Request) -> Response:
    """Return the OpenAPI document of these routes."""
    return JSONResponse(request.app.openapi())


def _runtime_check(trouble: str) -> str:
    why = f" Its process exited: {trouble} (see logs/agent.log in the data directory)" if trouble else ""
    return f"{UNREACHABLE}{why}"


async def _database_check(services: ApiServices) -> schemas.Check:
    try:
        await services.db.run(load_cursor, "")
    except StoreError as error:
        return schemas.Check(ok=False, detail=str(error))
    return schemas.Check(ok=True)
