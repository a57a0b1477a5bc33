"""People who come to the page of a service by a link out of a chat."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx

from bot.access.one_time_codes import CODE_LASTS, create_secret, hash_secret
from bot.domain import Sender
from bot.store.admission_types import Accepted, Verdict
from bot.store.audit import Actor
from bot.store.inbox import accept_batch
from bot.store.people import Pairing, RoleGrant, grant_role
from bot.store.turns import load_turn, save_turn
from bot.store.web_sessions import SecretHash, create_sign_in_code
from bot.turn import TurnState
from tests.contract.store.inbound_messages import ANN, QUEUE, accept, admission, message
from tests.platforms.web.serving import World

CHATS = 'channels: {tg: {platform: telegram, enabled: false, bot_token: "1:x"}}\n'
"""The configuration of the account that they come from; its messages are put into the store by hand."""


async def give(service: World, person: str, role: str) -> None:
    """Give somebody a role."""
    one = RoleGrant(person, role, "", "", 0.0)
    await service.service.db.transact(
        grant_role, one, Actor(f"{person} {role}", "web:owner", "", "web", ""), 0.0
    )
    await service.service.core.people.load_grants()


async def code_for(service: World, sender: Sender = ANN) -> str:
    """The code that somebody's `/page` in their private chat is answered with."""
    db, now, code = service.service.db, service.service.clock.now(), create_secret()
    asked = admission(message("/page", sender=sender, chat=f"c{sender.id}"), Verdict.COMMAND)
    [taken] = await accept(db, asked, now=now)
    command = (await db.transact(load_turn, taken.turn)).turn
    assert command is not None
    await db.transact(create_sign_in_code, SecretHash(hash_secret(code), now + CODE_LASTS), command, now)
    await db.transact(save_turn, taken.turn, [], now, state=TurnState.DONE)
    return code


async def knock(service: World, account: str, sender: Sender, code: str) -> Accepted:
    """A stranger writes in private on an account, and gets this code."""
    of = message(sender=sender, chat=f"p{sender.id}")
    there = replace(of, origin=replace(of.origin, account=account))
    asked = admission(there, Verdict.NOTICE, notice="x", pairing=Pairing(code, 3600.0))
    now = service.service.clock.now()
    [told] = await service.service.db.transact(accept_batch, account, [asked], "", now, QUEUE)
    assert isinstance(told, Accepted)
    return told


@asynccontextmanager
async def signed_in(
    service: World, sender: Sender = ANN, role: str = "member"
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of somebody who came by a link and has this role ("": the one that they have anyway)."""
    if role:
        await give(service, f"telegram:{sender.id}", role)
    async with httpx.AsyncClient(verify=False, base_url=service.url, timeout=20) as client:
        answer = await client.post("/api/session", json={"code": await code_for(service, sender)})
        assert answer.status_code == 204, answer.text
        yield client
