"""What is kept about a person, over HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bot.features.backup.copies import record_backup
from tests.platforms.web.people import CHATS, signed_in
from tests.platforms.web.serving import world

PERSON = "/api/people/web:owner/data"


async def test_it_is_handed_out_and_erased(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        posted = await service.say(conversation, "my secret")
        await service.turn(posted["turn"])
        found = (await service.http.get(PERSON)).json()
        assert [one["text"] for one in found["messages"]] == ["my secret"]
        assert found["messages"][0]["answer"]
        erased = await service.http.delete(PERSON)
        assert erased.status_code == 200, erased.text
        done = erased.json()
        assert (done["messages"], done["threads"], done["shared_threads"]) == (1, 1, 0)
        assert (done["open_messages"], done["remembers"], done["done"]) == (0, False, True)
        assert (done["unsupported"], done["backups"]) == ([], [])
        state = (await service.http.get("/api/people/web:owner/erasure")).json()
        assert state["finished_at"] >= state["requested_at"]
        assert state["erased"]["messages"] == 1
        assert (await service.http.get(PERSON)).json()["messages"] == []
        actions = [one["action"] for one in (await service.http.get("/api/audit")).json()["entries"]]
        assert actions == ["data exported", "data erased", "data exported"]


async def test_an_erased_language_is_not_used_any_more(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        chosen = await service.turn((await service.say(conversation, "/language zh"))["turn"])
        assert chosen["parts"][0]["text"] == "已改用中文向你发送系统消息。"
        assert (await service.http.delete(PERSON)).json()["done"]
        conversation = await service.open()
        shown = await service.turn((await service.say(conversation, "/language"))["turn"])
        assert "English" in shown["parts"][0]["text"]


async def test_an_erasure_that_was_never_requested_has_no_time(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service, signed_in(service) as ann:
        archive = tmp_path / "roebot.tar.gz"
        await asyncio.to_thread(archive.touch)
        await asyncio.to_thread(record_backup, service.home, archive, 5.0)
        for person, client, name in (
            ("telegram:7", ann, archive.name),
            ("telegram:7", service.http, str(archive)),
            ("web:owner", service.http, str(archive)),
        ):
            state = await client.get(f"/api/people/{person}/erasure")
            assert state.status_code == 200, state.text
            assert state.json() == {"requested_at": 0, "finished_at": None, "erased": {}, "backups": [name]}
        assert (await ann.get("/api/people/telegram:8/erasure")).status_code == 404


async def test_who_is_meant_must_be_clear(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        for nobody in ("owner", ":owner", "web:"):
            answer = await service.http.get(f"/api/people/{nobody}/data")
            assert (answer.status_code, "expected platform:id" in answer.text) == (422, True)


async def test_what_is_nobodys_id_is_not_said_to_be_erased(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        for nobody, told in (
            ("telegrem:5", "unknown platform telegrem; expected one of "),
            ("telegram:-1005", "person: expected"),
            ("slack:anna", "person: expected"),
        ):
            for method in ("GET", "DELETE"):
                answer = await service.http.request(method, f"/api/people/{nobody}/data")
                assert (answer.status_code, told in answer.text) == (422, True), answer.text
        assert (await service.http.get("/api/audit")).json()["entries"] == []
        assert (await service.http.delete("/api/people/telegram:5/data")).status_code == 200


async def test_an_export_at_the_page_is_a_file_to_save(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        posted = await service.say(conversation, "/data export")
        turn = await service.turn(posted["turn"])
        [file] = [part for part in turn["parts"] if part["kind"] == "document"]
        assert (file["filename"], file["text"]) == ("roebot-data.json", "")
        saved = await service.http.get(file["url"])
        assert saved.json()["person"] == "web:owner"
        assert saved.headers["content-disposition"] == 'attachment; filename="roebot-data.json"'
        assert (await service.http.get(f"/api/turns/{turn['id']}/documents/0")).status_code == 404
