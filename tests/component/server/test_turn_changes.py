"""The last message is replaced and answered again, and answers are rated."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.component.server.test_retry import answered, closed
from tests.contract.store.inbound_messages import BEN
from tests.platforms.web.people import CHATS, signed_in
from tests.platforms.web.serving import World, world

NOT_EDITABLE = "Only your last message can be replaced, once it has been answered."


async def edited(client: httpx.AsyncClient, turn: int, text: str, **more: str) -> httpx.Response:
    return await client.post(f"/api/turns/{turn}/edit", json={"text": text, **more})


async def test_the_last_message_is_replaced_and_answered_again(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        first = await answered(service.http, "one")
        assert first["editable"]
        said = await service.say(first["conversation"], "two")
        last = await service.turn(said["turn"])
        assert last["editable"]
        assert not (await service.turn(first["id"]))["editable"]
        answer = await edited(service.http, last["id"], "three", event_id="again-1")
        assert answer.status_code == 202, answer.text
        again = await service.turn(answer.json()["turn"])
        assert [message["text"] for message in again["messages"]] == ["three"]
        assert (again["parts"][0]["text"], again["repeats"], again["editable"]) == ("three", 0, True)
        old = await service.turn(last["id"])
        assert (old["replaced"], old["editable"], old["messages"][0]["text"]) == (True, False, "two")
        same = await edited(service.http, last["id"], "three", event_id="again-1")
        assert same.json() == answer.json()
        thread = await service.http.get(f"/api/langgraph/threads/{again['thread_id']}/state")
        told = [message["content"] for message in thread.json()["values"]["messages"]]
        assert len(told) == 4
        assert ("\none\n" in told[0], "\nthree\n" in told[2]) == (True, True)
        refused = await edited(service.http, first["id"], "four")
        assert (refused.status_code, refused.json()["detail"]) == (409, NOT_EDITABLE)
        kept = [one for one in await service.audited() if one["action"] == "message replaced"]
        assert [one["subject"] for one in kept] == [f"turn {last['id']}"]


async def test_the_first_message_begins_on_another_thread_and_files_are_kept(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        path = f"/api/conversations/{conversation}/messages"
        files = [("files", ("notes.txt", b"some notes", "text/plain"))]
        sent = (await service.http.post(path, data={"text": "read it"}, files=files)).json()
        first = await service.turn(sent["turn"])
        answer = await edited(service.http, first["id"], "read it well")
        again = await service.turn(answer.json()["turn"])
        assert again["thread_id"] != first["thread_id"]
        assert again["messages"][0]["files"] == first["messages"][0]["files"] != []
        uploads = await service.http.get(f"/api/threads/{again['thread_id']}/uploads/list")
        assert [file["filename"] for file in uploads.json()["files"]] == ["notes.txt"]


async def test_a_retried_message_can_be_replaced(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        turn = await answered(service.http, "one")
        again = (await service.http.post(f"/api/turns/{turn['id']}/retry")).json()["turn"]
        await service.turn(again)
        assert (await service.turn(turn["id"]))["editable"]
        answer = await edited(service.http, turn["id"], "two")
        assert answer.status_code == 202, answer.text
        assert (await service.turn(answer.json()["turn"]))["parts"][0]["text"] == "two"
        assert (await service.turn(again))["replaced"]


@pytest.mark.parametrize(
    ("text", "told"),
    [("/new", "A command"), ("stop", "A command"), ("  ", "empty"), ("x" * 100_001, "longer")],
)
async def test_what_no_message_can_become(tmp_path: Path, text: str, told: str) -> None:
    async with world(tmp_path) as service:
        turn = await answered(service.http)
        refused = await edited(service.http, turn["id"], text)
        assert refused.status_code == 422
        assert told in refused.json()["detail"]
        assert not (await service.turn(turn["id"]))["replaced"]


async def test_messages_in_progress_and_of_others_are_not_replaced(tmp_path: Path) -> None:
    async with (
        world(tmp_path, extra=CHATS, graph="slow") as service,
        signed_in(service) as ann,
        signed_in(service, BEN, "admin") as ben,
    ):
        turn = await answered(ann, "[tokens=3] one")
        assert (await edited(ben, turn["id"], "evil")).status_code == 409
        assert not (await ben.get(f"/api/turns/{turn['id']}")).json()["editable"]
        other = await answered(service.http, "[tokens=3] one")
        assert (await edited(ann, other["id"], "evil")).status_code == 404
        path = f"/api/conversations/{turn['conversation']}/messages"
        await ann.post(path, json={"text": "[tokens=300] two"})
        refused = await edited(ann, turn["id"], "three")
        assert (refused.status_code, refused.json()["detail"]) == (409, NOT_EDITABLE)


async def test_it_counts_for_the_budget(tmp_path: Path) -> None:
    extra = f"{CHATS}budgets: {{person: {{messages_per_hour: 2}}}}\n"
    async with world(tmp_path, extra=extra) as service, signed_in(service) as ann:
        turn = await answered(ann)
        again = await closed(ann, (await edited(ann, turn["id"], "two")).json()["turn"])
        assert (await edited(ann, again["id"], "three")).status_code == 429


async def test_each_person_rates_for_themselves(tmp_path: Path) -> None:
    async with (
        world(tmp_path, extra=CHATS) as service,
        signed_in(service) as ann,
        signed_in(service, BEN, "admin") as ben,
    ):
        turn = await answered(ann)
        path = f"/api/turns/{turn['id']}"

        async def ratings() -> tuple[int, int]:
            found = [(await client.get(path)).json()["rating"] for client in (ann, ben)]
            return found[0], found[1]

        assert await ratings() == (0, 0)
        for value, expected in ((1, (1, 0)), (1, (1, 0)), (-1, (-1, 0)), (0, (0, 0))):
            assert (await ann.put(f"{path}/rating", json={"value": value})).status_code == 204
            assert await ratings() == expected
        assert (await ben.put(f"{path}/rating", json={"value": 1})).status_code == 204
        assert await ratings() == (0, 1)
        assert (await ann.put(f"{path}/rating", json={"value": 2})).status_code == 422
        told = [
            (one["person"], one["detail"]) for one in await service.audited() if one["action"] == "rating"
        ]
        anns = [("telegram:7", word) for word in ("withdrawn", "bad", "good")]
        assert told == [("telegram:8", "good"), *anns]


@pytest.mark.parametrize(
    ("graph", "remedy"), [("crashing", ("retry", "ZeroDivisionError")), ("failing", ("retry", "overloaded"))]
)
async def test_a_failure_names_its_remedy(tmp_path: Path, graph: str, remedy: tuple[str, str]) -> None:
    async with world(tmp_path, graph=graph) as service:
        turn = await failed(service)
        assert (turn["state"], turn["remedy"]["kind"]) == ("failed", remedy[0])
        assert turn["remedy"]["reason"]


async def failed(service: World) -> dict[str, object]:
    said = await service.say(await service.open(), "hello")
    return await service.turn(said["turn"])
