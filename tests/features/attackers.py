"""A service with two accounts, the callers that attack it, and what they must not see or change."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from bot.access import Role
from bot.access.one_time_codes import CODE_LASTS, create_secret, hash_secret
from bot.domain import Origin, Sender
from bot.store.admission_types import Accepted, Verdict
from bot.store.audit import Actor, AuditEvent, record_event
from bot.store.inbox import accept_batch
from bot.store.people import RoleGrant, grant_role
from bot.store.read_models import list_turns
from bot.store.turns import load_turn
from bot.store.web_sessions import SecretHash, create_sign_in_code
from tests.contract.store.inbound_messages import BEN, QUEUE, admission, message
from tests.features.access_table import Access
from tests.platforms.web.people import knock
from tests.platforms.web.serving import World, world

CONFIG = """
channels:
  tg:
    platform: telegram
    enabled: false
    bot_token: "1:x"
    access: {admins: ["telegram:5", "telegram:6"], members: ["telegram:7", "telegram:8", "telegram:9"]}
  far:
    platform: telegram
    enabled: false
    bot_token: "2:x"
    access: {admins: ["telegram:5", "telegram:9"], members: ["telegram:6"]}
access: {owners: ["telegram:1"]}
"""
PEOPLE = {
    "member": ("tg", Sender("7", "Ann")),
    "elsewhere": ("far", Sender("9", "Eve")),
    "admin": ("tg", Sender("6", "Ada")),
    "everywhere": ("tg", Sender("5", "Max")),
    "owner": ("tg", Sender("1", "Olga")),
}
"""Who comes by a link from which account; Eve is an admin of `far` and a member of `tg`."""
ROLES = {
    "member": Role.MEMBER,
    **dict.fromkeys(("elsewhere", "admin", "everywhere"), Role.ADMIN),
    "owner": Role.OWNER,
}
"""The highest role of each on the account that they come from."""
WITHOUT = ("nobody", "forger")
"""Callers without a credential, as another user of the machine is; the second one also lies about
where it comes from."""
CALLERS = (*WITHOUT, *PEOPLE)
EVERYBODY = frozenset(CALLERS)
MAY = {
    Access.ANYONE: EVERYBODY,
    Access.MEMBERS: frozenset(PEOPLE),
    Access.OWN: frozenset({"admin", "everywhere", "owner"}),
    Access.ADMINS: frozenset({"elsewhere", "admin", "everywhere", "owner"}),
    Access.ACCOUNT: frozenset({"admin", "everywhere", "owner"}),
    Access.PERSON: frozenset({"everywhere", "owner"}),
    Access.ALL: frozenset({"everywhere", "owner"}),
    Access.OWNERS: frozenset({"owner"}),
    Access.TOKEN: frozenset(),
    Access.RAW: frozenset(),
}
"""Who may use a door with what is Ben's on `tg`; his agent thread is nobody's to run."""
BENS, OWNERS, FARS = "planted-bens-4f1c", "planted-owners-9d27", "planted-fars-2b60"
"""Words of Ben on `tg`, of an owner in the console, and of somebody on `far`."""
HIDDEN = {
    **dict.fromkeys((*WITHOUT, "member", "elsewhere"), (BENS, OWNERS)),
    "admin": (OWNERS, FARS),
    "everywhere": (OWNERS,),
    "owner": (),
}
"""Words that must not appear in anything that a caller is answered."""

ASKED: Mapping[str, tuple[str, ...]] = {
    "allow": ("tg:33", "telegram:33"),
    "revoke": ("tg:30", "telegram:8"),
    "role": ("tg:30 blocked", "telegram:8 blocked", "tg:30", ""),
    "pair": ("AAAA-AAAA", ""),
    "budget": ("tg:8 1/h", "telegram:8 1/h", "tg:8", ""),
    "audit": ("", "telegram:20"),
    "accounts": ("",),
    "restart": ("tg",),
    "reload": ("",),
    "announce": (f"{BENS[:7]} hello",),
    "skill": ("data-analysis off",),
    "mcp": ("files off",),
    "digest": ("", "show {schedule}", "pause {schedule}", "drop {schedule}", "now {schedule}"),
    "approve": ("{turn}",),
    "reject": ("{turn}",),
    "usage": ("",),
    "memory": ("", "export"),
    "data": ("", "export"),
    "threads": ("",),
    "status": ("",),
    "approved": ("",),
    "help": ("",),
}
"""What is written after a command: what is Ben's on `tg`."""


@dataclass
class Target:
    """The service, its callers, and the ids of what is Ben's on `tg`."""

    service: World
    callers: dict[str, httpx.AsyncClient]
    places: dict[str, str]

    @property
    def owner(self) -> httpx.AsyncClient:
        """A client with the token of the service."""
        return self.service.http

    async def snapshot(self) -> dict[str, Any]:
        """What refused callers must not have changed."""
        at = self.places
        paths = (
            *("/api/access", "/api/schedules", "/api/agents", "/api/skills", "/api/mcp/config"),
            *("/api/memory?scope=person:tg:telegram:8", f"/api/threads/{at['thread_id']}/uploads/list"),
            *(f"/api/conversations/{at['conversation']}", f"/api/turns?conversation={at['conversation']}"),
            *("/api/people/telegram:8/data", f"/api/langgraph/threads/{at['raw']}"),
            f"/api/langgraph/threads/{at['raw']}/runs",
            "/api/profiles?account=tg&chat=-1",
        )
        found = {path: (await self.owner.get(path)).json() for path in paths}
        # Exports have a time, and are themselves in the audit log.
        person = found["/api/people/telegram:8/data"]
        found["/api/people/telegram:8/data"] = {
            name: value for name, value in person.items() if name not in {"at", "audit", "deeds"}
        }
        # People are named as in their newest message, and the attackers write some.
        for one in found["/api/access"]["configured"]:
            del one["name"]
        return found


async def link_from(service: World, account: str, sender: Sender) -> str:
    """The code of the link that somebody gets by `/page` on an account."""
    db, now, code = service.service.db, service.service.clock.now(), create_secret()
    of = message("/page", sender=sender, chat=f"c{sender.id}")
    asked = admission(replace(of, origin=replace(of.origin, account=account)), Verdict.COMMAND)
    [taken] = await accept_batch_of(service, account, [asked])
    command = (await db.transact(load_turn, taken.turn)).turn
    await db.transact(create_sign_in_code, SecretHash(hash_secret(code), now + CODE_LASTS), command, now)
    return code


async def accept_batch_of(service: World, account: str, items: list[Any]) -> list[Accepted]:
    """Accept messages of an account."""
    now = service.service.clock.now()
    found = await service.service.db.transact(accept_batch, account, items, "", now, QUEUE)
    assert all(isinstance(one, Accepted) for one in found)
    return found  # type: ignore[return-value]


async def plant_message(service: World, account: str, sender: Sender, text: str, thread: str) -> Accepted:
    """Somebody writes to the bot in private."""
    of = message(text, sender=sender, chat=f"p{sender.id}")
    there: Origin = replace(of.origin, account=account)
    asked = admission(replace(of, origin=there), Verdict.NOTICE, notice="hello")
    [taken] = await accept_batch_of(service, account, [replace(asked, thread_id=thread)])
    return taken


async def plant_schedule(service: World, conversation: int) -> int:
    """Ben makes a schedule in the console; its number."""
    body = {"conversation": conversation, "when": "in 300 hours", "text": BENS}
    async with httpx.AsyncClient(verify=False, base_url=service.url, timeout=20) as ben:
        await ben.post("/api/session", json={"code": await link_from(service, "tg", BEN)})
        made = await ben.post("/api/schedules", json=body)
    assert made.is_success, made.text
    return int(made.json()["id"])


async def plant(service: World) -> dict[str, str]:
    """Put words of Ben, of an owner and of somebody on `far` everywhere; the ids of what is Ben's."""
    http, db, now, thread = service.http, service.service.db, service.service.clock.now(), str(uuid4())
    taken = await plant_message(service, "tg", BEN, BENS, thread)
    await plant_message(service, "far", Sender("20", FARS), FARS, str(uuid4()))
    own = await service.open()
    await service.turn((await service.say(own, OWNERS))["turn"])
    await knock(service, "tg", Sender("31", BENS), "AAAA-AAAA")
    for entry, name in (("tg:30", BENS), ("far:30", FARS)):
        one = RoleGrant(entry, "member", name, "", now)
        await db.transact(grant_role, one, Actor(entry, "web:owner", "", "web", ""), now)
    await service.service.core.people.load_grants()
    for account, word in (("tg", BENS), ("far", FARS)):
        actor = Actor(f"{account} planted", "telegram:20", word, account, "")
        await db.transact(record_event, actor, AuditEvent("command", word), now)
    scope = {"scope": "person:tg:telegram:8"}
    await http.post("/api/memory/facts", params=scope, json={"content": BENS})
    facts = (await http.get("/api/memory", params=scope)).json()["facts"]
    uploaded = await http.post(f"/api/threads/{thread}/uploads", files={"files": (f"{BENS}.txt", b"x")})
    assert uploaded.is_success, uploaded.text
    schedule = await plant_schedule(service, taken.conversation)
    await http.post("/api/agents", json={"name": "poet", "description": "Rhymes."})
    raw = (await http.post("/api/langgraph/threads", json={})).json()["thread_id"]
    [turn] = await db.transact(list_turns, taken.conversation)
    return {
        **{"conversation": str(taken.conversation), "turn": str(turn.id), "part": "0", "raw": raw},
        **{"schedule": str(schedule), "person": "telegram:8", "account": "tg", "thread_id": thread},
        **{"filename": f"{BENS}.txt", "path": "mnt/user-data/uploads/x", "fact": facts[0]["id"]},
        **{"assistant_id": str(uuid4()), "run_id": str(uuid4()), "checkpoint_id": "1", "rest": "x"},
    }


@asynccontextmanager
async def attacked(home: Path, config: str = CONFIG) -> AsyncIterator[Target]:
    """The service with everything planted and everybody signed in."""
    async with world(home, extra=config) as service, AsyncExitStack() as stack:
        places = await plant(service)
        callers = {}
        for name in CALLERS:
            lies = {"x-forwarded-for": "127.0.0.1", "forwarded": "for=127.0.0.1", "x-real-ip": "127.0.0.1"}
            headers = lies if name == "forger" else {}
            client = httpx.AsyncClient(verify=False, base_url=service.url, timeout=20, headers=headers)
            callers[name] = await stack.enter_async_context(client)
            if name in PEOPLE:
                code = await link_from(service, *PEOPLE[name])
                answer = await client.post("/api/session", json={"code": code})
                assert answer.status_code == 204, answer.text
        yield Target(service, callers, places)
