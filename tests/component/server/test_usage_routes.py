"""Tokens over HTTP: of a turn, of a conversation, of everybody and of one person."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.store.turns import save_turn
from bot.store.usage import TurnUsage
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
        assert (await asked(service, "/api/usage/days"))["days"] == []
        conversation = await service.open()
        await spends(service, conversation, 10)
        await spends(service, conversation, 300, "telegram:7")
        now = service.service.clock.now()
        found = await asked(service, "/api/usage/days", days=7)
        assert found["since"] == pytest.approx(now - 7 * 86400, abs=60)
        counted = sums(2, 310).keys() - {"currency"}
        total = {name: sum(day[name] for day in found["days"]) for name in counted}
        assert total | {"currency": ""} == sums(2, 310)
        assert found["days"][-1]["day"] == datetime.fromtimestamp(now, UTC).date().isoformat()
        mine = await asked(service, "/api/usage/days", person="telegram:7", ahead=-720)
        assert [{**day, "day": ""} for day in mine["days"]] == [{**sums(1, 300), "day": ""}]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/usage?days=0", 422),
        ("/api/usage?days=367", 422),
        ("/api/usage?limit=0", 422),
        ("/api/usage/days?days=0", 422),
        ("/api/usage/days?ahead=901", 422),
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
