"""Search over titles, messages and answers finds what may be read, and nothing else."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from bot.domain import Part, PartKind, PartState, Sender
from bot.server.api.search import excerpt
from bot.store.conversations import set_title
from bot.store.turns import PartChange, claim_turn, save_turn
from bot.turn import TurnState
from tests.component.server.test_retry import answered
from tests.contract.store.inbound_messages import BEN, admission, message
from tests.features.attackers import CONFIG, PEOPLE, accept_batch_of, attacked
from tests.platforms.web.people import CHATS, signed_in
from tests.platforms.web.serving import World, world


async def found(client: httpx.AsyncClient, words: str, **more: Any) -> list[dict[str, Any]]:
    """All hits, page by page."""
    hits: list[dict[str, Any]] = []
    cursor = ""
    while True:
        answer = await client.get("/api/search", params={"q": words, "cursor": cursor, **more})
        assert answer.status_code == 200, answer.text
        page = answer.json()
        hits += page["hits"]
        if not page["next"]:
            return hits
        cursor = page["next"]


async def test_titles_messages_and_answers_are_found(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        turn = await answered(service.http, "季度收入报告 and Revenue")
        assert [hit["in"] for hit in await found(service.http, "收入")] == ["title", "message"]
        [title, hit] = await found(service.http, "rEVENUE")
        assert (title["turn"], hit["turn"]) == (None, turn["id"])
        assert hit["conversation"] == turn["conversation"]
        assert (hit["platform"], hit["account"]) == ("web", "web")
        assert "Revenue" in hit["excerpt"]
        await service.http.patch(f"/api/conversations/{turn['conversation']}", json={"title": "Tea"})
        assert [hit["title"] for hit in await found(service.http, "收入")] == ["Tea"]
        for none in ("收x", "%", "_", "!", "  "):
            assert await found(service.http, none) == []


async def test_answers_are_found_page_by_page(tmp_path: Path) -> None:
    async with world(tmp_path, graph="slow") as service:
        conversation = await service.open()
        turns = []
        for _ in range(5):
            said = await service.say(conversation, "[tokens=12] count")
            turns.append((await service.turn(said["turn"]))["id"])
        hits = await found(service.http, "word12", limit=2)
        assert [hit["turn"] for hit in hits] == turns[::-1]
        assert {hit["in"] for hit in hits} == {"answer"}


async def test_erased_texts_are_not_found(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service, signed_in(service) as ann:
        await answered(ann, "planted words")
        assert len(await found(ann, "planted")) == 2
        await ann.delete("/api/people/telegram:7/data")
        assert await found(service.http, "planted") == []


async def test_reading_others_is_recorded(tmp_path: Path) -> None:
    async with (
        world(tmp_path, extra=CHATS) as service,
        signed_in(service) as ann,
        signed_in(service, BEN, "admin") as ben,
    ):
        turn = await answered(ann, "planted words")
        assert len(await found(ann, "planted")) == 2
        assert [one for one in await service.audited() if one["action"] == "read"] == []
        assert len(await found(ben, "planted")) == 2
        [read] = [one for one in await service.audited() if one["action"] == "read"]
        assert (read["person"], read["subject"]) == ("telegram:8", f"conversation {turn['conversation']}")
        assert "planted" not in str(read)


async def plant_answered(service: World, account: str, sender: Sender, chat: str, words: str) -> int:
    """A message with an answer and a title on an account; its conversation."""
    db, now = service.service.db, service.service.clock.now()
    of = message(words, sender=sender, chat=chat)
    [taken] = await accept_batch_of(
        service, account, [admission(replace(of, origin=replace(of.origin, account=account)))]
    )
    await db.transact(claim_turn, taken.conversation, now)
    part = Part(0, PartKind.TEXT, f"{words} again", PartState.FINAL)
    await db.transact(save_turn, taken.turn, [PartChange(part)], now, state=TurnState.DONE)
    await db.transact(set_title, taken.conversation, words)
    return taken.conversation


async def test_no_hit_is_in_a_conversation_that_can_not_be_read(tmp_path: Path) -> None:
    """Random people on two accounts, looked at by everybody."""
    dice = random.Random(44)
    async with attacked(tmp_path, CONFIG) as at:
        service = at.service
        planted = set()
        for number in range(60):
            account, person = dice.choice(("tg", "far")), str(dice.choice((1, 5, 6, 7, 8, 9, 20, 21)))
            chat = f"p{person}" if dice.random() < 0.7 else f"x{number}"
            planted.add(await plant_answered(service, account, Sender(person, "N"), chat, f"needle {number}"))
        for caller in PEOPLE:
            client = at.callers[caller]
            opened = (await client.post("/api/conversations", json={})).json()["id"]
            path = f"/api/conversations/{opened}/messages"
            said = await client.post(path, json={"text": f"needle of {caller}"})
            await service.turn(said.json()["turn"])
            planted.add(opened)
        for caller in PEOPLE:
            client = at.callers[caller]
            readable = {
                one for one in planted if (await client.get(f"/api/conversations/{one}")).status_code == 200
            }
            hits = await found(client, "needle", limit=7)
            assert {hit["conversation"] for hit in hits} == readable, caller
            assert readable, caller
        assert {hit["conversation"] for hit in await found(at.owner, "needle")} == planted
        refused = await at.callers["nobody"].get("/api/search", params={"q": "needle"})
        assert refused.status_code == 401


def test_an_excerpt_is_one_line_around_the_words() -> None:
    text = "a " * 100 + "The\nNeedle is here" + " b" * 200
    shown = excerpt(text, "needle")
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert "The Needle is here" in shown
    assert len(shown) < 200
    assert excerpt("İx needle", "needle") == "İx needle"
