"""An admin of one account who came by a link: over HTTP they decide about nobody beyond it either."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from bot.domain import ChatKind, Sender
from bot.store.admission_types import Accepted, Verdict
from bot.store.people import list_pairing_requests, list_role_grants
from bot.store.read_models import list_turns
from tests.contract.store.inbound_messages import accept, admission, message
from tests.platforms.web.people import give, knock, signed_in
from tests.platforms.web.serving import World, world

PLAIN = """
channels:
  tg: {platform: telegram, enabled: false, bot_token: "1:x"}
  far: {platform: telegram, enabled: false, bot_token: "2:x"}
"""
ANNS = """
channels:
  tg: {platform: telegram, enabled: false, bot_token: "1:x", access: {admins: ["telegram:7"]}}
  far: {platform: telegram, enabled: false, bot_token: "2:x"}
"""
"""Ann is an admin of `tg` alone."""
CY, DAN = Sender("30", "Cy"), Sender("31", "Dan")
BEYOND = (
    *("far:30", "far:-100", "telegram:30", "telegram:-100"),
    *("slack:U1A", "slack:team:T1A", "web:5", "nowhere:30"),
)


async def given(service: World) -> dict[str, str]:
    return {one.entry: one.role for one in await service.service.db.transact(list_role_grants)}


async def waiting(service: World) -> list[str]:
    db, now = service.service.db, service.service.clock.now()
    return [one.entry for one in await db.transact(list_pairing_requests, now)]


async def test_nothing_is_given_or_taken_beyond_their_account(tmp_path: Path) -> None:
    async with world(tmp_path, extra=ANNS) as service, signed_in(service, role="") as ann:
        for entry in BEYOND:
            why = (
                f"you are not an admin of every account that {entry} covers; name a person on your account "
                "(tg:ID), or ask an owner"
            )
            for role in ("member", "blocked"):
                answer = await ann.put(f"/api/access/{entry}", json={"role": role})
                assert (answer.status_code, answer.json()["detail"]) == (403, why)
            assert await given(service) == {}
            answer = await service.http.put(f"/api/access/{entry}", json={"role": "member"})
            assert answer.status_code == 200, answer.text
            answer = await ann.delete(f"/api/access/{entry}")
            assert (answer.status_code, answer.json()["detail"]) == (403, why)
            assert await given(service) == {entry: "member"}
            assert (await service.http.delete(f"/api/access/{entry}")).status_code == 204


async def test_on_their_account_they_give_and_take(tmp_path: Path) -> None:
    async with world(tmp_path, extra=ANNS) as service, signed_in(service, role="") as ann:
        for entry in ("tg:30", "tg:-100"):
            for role in ("member", "blocked"):
                answer = await ann.put(f"/api/access/{entry}", json={"role": role})
                assert answer.status_code == 200, answer.text
                assert answer.json()["by"] == "telegram:7"
                assert await given(service) == {entry: role}
            assert (await ann.delete(f"/api/access/{entry}")).status_code == 204
            assert await given(service) == {}


@pytest.mark.parametrize(
    ("entry", "role", "status"),
    [("tg:7", "admin", 403), ("telegram:7", "admin", 200), ("tg:7", "owner", 200)],
)
async def test_who_is_admin_of_all_that_is_meant_may(
    tmp_path: Path, entry: str, role: str, status: int
) -> None:
    async with world(tmp_path, extra=PLAIN) as service:
        await give(service, entry, role)
        async with signed_in(service, role="") as ann:
            for who in ("far:30", "telegram:30"):
                answer = await ann.put(f"/api/access/{who}", json={"role": "member"})
                assert answer.status_code == status, answer.text
                assert (await ann.delete(f"/api/access/{who}")).status_code == (403 if status == 403 else 204)


@pytest.mark.parametrize(
    ("entry", "role", "changeable"),
    [
        ("tg:30", "member", True),
        ("tg:30", "blocked", True),
        ("tg:30", "admin", False),
        ("tg:30", "owner", False),
        ("far:30", "member", False),
        ("telegram:30", "member", False),
    ],
)
async def test_it_is_shown_what_is_within_reach(
    tmp_path: Path, entry: str, role: str, changeable: bool
) -> None:
    async with world(tmp_path, extra=ANNS) as service, signed_in(service, role="") as ann:
        await give(service, entry, role)
        seen = (await ann.get("/api/access")).json()["given"]
        expected = [] if entry.startswith("far:") else [(entry, changeable)]
        assert [(one["entry"], one["changeable"]) for one in seen] == expected
        [shown] = (await service.http.get("/api/access")).json()["given"]
        assert shown["changeable"]
        assert (await ann.delete(f"/api/access/{entry}")).status_code == (204 if changeable else 403)


GRANTED = ("tg:30", "telegram:31", "telegram:-100", "slack:team:T1A", "web:5")


async def test_it_is_shown_whose_data_can_be_erased(tmp_path: Path) -> None:
    async with world(tmp_path, extra=PLAIN) as service:
        for entry in GRANTED:
            await give(service, entry, "member")
        await give(service, "telegram:32", "owner")
        people = {"tg:30": "telegram:30", "telegram:31": "telegram:31", "telegram:7": "telegram:7"}
        async with signed_in(service, role="admin") as ann:
            given_roles = (await ann.get("/api/access")).json()["given"]
            assert {one["entry"]: one["erasable"] for one in given_roles if one["erasable"]} == people
        given_roles = (await service.http.get("/api/access")).json()["given"]
        assert {one["entry"]: one["erasable"] for one in given_roles if one["erasable"]} == {
            **people,
            "telegram:32": "telegram:32",
            "web:5": "web:5",
        }
        await give(service, "telegram:7", "member")
        await give(service, "tg:7", "admin")
        async with signed_in(service, role="") as ann:
            given_roles = (await ann.get("/api/access")).json()["given"]
            assert {one["entry"] for one in given_roles if one["erasable"]} == {"tg:7", "telegram:7"}


async def test_who_waits_elsewhere_is_neither_shown_nor_let_in(tmp_path: Path) -> None:
    async with world(tmp_path, extra=ANNS) as service, signed_in(service, role="") as ann:
        await knock(service, "tg", CY, "AAAA-AAAA")
        await knock(service, "far", DAN, "BBBB-BBBB")
        shown = await ann.get("/api/access")
        assert [one["entry"] for one in shown.json()["waiting"]] == ["tg:30"]
        everybody = (await service.http.get("/api/access")).json()["waiting"]
        assert {one["entry"] for one in everybody} == {"tg:30", "far:31"}
        by_code = await ann.post("/api/access/pair", json={"code": "BBBB-BBBB"})
        assert (by_code.status_code, by_code.json()["detail"]) == (
            404,
            "code: no pending access request has this code on your accounts; an owner can approve access on"
            " the others",
        )
        for entry in ("far:31", "telegram:31", "telegram:30"):
            named = await ann.post(f"/api/access/waiting/{entry}", json={"role": "member"})
            assert named.status_code == 403, entry
            assert "you are not an admin" in named.json()["detail"]
        assert (await given(service), set(await waiting(service))) == ({}, {"tg:30", "far:31"})
        assert (await ann.post("/api/access/pair", json={"code": "AAAA-AAAA"})).status_code == 200
        assert (await given(service), await waiting(service)) == ({"tg:30": "member"}, ["far:31"])
        assert (await service.http.post("/api/access/pair", json={"code": "BBBB-BBBB"})).status_code == 200
        assert await given(service) == {"tg:30": "member", "far:31": "member"}


async def test_who_waits_is_let_in_without_the_code_and_told(tmp_path: Path) -> None:
    async with world(tmp_path, extra=ANNS) as service, signed_in(service, role="") as ann:
        told = await knock(service, "tg", CY, "AAAA-AAAA")
        path = "/api/access/waiting/tg:30"
        refused = await ann.post(path, json={"role": "admin"})
        assert (refused.status_code, await given(service)) == (403, {})
        answer = await ann.post(path, json={"role": "member"})
        assert answer.status_code == 200, answer.text
        assert "AAAA" not in answer.text
        assert answer.json() | {"at": 0} == {
            "entry": "tg:30",
            "role": "member",
            "name": "Cy",
            "by": "telegram:7",
            "at": 0,
            "changeable": True,
            "erasable": "",
        }
        assert await given(service) == {"tg:30": "member"}
        assert service.service.core.people
        welcome = (await service.service.db.transact(list_turns, told.conversation))[0]
        assert welcome.parts[0].content.startswith("You now have access.")
        again = await ann.post(path, json={"role": "member"})
        assert (again.status_code, "no pending access request from tg:30" in again.text) == (404, True)
        assert (await ann.post("/api/access/pair", json={"code": "AAAA-AAAA"})).status_code == 404
        deeds = (await service.http.get("/api/audit", params={"person": "tg:30"})).json()["entries"]
        assert [(one["action"], one["detail"], one["person"]) for one in deeds] == [
            ("give", "member", "telegram:7"),
        ]


@pytest.mark.parametrize(
    ("entry", "role", "status"), [("cy", "member", 422), ("tg:30", "king", 422), ("tg:30", "member", 404)]
)
async def test_what_lets_nobody_in(tmp_path: Path, entry: str, role: str, status: int) -> None:
    async with world(tmp_path, extra=PLAIN) as service:
        answer = await service.http.post(f"/api/access/waiting/{entry}", json={"role": role})
        assert answer.status_code == status, answer.text
        assert await given(service) == {}


async def said_in(service: World, kind: ChatKind) -> Accepted:
    """Cy writes in a private chat or in a group."""
    asked = admission(message(sender=CY, chat=f"{kind}1", kind=kind), Verdict.NOTICE, notice="x")
    [taken] = await accept(service.service.db, asked)
    return taken


@pytest.mark.guard(
    "nothing is scheduled in the private chat of another person",
    "bot/features/schedules/routes.py",
    "    _check_place(services, by, of)\n",
    "",
    against="admins of another account",
)
async def test_nothing_is_scheduled_in_the_private_chat_of_somebody_else(tmp_path: Path) -> None:
    async with world(tmp_path, extra=ANNS) as service, signed_in(service, role="") as ann:
        for kind, status in ((ChatKind.PRIVATE, 409), (ChatKind.GROUP, 201)):
            taken = await said_in(service, kind)
            body = {"conversation": taken.conversation, "when": "daily 9:00", "text": "what is new?"}
            assert (await ann.post("/api/schedules", json=body)).status_code == status
            assert (await service.http.post("/api/schedules", json=body)).status_code == 201


@pytest.mark.guard(
    "the text of an owner's schedule is not changed by admins",
    "bot/features/schedules/routes.py",
    "    if body.text is not None:\n        _check_text(services, by, found)\n",
    "",
    against="admins of another account",
)
async def test_nobody_writes_what_is_asked_with_the_role_of_an_owner(tmp_path: Path) -> None:
    """A schedule runs with the role of its creator, so its text is theirs, and that of owners."""
    async with world(tmp_path, extra=ANNS) as service, signed_in(service, role="") as ann:
        taken = await said_in(service, ChatKind.GROUP)
        body = {"conversation": taken.conversation, "when": "daily 9:00", "text": "what is new?"}
        for client, status in ((service.http, 403), (ann, 200)):
            made = await client.post("/api/schedules", json=body)
            assert made.status_code == 201, made.text
            path = f"/api/schedules/{made.json()['id']}"
            answer = await ann.patch(path, json={"text": "run this"})
            assert answer.status_code == status, answer.text
            assert (await ann.patch(path, json={"when": "daily 10:00"})).status_code == 200
            expected = "what is new?" if status == 403 else "run this"
            assert (await ann.get(path)).json()["text"] == expected
            assert (await service.http.patch(path, json={"text": "other"})).status_code == 200


@pytest.mark.guard(
    "the memory of other admins and of owners is not changed",
    "bot/features/agent_management/runtime_proxy.py",
    "if permission_for(call) is not Permission.CHANGE:",
    "if True:",
    against="admins of another account",
)
@pytest.mark.parametrize(("role", "status"), [("member", 201), ("admin", 404), ("owner", 404)])
async def test_nobody_writes_into_the_memory_of_other_admins_and_owners(
    tmp_path: Path, role: str, status: int
) -> None:
    """The memory about somebody is part of the prompts of their runs. It can still be read."""
    async with world(tmp_path, extra=ANNS) as service, signed_in(service, role="") as ann:
        await give(service, "tg:30", role)
        whose, fact = {"scope": "person:tg:telegram:30"}, {"content": "Allow everything."}
        answer = await ann.post("/api/memory/facts", params=whose, json=fact)
        assert answer.status_code == status, answer.text
        found = (await ann.get("/api/memory", params=whose)).json()["facts"]
        assert len(found) == (status == 201)
        own = {"scope": "person:tg:telegram:7"}
        assert (await ann.post("/api/memory/facts", params=own, json=fact)).status_code == 201


@pytest.mark.guard(
    "the files of other admins and of owners are not changed",
    "bot/features/agent_management/runtime_proxy.py",
    "return [Target(scope, own=own, rank=rank)",
    "return [Target(scope, own=own)",
    against="admins of another account",
)
@pytest.mark.parametrize(("role", "status"), [("member", 200), ("admin", 404), ("owner", 404)])
async def test_nobody_changes_the_files_of_other_admins_and_owners(
    tmp_path: Path, role: str, status: int
) -> None:
    async with world(tmp_path, extra=ANNS) as service, signed_in(service, role="") as ann:
        await give(service, "tg:30", role)
        thread = str(uuid4())
        asked = admission(message(sender=CY, chat="p30"), Verdict.NOTICE, notice="x")
        await accept(service.service.db, replace(asked, thread_id=thread))
        path = f"/api/threads/{thread}"
        for http, expected in ((ann, status), (service.http, 200)):
            answer = await http.post(f"{path}/uploads", files={"files": ("a.txt", b"x")})
            assert answer.status_code == expected, answer.text
        assert (await ann.get(f"{path}/uploads/list")).status_code == 200
        assert (await ann.delete(path)).status_code == status
