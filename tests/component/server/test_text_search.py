"""Lists of conversations and of audit events are searched as a whole, within what the caller may see."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.domain import Sender
from bot.server.api import text_search
from bot.server.api.text_search import find_page
from bot.store.audit import Actor, AuditEvent, record_event
from tests.component.server.test_search import plant_answered
from tests.contract.store.inbound_messages import ANN, BEN
from tests.features.attackers import CONFIG, PEOPLE, attacked
from tests.platforms.web.people import CHATS, signed_in
from tests.platforms.web.serving import world


async def pages(client: httpx.AsyncClient, path: str, items: str, **params: Any) -> list[dict[str, Any]]:
    """All items, page by page."""
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        answer = await client.get(path, params={**params, "cursor": cursor})
        assert answer.status_code == 200, answer.text
        page = answer.json()
        found += page[items]
        if not page["next"]:
            return found
        cursor = page["next"]


async def test_conversations_are_found_by_title_and_person(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        anns = await plant_answered(service, "tg", ANN, "p7", "季度收入报告")
        bens = await plant_answered(service, "tg", BEN, "p8", "Holidays")
        own = await service.open()
        await service.http.patch(f"/api/conversations/{own}", json={"title": "HOLIDAYS in ÖSTERREICH"})
        for params, expected in (
            ({"q": "收入"}, [anns]),
            ({"q": "holidays"}, [own, bens]),
            ({"q": "österreich"}, [own]),
            ({"q": " ben "}, [bens]),
            ({"q": "holidays", "account": "tg"}, [bens]),
            ({"q": "nothing"}, []),
            ({}, [own, bens, anns]),
            ({"mine": "true"}, [own]),
        ):
            given = {"account": "", "limit": 1, **params}
            found = await pages(service.http, "/api/conversations", "conversations", **given)
            assert [one["id"] for one in found] == expected, params


@pytest.mark.parametrize("step", [3, 500])
async def test_no_conversation_is_found_that_can_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Random people on two accounts, looked at by everybody."""
    monkeypatch.setattr(text_search, "STEP", step)
    monkeypatch.setattr(text_search, "MOST", 4 * step)
    dice = random.Random(44)
    async with attacked(tmp_path, CONFIG) as at:
        planted = set()
        for number in range(40):
            account, person = dice.choice(("tg", "far")), str(dice.choice((1, 5, 6, 7, 8, 9, 20, 21)))
            chat = f"p{person}" if dice.random() < 0.7 else f"x{number}"
            sender = Sender(person, "N")
            planted.add(await plant_answered(at.service, account, sender, chat, f"needle {number}"))
        for caller in PEOPLE:
            client = at.callers[caller]
            opened = (await client.post("/api/conversations", json={})).json()["id"]
            await client.patch(f"/api/conversations/{opened}", json={"title": "A needle"})
            planted.add(opened)
        for caller in PEOPLE:
            client = at.callers[caller]
            readable = {
                one for one in planted if (await client.get(f"/api/conversations/{one}")).status_code == 200
            }
            given = {"account": "", "q": "NEEDLE", "limit": 2}
            hits = await pages(client, "/api/conversations", "conversations", **given)
            assert {one["id"] for one in hits} == readable, caller
            assert len(hits) == len(readable)
            for account in ("tg", "far", "web"):
                listed = await pages(client, "/api/conversations", "conversations", account=account)
                assert {one["id"] for one in listed} & planted <= readable
                assert {one["account"] for one in listed} <= {account}
        refused = await at.callers["nobody"].get("/api/conversations", params={"q": "needle"})
        assert refused.status_code == 401


async def test_audit_events_are_found_by_their_sentence_and_account(tmp_path: Path) -> None:
    """Also those that no page has shown yet, and those of one's own account only."""
    async with (
        world(tmp_path, extra=CHATS) as service,
        signed_in(service, ANN) as ann,
        signed_in(service, BEN, "admin") as ben,
    ):
        db, now = service.service.db, service.service.clock.now()
        for number in range(1300):
            subject, account = ("telegram:8", "tg") if number in (3, 700) else (f"telegram:{number}x", "far")
            actor = Actor(f"n{number}", "telegram:7", "Ann", account, "")
            await db.transact(record_event, actor, AuditEvent("give", subject, "member"), now)
        for language, words in (("en", "GRANTED the role member to ben"), ("zh", "授予了 ben“成员”角色")):
            headers = {"accept-language": language}
            for client in (service.http, ben):
                answer = await client.get("/api/audit", params={"q": words}, headers=headers)
                page = answer.json()
                assert [one["account"] for one in page["entries"]] == ["tg", "tg"]
                assert page["next"] is None
        assert len(await pages(service.http, "/api/audit", "entries", q="far", limit=200)) == 1298
        assert await pages(ben, "/api/audit", "entries", q="far") == []
        shown = await pages(ben, "/api/audit", "entries", q="ann", limit=200)
        assert {one["account"] for one in shown} == {"tg"}
        assert (await ann.get("/api/audit", params={"q": "ben"})).status_code == 403
        assert (await ann.get("/api/audit")).status_code == 403


async def test_one_page_reads_a_bounded_number_of_items() -> None:
    asked = list[int]()

    async def load(before: int, count: int) -> list[tuple[int, str | None, str]]:
        asked.append(count)
        return [
            (number, str(number), str(number)) for number in range(before - 1, max(0, before - count - 1), -1)
        ]

    assert await find_page(load, "no such", 50_000, 50) == ([], "40000")
    assert asked == [500] * 20
    assert await find_page(load, "", 50_000, 2) == (["49999", "49998"], "49998")
    assert await find_page(load, "7", 40, 50) == (["37", "27", "17", "7"], None)
