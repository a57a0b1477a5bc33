"""Whether the service lives, and whether it can answer."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from bot.access import Power, Role
from bot.api import shapes
from bot.api.callers import caller_or_none, open_to
from bot.api.failures import UNREACHABLE
from bot.api.services import ApiServices, Services
from bot.domain import Live
from bot.errors import StoreError

router = APIRouter(prefix="/health", tags=["health"])
GOOD = frozenset({Live.LIVE, Live.LIMITED})
Readiness = shapes.Readiness | shapes.Ready


@router.get("")
@open_to(Role.BLOCKED)
async def health(services: Services) -> shapes.Health:
    """The process answers."""
    return shapes.Health(status="ok", version=services.version)


@router.get("/ready", responses={503: {"model": Readiness}})
@open_to(Role.BLOCKED)
async def ready(request: Request, services: Services, response: Response) -> Readiness:
    """Whether messages can be answered now: 503 while the database or the agent runtime is away. Only admins
    are told more.
    """
    database = await _database(services)
    reachable = await services.runtime.ready()
    runtime = shapes.Check(ok=reachable, detail="" if reachable else _away(services.runtime_trouble()))
    accounts = {
        name: shapes.Check(ok=state.live in GOOD, detail=state.reason or state.live.value)
        for name, (_, state) in services.accounts.states().items()
    }
    found = shapes.Readiness(
        ready=database.ok and runtime.ok, database=database, runtime=runtime, accounts=accounts
    )
    response.status_code = 200 if found.ready else 503
    by = caller_or_none(request)
    return found if by is not None and by.may(Power.HEALTH) else shapes.Ready(ready=found.ready)


def _away(trouble: str) -> str:
    why = f" Its process ended: {trouble} (logs/agent.log in the home has more)" if trouble else ""
    return f"{UNREACHABLE}{why}"


async def _database(services: ApiServices) -> shapes.Check:
    try:
        await services.store.cursor("")
    except StoreError as error:
        return shapes.Check(ok=False, detail=str(error))
    return shapes.Check(ok=True)
