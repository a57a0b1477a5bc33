"""Routes for accounts with their state, and for slash commands."""

from __future__ import annotations

from fastapi import APIRouter

from bot.access import Role
from bot.domain import AccountState
from bot.server.api import schemas
from bot.server.api.audit_actor import audit_actor
from bot.server.api.auth import By, open_to
from bot.server.api.dependencies import Services
from bot.server.api.errors import not_found
from bot.server.api.pagination import DEFAULT, Cursor, Limit
from bot.store.audit import AuditEvent, record_event

router = APIRouter(prefix="/api", tags=["channels"])


@router.get("/channels")
async def list_channels(services: Services, limit: Limit = DEFAULT, cursor: Cursor = "") -> schemas.Channels:
    """List the accounts with their state, by name."""
    known = services.core.accounts.states()
    names = [name for name in sorted(known) if name > cursor]
    shown = [_present_channel(name, *known[name]) for name in names[:limit]]
    return schemas.Channels(channels=shown, next=names[limit - 1] if len(names) > limit else None)


@router.post("/channels/{account}/restart", status_code=202)
async def restart_account(account: str, services: Services, by: By) -> schemas.Restarted:
    """Restart an account."""
    if not services.core.accounts.restart(account):
        raise not_found("account")
    await services.db.run(
        record_event, audit_actor(services, by), AuditEvent("restart", account), services.clock.now()
    )
    return schemas.Restarted(account=account)


@router.get("/commands")
@open_to(Role.MEMBER)
async def list_commands(services: Services, by: By, account: str = "web") -> schemas.Commands:
    """List the slash commands that the caller may use."""
    texts = services.core.account(account).texts
    return schemas.Commands(
        commands=[
            schemas.CommandInfo(
                name=command.name,
                usage=f"/{command.usage}",
                summary=texts(f"cmd_{command.name}"),
                role=command.role.name.lower(),
            )
            for command in services.commands.for_role(by.role)
        ]
    )


def _present_channel(name: str, platform: str, state: AccountState) -> schemas.ChannelInfo:
    return schemas.ChannelInfo(
        account=name,
        platform=platform,
        state=state.live,
        reason=state.reason,
        since=state.since,
        identity=state.identity,
        last_event=state.last_event,
    )
