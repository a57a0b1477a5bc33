"""Names of people and chats over HTTP, by role and language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bot.domain import ChatKind, Sender
from bot.store.admission_types import Verdict
from bot.store.turns import save_turn
from bot.store.usage import TurnUsage
from bot.turn import TurnState
from tests.contract.store.inbound_messages import ANN, BEN, accept, admission, message
from tests.platforms.web.people import CHATS, give, signed_in
from tests.platforms.web.serving import World, world


async def writes(service: World, text: str = "hello", **more: Any) -> int:
    """Somebody writes on Telegram; the conversation's id."""
    db, now = service.service.db, service.service.clock.now()
    [taken] = await accept(db, admission(message(text, **more), Verdict.COMMAND), now=now)
    assert taken.turn is not None
    spent = TurnUsage(f"telegram:{more.get('sender', ANN).id}", 1, 1, 2)
    await db.transact(save_turn, taken.turn, [], now, state=TurnState.DONE, spent=spent)
    return int(taken.conversation)


async def place(client: Any, conversation: int, language: str = "") -> tuple[str, str]:
    headers = {"accept-language": language} if language else {}
    found = (await client.get(f"/api/conversations/{conversation}", headers=headers)).json()
    return found["place"], found["owner_name"]


async def names(client: Any, **params: Any) -> tuple[list[str], list[str]]:
    answer = await client.get("/api/names", params=params)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    return [one["name"] for one in found["people"]], [one["name"] for one in found["chats"]]


async def test_chats_have_the_name_of_their_person_or_group(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        private = await writes(service, chat="7")
        group = await writes(service, chat="-100", kind=ChatKind.GROUP, sender=BEN)
        unnamed = await writes(service, chat="9", sender=Sender("9"))
        own = await service.open()
        assert await place(service.http, private) == ("Ann", "Ann")
        assert await place(service.http, group) == ("Telegram group", "")
        assert await place(service.http, unnamed) == ("Telegram chat", "")
        assert await place(service.http, own) == ("Web console", "")
        assert await place(service.http, group, "zh-CN,zh;q=0.9") == ("Telegram 群聊", "")
        await service.service.core.languages.set_language("web:owner", "zh")
        assert await place(service.http, unnamed, "en") == ("Telegram 单聊", "")
        await service.service.core.chat_titles.note_title("tg", "-100", "Operations")
        assert await place(service.http, group) == ("Operations", "")
        await service.service.core.chat_titles.note_title("tg", "-100", "")
        assert await place(service.http, group) == ("Operations", "")


async def test_a_new_name_counts(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        private = await writes(service, chat="7")
        await writes(service, chat="7", sender=Sender("7", "Anna"))
        assert await place(service.http, private) == ("Anna", "Anna")
        assert (await names(service.http, kind="person"))[0] == ["Anna"]


async def test_people_and_chats_are_found_by_name(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        for sender in (ANN, BEN, Sender("9")):
            await writes(service, chat=sender.id, sender=sender)
        await writes(service, chat="-100", kind=ChatKind.GROUP)
        await service.service.core.chat_titles.note_title("tg", "-100", "Banners 横幅")
        people, chats = await names(service.http)
        assert people == ["Ann", "Ben", "Telegram user"]
        assert sorted(chats) == ["Ann", "Banners 横幅", "Ben", "Telegram chat"]
        assert await names(service.http, q="AN") == (["Ann"], ["Banners 横幅", "Ann"])
        assert await names(service.http, q="横幅", kind="chat") == ([], ["Banners 横幅"])
        assert await names(service.http, q="ben", kind="person") == (["Ben"], [])
        found = (await service.http.get("/api/names", params={"q": "Ann", "kind": "person"})).json()
        expected = {"person": "telegram:7", "name": "Ann", "platform": "telegram", "account": "tg"}
        assert found["people"] == [expected]


async def test_each_role_finds_what_it_may_read(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        await service.open()
        for sender in (ANN, BEN):
            await writes(service, chat=sender.id, sender=sender)
        async with signed_in(service, ANN) as ann:
            assert await names(ann) == (["Ann"], ["Ann", "Ann"])
            assert await names(ann, q="Ben") == ([], [])
            await give(service, "telegram:7", "admin")
            people, chats = await names(ann)
            assert people == ["Ann", "Ben"]
            assert "Web console" not in chats
            assert set(chats) == {"Ann", "Ben"}
        assert "Web console" in (await names(service.http))[1]
