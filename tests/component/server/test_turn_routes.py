"""Turns over HTTP: of one conversation and of all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.domain import ProgressState, ToolStep
from bot.store.admission_types import Verdict
from bot.store.interrupts import open_interrupt
from bot.store.turns import load_turn, save_turn
from bot.turn import TurnState
from tests.contract.store.inbound_messages import ANN, BEN, accept, admission, message
from tests.platforms.web.people import CHATS, signed_in
from tests.platforms.web.serving import World, world


async def test_turns_of_all_conversations_page_by_page(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        one, other = await service.open(), await service.open()
        turns = []
        for conversation, text in ((one, "first"), (other, "second"), (one, "third")):
            posted = await service.say(conversation, text)
            turns.append((await service.turn(posted["turn"]))["id"])
        page = (await service.http.get("/api/turns", params={"limit": 2})).json()
        assert [(turn["id"], turn["conversation"]) for turn in page["turns"]] == [
            (turns[2], one),
            (turns[1], other),
        ]
        assert page["turns"][1]["messages"][0]["text"] == "second"
        assert page["turns"][1]["parts"][0]["text"] == "second"
        rest = (await service.http.get("/api/turns", params={"limit": 2, "cursor": page["next"]})).json()
        assert ([turn["id"] for turn in rest["turns"]], rest["next"]) == ([turns[0]], None)
        mine = (await service.http.get("/api/turns", params={"conversation": one})).json()
        assert [turn["id"] for turn in mine["turns"]] == [turns[2], turns[0]]
        assert (await service.http.get("/api/turns", params={"conversation": 99})).status_code == 404


async def test_no_turns_yet(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        assert (await service.http.get("/api/turns")).json() == {"turns": [], "next": None}


async def read(service: World) -> list[str]:
    """What was written down as read."""
    deeds = await service.audited()
    return [deed["subject"] for deed in deeds if deed["action"] == "read"]


async def test_reading_what_was_written_elsewhere_is_written_down_once_an_hour(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        now = service.service.clock.now()
        [taken] = await accept(service.service.db, admission(message(), Verdict.COMMAND), now=now)
        own = await service.open()
        await service.turn((await service.say(own, "mine"))["turn"])
        for _ in range(2):
            await service.http.get(f"/api/conversations/{own}/messages")
            assert (await service.http.get(f"/api/turns/{taken.turn}")).status_code == 200
            await service.http.get(f"/api/conversations/{taken.conversation}/messages")
            await service.http.get("/api/turns", params={"conversation": taken.conversation})
        # The hour may have ended meanwhile.
        assert set(await read(service)) == {f"conversation {taken.conversation}"}
        assert len(await read(service)) <= 2
        await service.http.get("/api/turns")
        assert (await read(service))[0] == "turns of all conversations"


async def test_a_turn_tells_which_tools_were_called(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        turn = await service.turn((await service.say(await service.open(), "hello"))["turn"])
        assert turn["steps"] == []
        steps = (ToolStep("ls", "path: /", ProgressState.DONE, "a b", 1.5),)
        await service.service.db.transact(save_turn, turn["id"], [], service.service.clock.now(), steps=steps)
        for path, params in ((f"/api/turns/{turn['id']}", {}), ("/api/turns", {"limit": 1})):
            found = (await service.http.get(path, params=params)).json()
            [shown] = found.get("turns", [found])
            step = {"tool": "ls", "arguments": "path: /", "state": "done", "result": "a b", "seconds": 1.5}
            assert shown["steps"] == [{**step, "kind": "tool", "title": ""}]


async def stored(
    service: World, text: str, state: TurnState = TurnState.DONE, *, hours: float = 0.0, **more: Any
) -> int:
    """A turn on Telegram in this state, so many hours old; its id."""
    db, now = service.service.db, service.service.clock.now() - hours * 3600
    [taken] = await accept(db, admission(message(text, **more), Verdict.COMMAND), now=now)
    assert taken.turn is not None
    await db.transact(save_turn, taken.turn, [], now, state=state)
    return int(taken.turn)


async def listed(client: Any, **params: Any) -> list[int]:
    answer = await client.get("/api/turns", params=params)
    assert answer.status_code == 200, answer.text
    return [turn["id"] for turn in answer.json()["turns"]]


async def test_turns_by_state_text_account_and_person(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        own = await service.open()
        here = (await service.turn((await service.say(own, "100% of the Report"))["turn"]))["id"]
        done = await stored(service, "the report", chat="c7")
        failed = await stored(service, "发票在哪里", TurnState.FAILED, chat="c8", sender=BEN)
        asking = await stored(service, "delete it", chat="c9")
        claim = await service.service.db.transact(load_turn, asking)
        assert claim is not None
        await service.service.db.transact(open_interrupt, claim.turn, "i1", ["yes", "no"], 1.0)
        running = await stored(service, "wait", TurnState.RUNNING, chat="c8", sender=BEN)
        for params, expected in (
            ({"state": "failed"}, [failed]),
            ({"state": "waiting"}, [asking]),
            ({"state": "running"}, [running]),
            ({"state": "done"}, [done, here]),
            ({"state": "cancelled"}, []),
            ({"q": "REPORT"}, [done, here]),
            ({"q": "0% of"}, [here]),
            ({"q": "%"}, [here]),
            ({"q": "发票"}, [failed]),
            ({"account": "tg"}, [running, asking, failed, done]),
            ({"account": "web", "state": "done"}, [here]),
            ({"person": "telegram:8"}, [running, failed]),
            ({"person": "telegram:8", "state": "failed"}, [failed]),
            ({"person": "discord:8"}, []),
            ({"conversation": own, "q": "report"}, [here]),
        ):
            assert await listed(service.http, **params) == expected, params
        assert (await service.http.get("/api/turns", params={"state": "nonsense"})).status_code == 422
        [turn] = (await service.http.get("/api/turns", params={"state": "waiting"})).json()["turns"]
        assert (turn["state"], turn["asks"], turn["place"]) == ("done", True, "Ann")


async def test_turns_of_the_last_hours(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        await stored(service, "old", hours=25)
        failed = await stored(service, "old", TurnState.FAILED, hours=25)
        works = await stored(service, "works", TurnState.RUNNING, hours=25)
        recent = [await stored(service, "new", hours=hours) for hours in (23.5, 0.5)]
        assert await listed(service.http, hours=24) == [*recent[::-1], works]
        assert await listed(service.http, hours=24, state="failed") == []
        assert await listed(service.http, hours=26, state="failed") == [failed]
        assert await listed(service.http, hours=24, limit=1) == recent[1:]
        assert (await service.http.get("/api/turns", params={"hours": 8785})).status_code == 422


@pytest.mark.parametrize(
    "params", [{"q": "secret"}, {"person": "telegram:8"}, {"state": "done"}, {"hours": "1"}]
)
async def test_filters_show_members_no_more(tmp_path: Path, params: dict[str, str]) -> None:
    async with world(tmp_path, extra=CHATS) as service, signed_in(service, ANN) as ann:
        own = await stored(service, "my secret", chat="p7")
        await stored(service, "their secret", chat="p8", sender=BEN)
        assert set(await listed(ann, **params)) <= {own, own - 1}
        assert await listed(ann, person="telegram:8") == []
