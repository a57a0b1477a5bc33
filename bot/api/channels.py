"""Accounts with their live states, and the commands that there are."""

from __future__ import annotations

from fastapi import APIRouter

from bot.access import Role
from bot.api import shapes
from bot.api.acting import actor
from bot.api.callers import By, open_to
from bot.api.failures import missing
from bot.api.paging import DEFAULT, Cursor, Limit
from bot.api.services import Services
from bot.domain import AccountState
from bot.store.audit import Deed

router = APIRouter(prefix="/api", tags=["channels"])


@router.get("/channels")
async def list_channels(services: Services, limit: Limit = DEFAULT, cursor: Cursor = "") -> shapes.Channels:
    """Every account with its live state, by name."""
    known = services.accounts.states()
    names = [name for name in sorted(known) if name > cursor]
    shown = [_channel(name, *known[name]) for name in names[:limit]]
    return shapes.Channels(channels=shown, next=names[limit - 1] if len(names) > limit else None)


@router.post("/channels/{account}/restart", status_code=202)
async def restart(account: str, services: Services, by: By) -> shapes.Restarted:
    """Start an account anew."""
    if not services.accounts.restart(account):
        raise missing("account")
    await services.store.note(actor(services, by), Deed("restart", account), services.clock.now())
    return shapes.Restarted(account=account)


@router.get("/commands")
@open_to(Role.MEMBER)
async def list_commands(services: Services, by: By, account: str = "web") -> shapes.Commands:
    """The slash commands that the caller may use, as a composer offers them."""
    texts = services.texts(account)
    return shapes.Commands(
        commands=[
            shapes.CommandInfo(
                name=command.name,
                usage=f"/{command.usage}",
                summary=texts(f"cmd_{command.name}"),
                role=command.role.name.lower(),
            )
            for command in services.commands.for_role(by.role)
        ]
    )


def _channel(name: str, platform: str, state: AccountState) -> shapes.Channel:
    return shapes.Channel(
        account=name,
        platform=platform,
        state=state.live,
        reason=state.reason,
        since=state.since,
        identity=state.identity,
        last_event=state.last_event,
    )
