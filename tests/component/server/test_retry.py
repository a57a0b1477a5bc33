"""The last answer of a conversation is given again from the page, wherever that conversation is."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx

from bot.store.turns import claim_turn, save_turn
from bot.turn import TurnState
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.contract.store.inbound_messages import BEN, accept, admission, message
from tests.harness.waiters import answers, until
from tests.platforms.web.people import CHATS, signed_in
from tests.platforms.web.serving import World, world

NOT_LAST = "Only the last answered turn of a conversation can be retried."


async def answered(client: httpx.AsyncClient, text: str = "hello") -> dict[str, Any]:
    """Ask something at the page; the turn, once it is answered."""
    conversation = (await client.post("/api/conversations", json={})).json()["id"]
    path = f"/api/conversations/{conversation}/messages"
    return await closed(client, (await client.post(path, json={"text": text})).json()["turn"])


async def closed(client: httpx.AsyncClient, turn: int) -> dict[str, Any]:
    async with asyncio.timeout(20):
        while True:
            found: dict[str, Any] = (await client.get(f"/api/turns/{turn}")).json()
            if found["finished_at"]:
                return found
            await asyncio.sleep(0.02)


async def retried(service: World) -> list[tuple[str, str]]:
    """Who had what answered again, as the audit has it."""
    entries = await service.audited()
    return [(one["person"], one["subject"]) for one in entries if one["action"] == "retry"]


async def test_an_answer_in_a_group_is_given_again_there(tmp_path: Path) -> None:
    async with TelegramEmulator.serve() as emulator:
        account = f'{{platform: telegram, bot_token: "{emulator.token}", base_url: "{emulator.url}"}}'
        extra = f"channels: {{tg: {account}}}\naccess: {{default: allow}}\n"
        async with world(tmp_path, extra=extra) as service:
            group, at_bot = emulator.people.make_group("team"), f"@{emulator.world.bot.username}"
            emulator.people.says(f"{at_bot} hello", chat=group)
            await until(lambda: len(answers(emulator, group)) == 1, 20.0, lambda: "no answer")
            [turn] = (await service.http.get("/api/turns")).json()["turns"]
            await closed(service.http, turn["id"])
            answer = await service.http.post(f"/api/turns/{turn['id']}/retry")
            assert answer.status_code == 202, answer.text
            again = await closed(service.http, answer.json()["turn"])
            assert (again["repeats"], again["state"]) == (turn["id"], "done")
            assert again["parts"][0]["text"] == turn["parts"][0]["text"]
            first, second = answers(emulator, group)
            assert (second.text, second.reply_to) == (first.text, first.reply_to)
            assert (await closed(service.http, turn["id"]))["replaced"]
            assert await retried(service) == [("web:owner", f"turn {turn['id']}")]
            twice = await service.http.post(f"/api/turns/{turn['id']}/retry")
            assert (twice.status_code, twice.json()["detail"]) == (409, NOT_LAST)


async def test_not_while_something_is_under_way(tmp_path: Path) -> None:
    async with world(tmp_path, graph="slow") as service:
        turn = await answered(service.http, "[tokens=3] one")
        posted = await service.say(turn["conversation"], "[tokens=400] two")
        async with asyncio.timeout(20):
            while (await service.http.get(f"/api/turns/{posted['turn']}")).json()["state"] == "accepted":
                await asyncio.sleep(0.02)
        refused = await service.http.post(f"/api/turns/{turn['id']}/retry")
        assert refused.status_code == 409
        assert refused.json()["detail"].startswith("An answer is still in progress.")
        assert not (await service.http.get(f"/api/turns/{turn['id']}")).json()["replaced"]
        assert await retried(service) == []


async def test_of_two_presses_at_once_one_counts(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        turn = await answered(service.http)
        path = f"/api/turns/{turn['id']}/retry"
        both = await asyncio.gather(*(service.http.post(path) for _ in range(2)))
        assert sorted(answer.status_code for answer in both) == [202, 409]
        assert len(await retried(service)) == 1


async def test_members_have_their_own_answered_again_and_admins_all(tmp_path: Path) -> None:
    async with (
        world(tmp_path, extra=CHATS) as service,
        signed_in(service) as ann,
        signed_in(service, BEN, "admin") as ben,
    ):
        turn = await answered(ann)
        mine = await ann.post(f"/api/turns/{turn['id']}/retry")
        again = await closed(ann, mine.json()["turn"])
        theirs = await ben.post(f"/api/turns/{again['id']}/retry")
        assert theirs.status_code == 202, theirs.text
        last = await closed(ann, theirs.json()["turn"])
        assert (last["repeats"], last["messages"]) == (turn["id"], [])
        assert last["original"] == turn["messages"] != []
        assert turn["original"] == []
        listed = (await ann.get(f"/api/turns?conversation={turn['conversation']}")).json()["turns"]
        assert [one["original"] for one in listed] == [turn["messages"], turn["messages"], []]
        assert await retried(service) == [
            ("telegram:8", f"turn {again['id']}"),
            ("telegram:7", f"turn {turn['id']}"),
        ]
        others = await answered(service.http)
        assert (await ann.post(f"/api/turns/{others['id']}/retry")).status_code == 404


async def test_it_counts_for_the_budget_of_who_presses(tmp_path: Path) -> None:
    extra = f"{CHATS}budgets: {{person: {{messages_per_hour: 2}}}}\n"
    async with world(tmp_path, extra=extra) as service, signed_in(service) as ann:
        turn = await answered(ann)
        first = await ann.post(f"/api/turns/{turn['id']}/retry")
        again = await closed(ann, first.json()["turn"])
        refused = await ann.post(f"/api/turns/{again['id']}/retry")
        assert refused.status_code == 429
        assert refused.json()["detail"].startswith("You've reached your hourly message limit (2).")
        assert (await service.http.post(f"/api/turns/{again['id']}/retry")).status_code == 202


async def test_not_where_the_account_is_gone(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        db, now = service.service.db, service.service.clock.now()
        [taken] = await accept(db, admission(message()), now=now)
        await db.transact(claim_turn, taken.conversation, now)
        await db.transact(save_turn, taken.turn, [], now, state=TurnState.DONE)
        refused = await service.http.post(f"/api/turns/{taken.turn}/retry")
        assert refused.status_code == 409
        assert "account" in refused.json()["detail"]
