"""What somebody who came by a link sees and does at the port: their own; for admins, written down, all."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.access import Role
from bot.features.schedules.schedule_store import load_schedule
from bot.store.admission_types import Verdict
from bot.store.conversations import list_conversations
from bot.store.people import list_role_grants
from bot.store.turns import load_turn
from tests.contract.store.inbound_messages import ANN, BEN, accept, admission, message
from tests.platforms.web.people import CHATS, give, signed_in
from tests.platforms.web.serving import World, world

ANNS, BENS = "telegram:7", "telegram:8"


async def chats(service: World) -> dict[str, int]:
    """Ann and Ben have written to the bot in private; their conversations by whose they are."""
    db = service.service.db
    for sender, chat in ((ANN, "p7"), (BEN, "p8")):
        notice = admission(message(sender=sender, chat=chat), Verdict.NOTICE, notice="hello")
        await accept(db, notice, now=service.service.clock.now())
    return {
        one.owner: one.id
        for one in await db.transact(list_conversations, "tg")
        if one.key.chat in ("p7", "p8")
    }


async def talk(client: httpx.AsyncClient, text: str) -> tuple[int, int]:
    """Begin a conversation at the page; its id, and the turn's."""
    made = (await client.post("/api/conversations", json={})).json()
    assert made["own"]
    answer = await client.post(f"/api/conversations/{made['id']}/messages", json={"text": text})
    assert answer.status_code == 202, answer.text
    return made["id"], answer.json()["turn"]


async def closed(client: httpx.AsyncClient, turn: int) -> dict[str, Any]:
    while True:
        found: dict[str, Any] = (await client.get(f"/api/turns/{turn}")).json()
        if found["finished_at"]:
            return found
        await asyncio.sleep(0.02)


async def deeds(service: World, action: str = "read") -> list[tuple[str, str, str]]:
    listed = (await service.http.get("/api/audit")).json()["entries"]
    return [(one["person"], one["subject"], one["detail"]) for one in listed if one["action"] == action]


async def test_a_member_talks_at_the_page_as_themselves(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service, signed_in(service) as ann:
        who = (await ann.get("/api/session")).json()
        assert who == {
            "person": ANNS,
            "name": "Ann",
            "role": "member",
            "how": "link",
            "account": "tg",
        }
        conversation, turn = await talk(ann, "hello")
        found = await closed(ann, turn)
        assert (found["state"], found["messages"][0]["name"]) == ("done", "Ann")
        _, asked = await talk(ann, "/whoami")
        assert "member" in (await closed(ann, asked))["parts"][0]["text"]
        assert ANNS in (await closed(ann, asked))["parts"][0]["text"]
        _, asked = await talk(ann, "/audit")
        assert "Only admins can use" in (await closed(ann, asked))["parts"][0]["text"]
        claim = await service.service.db.transact(load_turn, turn)
        assert claim.turn is not None
        assert service.service.core.account(claim.turn.address.account).role_in(claim.turn) is Role.MEMBER
        shown = (await ann.get(f"/api/conversations/{conversation}")).json()
        assert (shown["owner"], shown["own"], shown["writable"]) == (ANNS, True, True)


async def test_a_member_sees_their_own_conversations_alone(tmp_path: Path) -> None:
    async with (
        world(tmp_path, extra=CHATS) as service,
        signed_in(service) as ann,
        signed_in(service, BEN) as ben,
    ):
        on_telegram, mine = await chats(service), await service.open(chat="owners")
        of_ann, turn = await talk(ann, "hello")
        await closed(ann, turn)
        for account, expected in (("web", {of_ann}), ("terminal", set())):
            listed = (await ann.get("/api/conversations", params={"account": account})).json()
            assert {one["id"] for one in listed["conversations"]} == expected
        listed = (await ann.get("/api/conversations", params={"account": "tg"})).json()
        assert {one["owner"] for one in listed["conversations"]} == {ANNS}
        assert (await ann.get(f"/api/conversations/{on_telegram[ANNS]}/messages")).status_code == 200
        for other in (mine, on_telegram[BENS]):
            for path in ("", "/messages", "/usage", "/events"):
                answer = await ann.get(f"/api/conversations/{other}{path}")
                assert answer.status_code == 404, path
                assert answer.json() == {"detail": "Conversation not found."}
            for path, body in (("/messages", {"text": "hi"}), ("/stop", {})):
                assert (await ann.post(f"/api/conversations/{other}{path}", json=body)).status_code == 404
            assert (await ann.get("/api/turns", params={"conversation": other})).status_code == 404
        own = await ann.get("/api/turns", params={"conversation": of_ann})
        assert [one["id"] for one in own.json()["turns"]] == [turn]
        assert {one["conversation"] for one in (await ann.get("/api/turns")).json()["turns"]} == {
            of_ann,
            on_telegram[ANNS],
            *{one["id"] for one in listed["conversations"]},
        }
        for path in ("", "/documents/0"):
            assert (await ben.get(f"/api/turns/{turn}{path}")).status_code == 404
        assert (await ben.post(f"/api/turns/{turn}/retry")).status_code == 404
        # A chat of somebody else's is not opened by its name either.
        assert (await ann.post("/api/conversations", json={"chat": "owners"})).status_code == 404
        assert (await ann.post("/api/conversations", json={"account": "terminal"})).status_code == 404
        assert await deeds(service) == []


@pytest.mark.parametrize(("path", "body"), [("/stop", None), ("/messages", {"text": "/stop"})])
async def test_an_admin_stops_what_runs_for_somebody_else(tmp_path: Path, path: str, body: Any) -> None:
    async with (
        world(tmp_path, graph="slow", extra=CHATS) as service,
        signed_in(service) as ann,
        signed_in(service, BEN, "admin") as ben,
    ):
        conversation, turn = await talk(ann, "[tokens=2000] count")
        while not (await ann.get(f"/api/turns/{turn}")).json()["parts"]:
            await asyncio.sleep(0.02)
        answer = await ben.post(f"/api/conversations/{conversation}{path}", json=body)
        assert answer.status_code == 202, answer.text
        found = await closed(ann, turn)
        assert found["state"] == "cancelled"
        assert found["parts"][-1]["text"].endswith("*(stopped by `Ben`)*")
        assert await deeds(service, "command") == [(BENS, "/stop", "")]
        idle = await ben.post(f"/api/conversations/{conversation}{path}", json=body)
        assert (idle.status_code, idle.json()) == (409, {"detail": "Nothing is running here."})
        on_telegram = (await chats(service))[ANNS]
        assert (await ben.post(f"/api/conversations/{on_telegram}{path}", json=body)).status_code == 409


async def test_what_admins_read_of_others_is_written_down(tmp_path: Path) -> None:
    async with (
        world(tmp_path, extra=CHATS) as service,
        signed_in(service) as ann,
        signed_in(service, BEN, "admin") as ben,
    ):
        conversation, turn = await talk(ann, "between us")
        thread = (await closed(ann, turn))["thread_id"]
        for _ in range(2):
            read = await ben.get(f"/api/conversations/{conversation}/messages")
            assert "between us" in read.text
        chat = (await ben.get(f"/api/conversations/{conversation}")).json()["chat"]
        assert await deeds(service) == [
            (BENS, f"conversation {conversation}", f"web {chat} of {ANNS}"),
        ]
        answer = await ben.post(f"/api/conversations/{conversation}/messages", json={"text": "me too"})
        assert answer.status_code == 409
        await ben.get(f"/api/threads/{thread}/uploads/list")
        await ben.get("/api/memory", params={"scope": f"person:tg:{ANNS}"})
        await ben.get("/api/turns")
        assert {subject for _, subject, _ in await deeds(service)} == {
            f"conversation {conversation}",
            f"thread {thread}",
            f"memory person:tg:{ANNS}",
            "turns of all conversations",
        }
        # The owner of the machine is a reader like any other.
        await service.http.get(f"/api/conversations/{conversation}/messages")
        assert ("web:owner", f"conversation {conversation}", f"web {chat} of {ANNS}") in await deeds(service)


async def test_admins_are_no_owners(tmp_path: Path) -> None:
    async with (
        world(tmp_path, extra=CHATS) as service,
        signed_in(service) as _,
        signed_in(service, BEN, "admin") as ben,
    ):
        await give(service, "telegram:1", "owner")
        for entry, role, status in (
            ("telegram:30", "member", 200),
            ("telegram:30", "blocked", 200),
            ("telegram:30", "admin", 403),
            ("telegram:30", "owner", 403),
            ("telegram:1", "blocked", 403),
            (BENS, "owner", 403),
        ):
            answer = await ben.put(f"/api/access/{entry}", json={"role": role})
            assert answer.status_code == status, (entry, role)
        assert (await ben.delete("/api/access/telegram:1")).status_code == 403
        code = {"code": "AAAA-AAAA", "role": "admin"}
        assert (await ben.post("/api/access/pair", json=code)).status_code == 403
        assert (await ben.get("/api/people/telegram:1/data")).status_code == 403
        assert (await ben.delete("/api/people/telegram:1/data")).status_code == 403
        assert (await ben.get(f"/api/people/{ANNS}/data")).status_code == 200
        given = {person for person, _, _ in await deeds(service, "give")}
        assert given == {"web:owner", BENS}


async def test_memory_and_files_are_ones_own(tmp_path: Path) -> None:
    async with (
        world(tmp_path, extra=CHATS) as service,
        signed_in(service) as ann,
        signed_in(service, BEN) as ben,
    ):
        own = f"person:tg:{ANNS}"
        made = await ann.post("/api/memory/facts", json={"content": "Likes tea."})
        assert made.status_code == 201
        for params in ({}, {"scope": own}):
            assert "Likes tea." in (await ann.get("/api/memory", params=params)).text
        assert "tea" not in (await ben.get("/api/memory")).text
        for scopes in ([own], [f"person:tg:{BENS}", own], [own, f"person:tg:{BENS}"], [""], ["group:tg:g1"]):
            answer = await ben.get("/api/memory", params={"scope": scopes})
            assert answer.status_code == 404, scopes
            assert (await ben.delete("/api/memory", params={"scope": scopes})).status_code == 404
        conversation, turn = await talk(ann, "hello")
        thread = (await closed(ann, turn))["thread_id"]
        files = {"files": ("a.txt", b"secret", "text/plain")}
        assert (await ann.post(f"/api/threads/{thread}/uploads", files=files)).status_code == 200
        # What a conversation was on before is its owner's still.
        said = await ann.post(f"/api/conversations/{conversation}/messages", json={"text": "/new"})
        await closed(ann, said.json()["turn"])
        listed = f"/api/threads/{thread}/uploads/list"
        assert (await ann.get(listed)).json()["count"] == 1
        for path in (listed, f"/api/threads/{thread}/artifacts/mnt/user-data/uploads/a.txt"):
            answer = await ben.get(path)
            assert (answer.status_code, answer.json()) == (404, {"detail": "Thread not found."})
        assert (await ben.get(f"/api/threads/x%2F..%2F{thread}/uploads/list")).status_code in (403, 404)
        assert (await ann.delete(f"/api/threads/{thread}")).status_code == 403


async def test_schedules_and_tokens_are_ones_own(tmp_path: Path) -> None:
    async with (
        world(tmp_path, extra=CHATS) as service,
        signed_in(service) as ann,
        signed_in(service, BEN) as ben,
    ):
        on_telegram = await chats(service)
        body = {"conversation": on_telegram[ANNS], "kind": "message", "when": "daily 9:00", "text": "tea"}
        made = await ann.post("/api/schedules", json=body)
        assert made.status_code == 201, made.text
        one = made.json()["id"]
        assert (made.json()["person"], made.json()["chat"]) == (ANNS, "p7")
        found = await service.service.db.transact(load_schedule, one)
        assert found is not None
        assert service.service.core.account(found.account).has_access(found.origin)
        assert (await ben.post("/api/schedules", json=body)).status_code == 404
        listed = [
            [entry["id"] for entry in (await who.get("/api/schedules")).json()["schedules"]]
            for who in (ann, ben, service.http)
        ]
        assert listed == [[one], [], [one]]
        now = service.service.clock.now()
        asked = {"begin": now, "end": now + 3 * 86_400}
        for who, count in ((ann, 1), (ben, 0)):
            shown = (await who.get("/api/schedules/calendar", params=asked)).json()
            assert (len(shown["schedules"]), bool(shown["firings"])) == (count, bool(count))
        for method, path in (("GET", ""), ("GET", "/runs"), ("POST", "/pause"), ("DELETE", "")):
            assert (await ben.request(method, f"/api/schedules/{one}{path}")).status_code == 404
        assert (await ann.post(f"/api/schedules/{one}/pause")).status_code == 200
        for path in ("/api/usage", "/api/usage/breakdown"):
            assert (await ann.get(path)).status_code == 200
            assert (await ann.get(path, params={"person": ANNS})).status_code == 200
            assert (await ann.get(path, params={"person": BENS})).status_code == 404
        assert {one["person"] for one in (await ann.get("/api/usage")).json()["people"]} == {ANNS}
        assert (await ann.get(f"/api/people/{BENS}/data")).status_code == 404
        assert (await ann.get(f"/api/people/{ANNS}/data")).status_code == 200


async def test_who_is_shut_out_sees_no_more_of_what_they_watch(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service, signed_in(service) as ann:
        conversation, turn = await talk(ann, "hello")
        await closed(ann, turn)
        async with ann.stream("GET", f"/api/conversations/{conversation}/events") as answer:
            lines = answer.aiter_lines()
            async for line in lines:
                if line.startswith("event: snapshot"):
                    break
            await give(service, ANNS, "blocked")
            now = [one for one in await service.service.db.transact(list_conversations, "web")]
            adapter = service.adapter()
            adapter.hub.mark_stored(now[0].key.chat, turn)
            async with asyncio.timeout(20):
                rest = [line async for line in lines]
        assert not [line for line in rest if line.startswith("event:")]


async def test_an_owner_who_is_none_any_more_hears_no_more_of_the_runtime(tmp_path: Path) -> None:
    async with (
        world(tmp_path, graph="slow", extra=CHATS) as service,
        signed_in(service, role="owner") as ann,
    ):
        thread = (await ann.post("/api/langgraph/threads", json={})).json()["thread_id"]
        run = {
            "assistant_id": "slow",
            "input": {"messages": [{"type": "human", "content": "[tokens=5000]"}]},
            "stream_mode": "messages-tuple",
        }
        with pytest.raises(httpx.RemoteProtocolError):
            async with ann.stream("POST", f"/api/langgraph/threads/{thread}/runs/stream", json=run) as answer:
                assert answer.status_code == 200
                async for line in answer.aiter_lines():
                    if line.startswith("event: messages"):
                        await give(service, ANNS, "member")
        assert (await ann.get(f"/api/langgraph/threads/{thread}/state")).status_code == 403


async def test_at_the_page_an_admin_names_people_as_at_home(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service, signed_in(service, role="admin") as ann:
        for said, told in (
            ("/allow 30", "tg:30"),
            ("/role 30", "member"),
            ("/role 30 admin", "admin"),
            ("/audit 30", "granted the role"),
        ):
            _, turn = await talk(ann, said)
            assert told in (await closed(ann, turn))["parts"][0]["text"], said
        given = {one.entry: one.role for one in await service.service.db.transact(list_role_grants)}
        assert given == {ANNS: "admin", "tg:30": "member"}
