"""Conversations are renamed, exported, deleted and given a model by those who may."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tests.component.server.test_retry import answered
from tests.contract.store.inbound_messages import BEN
from tests.platforms.web.people import CHATS, signed_in
from tests.platforms.web.serving import MODELS, world


async def test_a_conversation_is_renamed(tmp_path: Path) -> None:
    async with (
        world(tmp_path, extra=CHATS) as service,
        signed_in(service) as ann,
        signed_in(service, BEN) as ben,
    ):
        turn = await answered(ann, "hello")
        path = f"/api/conversations/{turn['conversation']}"
        renamed = await ann.patch(path, json={"title": " Green \n tea "})
        assert renamed.json()["title"] == "Green tea"
        assert (await service.http.patch(path, json={"title": "Tea"})).json()["title"] == "Tea"
        assert (await ben.patch(path, json={"title": "evil"})).status_code == 404
        assert (await ann.patch(path, json={"title": "x" * 121})).status_code == 422
        assert (await ann.get(path)).json()["title"] == "Tea"
        told = [one["person"] for one in await service.audited() if one["subject"] == "/title"]
        assert told == ["web:owner", "telegram:7"]


async def test_a_conversation_is_exported(tmp_path: Path) -> None:
    async with (
        world(tmp_path, extra=CHATS) as service,
        signed_in(service) as ann,
        signed_in(service, BEN) as ben,
    ):
        turn = await answered(ann, "one **bold**")
        said = {"text": "two"}
        path = f"/api/conversations/{turn['conversation']}"
        last = (await ann.post(f"{path}/messages", json=said)).json()["turn"]
        await service.turn(last)
        answer = await ann.get(f"{path}/export")
        assert answer.headers["content-type"].startswith("text/markdown")
        name = f"conversation-{turn['conversation']}.md"
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
        lines = [line for line in answer.text.splitlines() if line]
        assert lines[0] == "# one **bold**"
        assert [line for line in lines if not line.startswith("#")] == ["one **bold**"] * 2 + ["two"] * 2
        whole = await ann.get(f"{path}/export", params={"format": "json"})
        told = json.loads(whole.content)
        assert [one["id"] for one in told["turns"]] == [turn["id"], last]
        assert (await ben.get(f"{path}/export")).status_code == 404
        assert (await ann.get(f"{path}/export", params={"format": "pdf"})).status_code == 422
        await service.http.get(f"{path}/export")
        read = [one for one in await service.audited() if one["action"] == "read"]
        assert f"conversation {turn['conversation']}" in {one["subject"] for one in read}


async def test_a_deleted_conversation_leaves_nothing_but_its_usage(tmp_path: Path) -> None:
    async with (
        world(tmp_path, extra=CHATS) as service,
        signed_in(service) as ann,
        signed_in(service, BEN) as ben,
    ):
        turn = await answered(ann, "planted words")
        path = f"/api/conversations/{turn['conversation']}"
        schedule = {"conversation": turn["conversation"], "when": "daily 9:00", "text": "planted tea"}
        assert (await ann.post("/api/schedules", json=schedule)).status_code == 201
        used = (await service.http.get("/api/usage")).json()["total"]
        assert (await ben.delete(path)).status_code == 404
        assert (await ann.delete(path)).status_code == 204
        assert (await ann.delete(path)).status_code == 404
        for client in (ann, service.http):
            for address in (path, f"{path}/messages", f"{path}/events", f"/api/turns/{turn['id']}"):
                assert (await client.get(address)).status_code == 404, address
            listed = (await client.get("/api/conversations")).json()["conversations"]
            assert turn["conversation"] not in {one["id"] for one in listed}
            assert (await client.get("/api/schedules")).json()["schedules"] == []
            assert (await client.get("/api/search", params={"q": "planted"})).json()["hits"] == []
            for address in ("/api/turns", "/api/people/telegram:7/data"):
                assert "planted" not in (await client.get(address)).text
        assert (await service.http.get("/api/usage")).json()["total"] == used
        told = [one for one in await service.audited() if one["action"] == "conversation deleted"]
        kept = [(one["person"], one["subject"]) for one in told]
        assert kept == [("telegram:7", f"conversation {turn['conversation']}")]
        thread = f"/api/langgraph/threads/{turn['thread_id']}"
        async with asyncio.timeout(20):
            while (await service.http.get(thread)).status_code != 404:
                await asyncio.sleep(0.02)


async def test_a_run_and_what_waits_behind_it_is_stopped_before_deletion(tmp_path: Path) -> None:
    async with world(tmp_path, graph="slow") as service:
        conversation = await service.open(chat="again")
        async with service.events(conversation) as events:
            await service.say(conversation, "[tokens=5000] planted")
            async for name, _ in events:
                if name == "delta":
                    break
            await service.say(conversation, "[tokens=5000] planted too")
            deleted = await service.http.delete(f"/api/conversations/{conversation}")
            assert deleted.status_code == 204, deleted.text
            async with asyncio.timeout(20):
                async for _ in events:
                    pass
        assert "planted" not in (await service.http.get("/api/turns")).text
        fresh = await service.open(chat="again")
        assert fresh != conversation
        said = await service.say(fresh, "[tokens=3] hello")
        assert (await service.turn(said["turn"]))["state"] == "done"


async def test_chats_of_other_platforms_are_not_deleted(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service, signed_in(service):
        [one] = (await service.http.get("/api/conversations", params={"account": "tg"})).json()[
            "conversations"
        ]
        refused = await service.http.delete(f"/api/conversations/{one['id']}")
        assert refused.status_code == 409
        assert "telegram" in refused.json()["detail"]


async def test_model_and_agent_are_chosen_as_by_the_commands(tmp_path: Path) -> None:
    async with (
        world(tmp_path, extra=CHATS + MODELS) as service,
        signed_in(service) as ann,
        signed_in(service, BEN) as ben,
    ):
        turn = await answered(ann, "hello")
        path = f"/api/conversations/{turn['conversation']}"
        made = await service.http.post("/api/agents", json={"name": "poet", "description": "Rhymes."})
        assert made.is_success, made.text
        for what, name in (("model", "scripted"), ("agent", "poet")):
            chosen = await ann.put(f"{path}/{what}", json={"name": name})
            assert (chosen.status_code, chosen.json()[what]) == (200, name), chosen.text
            unknown = await ann.put(f"{path}/{what}", json={"name": "nobody"})
            assert unknown.status_code == 409
            assert "nobody" in unknown.json()["detail"]
            assert (await ben.put(f"{path}/{what}", json={"name": name})).status_code == 404
            assert (await ann.put(f"{path}/{what}", json={"name": "a b"})).status_code == 422
            assert (await ann.get(path)).json()[what] == name
            assert (await ann.put(f"{path}/{what}", json={"name": ""})).json()[what] == ""
        told = [
            (one["subject"], one["detail"]) for one in await service.audited() if one["action"] == "command"
        ]
        chosen_ones = [
            ("/agent", "default"),
            ("/agent", "poet"),
            ("/model", "default"),
            ("/model", "scripted"),
        ]
        assert [one for one in told if one[0] in {"/model", "/agent"}] == chosen_ones
