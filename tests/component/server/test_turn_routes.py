"""Turns over HTTP: of one conversation and of all."""

from __future__ import annotations

from pathlib import Path

from bot.domain import ProgressState, ToolStep
from bot.store.admission_types import Verdict
from bot.store.turns import save_turn
from tests.contract.store.inbound_messages import accept, admission, message
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
