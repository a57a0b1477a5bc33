"""Tokens over HTTP: of a turn, of a conversation, of everybody and of one person."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from bot.domain import ChatKind
from bot.store.admission_types import Verdict
from bot.store.turns import save_turn
from bot.store.usage import TurnUsage
from bot.turn import ModelCall, RunTrace, TurnState
from tests.contract.store.inbound_messages import ANN, BEN, accept, admission, message
from tests.platforms.web.people import CHATS, give, signed_in
from tests.platforms.web.serving import World, world

FREE = {"cached_tokens": 0, "cost": 0.0, "currency": ""}
NOTHING = {"turns": 0, "input_tokens": 0, "output_tokens": 0, "total_tokens": 0} | FREE


async def spends(service: World, conversation: int, tokens: int, person: str = "web:owner") -> int:
    """A turn of somebody that cost so many tokens in and 1 out; its id."""
    posted = await service.say(conversation, "hello")
    turn: int = (await service.turn(posted["turn"]))["id"]
    db, now = service.service.db, service.service.clock.now()
    await db.transact(save_turn, turn, [], now, spent=TurnUsage(person, tokens, 1, tokens + 1))
    return turn


def sums(turns: int, tokens: int) -> dict[str, int]:
    return {
        "turns": turns,
        "input_tokens": tokens,
        "output_tokens": turns,
        "total_tokens": tokens + turns,
    } | FREE


async def asked(service: World, path: str, **params: Any) -> Any:
    answer = await service.http.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_turn_tells_what_it_cost(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        turn = await spends(service, conversation, 10)
        tokens = {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11} | FREE
        assert (await asked(service, f"/api/turns/{turn}"))["usage"] == tokens
        posted = await service.say(conversation, "/status")
        assert (await service.turn(posted["turn"]))["usage"] is None
        listed = (await asked(service, f"/api/conversations/{conversation}/messages"))["turns"]
        assert [one["usage"] for one in listed] == [None, tokens]


async def test_conversations_people_and_all(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        assert (await asked(service, "/api/usage"))["total"] == NOTHING
        one, other = await service.open(), await service.open()
        await spends(service, one, 10)
        await spends(service, one, 20)
        await spends(service, other, 300, "telegram:7")
        await spends(service, other, 5, "slack:U1")
        assert await asked(service, f"/api/conversations/{one}/usage") == sums(2, 30)
        assert await asked(service, f"/api/conversations/{other}/usage", days=1) == sums(2, 305)
        found = await asked(service, "/api/usage", days=7)
        assert found["total"] == sums(4, 335)
        assert found["since"] == pytest.approx(service.service.clock.now() - 7 * 86400, abs=60)
        # All of them were written at the page, whatever they count as here.
        assert found["people"] == [
            {"person": "slack:U1", "name": "Slack user", **sums(1, 5)},
            {"person": "telegram:7", "name": "Telegram user", **sums(1, 300)},
            {"person": "web:owner", "name": "Owner", **sums(2, 30)},
        ]
        assert found["next"] is None
        mine = await asked(service, "/api/usage", person="telegram:7")
        assert (mine["total"], mine["next"]) == (sums(1, 300), None)
        assert [one["person"] for one in mine["people"]] == ["telegram:7"]
        nobody = await asked(service, "/api/usage", person="telegram:8")
        assert nobody["total"] == NOTHING
        assert nobody["people"] == [{"person": "telegram:8", "name": "Telegram user", **NOTHING}]


async def test_people_come_in_pages(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        for number in (2, 3, 1):
            await spends(service, conversation, number, f"telegram:{number}")
        first = await asked(service, "/api/usage", limit=2)
        assert [one["person"] for one in first["people"]] == ["telegram:1", "telegram:2"]
        second = await asked(service, "/api/usage", limit=2, cursor=first["next"])
        assert [one["person"] for one in second["people"]] == ["telegram:3"]
        assert second["next"] is None
        assert first["total"] == second["total"] == sums(3, 6)


async def test_days_of_everybody_and_of_one_person(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        assert (await asked(service, "/api/usage/breakdown"))["rows"] == []
        conversation = await service.open()
        await spends(service, conversation, 10)
        await spends(service, conversation, 300, "telegram:7")
        now = service.service.clock.now()
        found = await asked(service, "/api/usage/breakdown", days=7)
        assert found["since"] == now - now % 86400 - 6 * 86400
        counted = sums(2, 310).keys() - {"currency"}
        total = {name: sum(day[name] for day in found["rows"]) for name in counted}
        assert total | {"currency": ""} == sums(2, 310)
        assert found["rows"][-1]["name"] == datetime.fromtimestamp(now, UTC).date().isoformat()
        mine = await asked(service, "/api/usage/breakdown", person="telegram:7", ahead=-720)
        assert [{**day, "key": "", "name": ""} for day in mine["rows"]] == [
            {**sums(1, 300), "key": "", "name": ""}
        ]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/usage?days=0", 422),
        ("/api/usage?days=367", 422),
        ("/api/usage?limit=0", 422),
        ("/api/usage/breakdown?days=0", 422),
        ("/api/usage/breakdown?ahead=901", 422),
        (f"/api/usage?person={'x' * 257}", 422),
        ("/api/conversations/99/usage", 404),
        ("/api/conversations/1/usage?days=soon", 422),
    ],
)
async def test_what_cannot_be_asked(tmp_path: Path, path: str, status: int) -> None:
    async with world(tmp_path) as service:
        answer = await service.http.get(path)
        assert answer.status_code == status
        assert answer.json()["detail"]


async def test_it_needs_the_token(tmp_path: Path) -> None:
    async with world(tmp_path, headers={}) as service:
        assert (await service.http.get("/api/usage")).status_code == 401
        assert (await service.http.get("/api/conversations/1/usage")).status_code == 401


async def test_usage_by_model_person_account_chat_and_day(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        db, now = service.service.db, service.service.clock.now()
        signs = "=+-@\t"
        calls = [ModelCall(f"{sign}small", now, now, "c1", 1, 1, 2) for sign in signs]
        calls = [ModelCall("big", now, now, "", 80, 10, 90, cost=0.5), *calls]
        for chat, sender, trace in (("7", ANN, RunTrace(now, now, tuple(calls))), ("-100", BEN, None)):
            kind = ChatKind.GROUP if chat == "-100" else ChatKind.PRIVATE
            of = admission(message(chat=chat, sender=sender, kind=kind), Verdict.COMMAND)
            [taken] = await accept(db, of, now=now)
            spent = TurnUsage(f"telegram:{sender.id}", 89, 11, 100, cost=0.5, currency="EUR")
            await db.transact(save_turn, taken.turn, [], now, spent=spent, trace=trace, state=TurnState.DONE)
        mine = await service.open()
        await spends(service, mine, 4)

        async def rows(client: Any, key: str, **more: Any) -> list[tuple[str, int, float]]:
            answer = await client.get("/api/usage/breakdown", params={"by": key, **more})
            assert answer.status_code == 200, answer.text
            return [(row["name"], row["total_tokens"], row["cost"]) for row in answer.json()["rows"]]

        small = [(f"{sign}small", 2, 0.0) for sign in signs]
        by_model = await rows(service.http, "model")
        assert (by_model[:2], sorted(by_model[2:])) == ([("", 105, 0.5), ("big", 90, 0.5)], sorted(small))
        assert await rows(service.http, "person") == [("Ann", 100, 0.5), ("Ben", 100, 0.5), ("Owner", 5, 0.0)]
        assert await rows(service.http, "account") == [("tg", 200, 1.0), ("web", 5, 0.0)]
        chats = [("Ann", 100, 0.5), ("Telegram group", 100, 0.5), ("Web console", 5, 0.0)]
        assert sorted(await rows(service.http, "chat")) == sorted(chats)
        today = datetime.fromtimestamp(now, UTC).date().isoformat()
        assert await rows(service.http, "day") == [(today, 205, 1.0)]
        assert await rows(service.http, "chat", person="telegram:7") == [("Ann", 100, 0.5)]
        params = {"by": "model", "format": "csv"}
        answer = await service.http.get("/api/usage/breakdown", params=params)
        assert answer.headers["content-type"].startswith("text/csv")
        assert answer.headers["content-disposition"] == 'attachment; filename="usage-by-model.csv"'
        shown = [(row["key"], row["name"]) for row in csv.DictReader(StringIO(answer.text, newline=""))]
        assert sorted(shown[2:]) == sorted((f"'{sign}small", f"'{sign}small") for sign in signs)
        async with signed_in(service, ANN) as ann:
            for key in ("model", "person", "account", "chat", "day"):
                assert sum(row[1] for row in await rows(ann, key)) == 100, key
            denied = await ann.get("/api/usage/breakdown", params={"person": "telegram:8"})
            assert denied.status_code == 404
            await give(service, "tg:7", "admin")
            assert await rows(ann, "account") == [("tg", 200, 1.0)]
