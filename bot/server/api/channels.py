"""Routes for account states, slash commands and platform webhooks."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter, HTTPException, Request, Response

from bot.access import Permission, Role, Target
from bot.account_state import AccountState
from bot.platforms.base import ReceivesWebhooks, VerifiesSignatures, WebhookAnswer, WebhookRequest
from bot.server.api import schemas
from bot.server.api.auth import By, accounts_with, audit_actor, check, may, open_to, requires
from bot.server.api.credential_attempts import Attempts, CredentialKind
from bot.server.api.dependencies import DEFAULT, Cursor, Limit, Services
from bot.server.api.display_names import explain_state, texts_of
from bot.server.api.errors import not_found
from bot.store.audit import AuditEvent, record_event
from bot.wiring import PlatformOffer

router = APIRouter(tags=["channels"])


@router.get("/api/channels")
@requires(Permission.ACCOUNTS)
async def list_channels(
    services: Services, by: By, limit: Limit = DEFAULT, cursor: Cursor = ""
) -> schemas.Channels:
    """List the accounts that the caller administers with their state, ordered by name."""
    known, reached = services.core.accounts.states(), accounts_with(services, by, Permission.ACCOUNTS)
    names = [name for name in sorted(known) if name > cursor and (reached is None or name in reached)]
    texts, shown = texts_of(services, by), []
    for name in names[:limit]:
        platform, state = known[name]
        told = replace(state, reason=explain_state(services, texts, name, state.reason))
        shown.append(_present_channel(name, platform, told))
    return schemas.Channels(
        channels=shown,
        platforms=[_present_platform(offer, texts.locale) for offer in services.core.accounts.offers()],
        next=names[limit - 1] if len(names) > limit else None,
    )


@router.post("/api/channels/{account}/restart", status_code=202)
@requires(Permission.ACCOUNTS)
async def restart_account(account: str, services: Services, by: By) -> schemas.Restarted:
    """Restart an account (403: the caller is no admin of it)."""
    if account not in services.core.accounts.states():
        raise not_found("account")
    check(services, by, Permission.ACCOUNTS, Target(account))
    if not services.core.accounts.restart(account):
        raise not_found("account")
    await services.db.transact(
        record_event, audit_actor(services, by), AuditEvent("restart", account), services.clock.now()
    )
    return schemas.Restarted(account=account)


@router.get("/api/commands")
@open_to(Role.MEMBER)
async def list_commands(services: Services, by: By) -> schemas.Commands:
    """List the slash commands that the caller may use, in their language."""
    texts = texts_of(services, by)
    return schemas.Commands(
        commands=[
            schemas.CommandInfo(
                name=command.name,
                usage=f"/{command.usage}",
                summary=texts(f"cmd_{command.name}"),
                role=command.role.name.lower(),
            )
            for command in services.commands.for_role(by.role)
            if may(services, by, command.permission)
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


def _present_platform(offer: PlatformOffer, locale: str) -> schemas.PlatformInfo:
    title = offer.manifest.title_in(locale)
    return schemas.PlatformInfo(name=offer.name, title=title, keys=dict(offer.keys), guide=offer.guide)


class _Delivery:
    """A platform's request, and its account's answer."""

    def __init__(self, request: Request, adapter: ReceivesWebhooks) -> None:
        self._request = request
        self._adapter = adapter
        self.answer = WebhookAnswer(503)

    async def deliver(self) -> WebhookAnswer | None:
        """Return the answer, or None if the signature is invalid."""
        headers = {name.lower(): value for name, value in self._request.headers.items()}
        body = await self._request.body()
        self.answer = await self._adapter.webhook(WebhookRequest(headers, body))
        return None if self.answer.status in WRONG_SIGNATURE else self.answer


WRONG_SIGNATURE = (401, 403)
RETRY_LATER = "The account is not connected yet; retry later."


@router.post("/webhooks/{account}", tags=["webhooks"])
@open_to(Role.BLOCKED)
async def receive_webhook(account: str, request: Request, services: Services, attempts: Attempts) -> Response:
    """Deliver a platform's webhook request to its account (404: unknown account, or one without webhooks;
    429: too many wrong signatures; 503: not connected yet, so the platform retries).
    """
    channel = services.channels.get(account)
    if channel is None or not isinstance(channel.adapter, ReceivesWebhooks):
        raise not_found("account")
    if not channel.ready.is_set():
        raise HTTPException(503, RETRY_LATER, {"Retry-After": "5"})
    delivery = _Delivery(request, channel.adapter)
    if isinstance(channel.adapter, VerifiesSignatures) and channel.adapter.verifies_signatures:
        await attempts.check_signature(request.scope, delivery.deliver, detail=account)
    else:
        await attempts.check(request.scope, CredentialKind.WEBHOOK, delivery.deliver, detail=account)
    answer = delivery.answer
    return Response(answer.body, answer.status, media_type=answer.content_type)
