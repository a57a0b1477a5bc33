"""Conversations over the API: real HTTP, bus, store, dispatcher and runtime."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.core.text_deltas import apply_delta
from tests.platforms.web.serving import MODELS, world


def applied(text: str, name: str, data: Mapping[str, Any]) -> str:
    """The text of the first part after an event: a turn has it as a whole, a delta what is new in it."""
    if name == "turn" and data["parts"]:
        return str(data["parts"][0]["text"])
    if name != "delta":
        return text
    found = apply_delta(text, data["offset"], data["text"])
    assert found is not None
    return found


async def test_a_message_is_answered_in_a_stream(tmp_path: Path) -> None:
    async with world(tmp_path, graph="slow") as service:
        conversation = await service.open()
        async with service.events(conversation) as events:
            name, snapshot = await anext(events)
            assert name == "snapshot"
            assert snapshot["turns"] == []
            posted = await service.say(conversation, "hello")
            texts: list[str] = [""]
            async for name, data in events:
                if name == "turn" and data["state"] == "done":
                    break
                if (text := applied(texts[-1], name, data)) != texts[-1]:
                    texts.append(text)
        assert data["id"] == posted["turn"]
        assert [message["text"] for message in data["messages"]] == ["hello"]
        final = data["parts"][0]["text"].rstrip()
        assert final.endswith("word40")
        assert len(texts) > 3
        assert texts == sorted(texts, key=len)
        assert all(final.startswith(text) for text in texts)


async def test_whoever_comes_in_mid_stream_sees_the_same(tmp_path: Path) -> None:
    async with world(tmp_path, graph="slow") as service:
        conversation = await service.open()
        async with service.events(conversation) as first:
            await anext(first)
            await service.say(conversation, "[tokens=60] count")
            text = ""
            async for name, data in first:
                text = applied(text, name, data)
                if len(text) > 60:
                    break
            async with service.events(conversation, **{"Last-Event-ID": "7"}) as second:
                name, snapshot = await anext(second)
                assert name == "snapshot"
                seen = snapshot["turns"][-1]["parts"][0]["text"]
                assert seen.startswith(text)
                assert snapshot["turns"][-1]["state"] == "running"
                page = (await service.http.get(f"/api/conversations/{conversation}/messages")).json()
                assert page["turns"][0]["parts"][0]["text"].startswith(seen)
                finals = []
                for events in (first, second):
                    async for name, data in events:
                        if name == "turn" and data["state"] == "done":
                            finals.append(data)
                            break
        assert finals[0] == finals[1]
        assert finals[0]["parts"][0]["text"].split()[-1] == "word60"


async def test_the_traffic_of_a_growing_text_is_bounded(tmp_path: Path) -> None:
    async with world(tmp_path, graph="slow") as service:
        conversation = await service.open()
        async with service.events(conversation) as events:
            await anext(events)
            await service.say(conversation, "[tokens=300] [every=0.01] count")
            sent = 0
            async for name, data in events:
                sent += len(json.dumps(data)) + len(name) if name == "delta" else 0
                if name == "turn" and data["state"] == "done":
                    break
        assert 0 < sent <= 3 * len(data["parts"][0]["text"])


async def test_the_events_are_described_for_clients(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        document = (await service.http.get("/api/openapi.json")).json()
        route = document["paths"]["/api/conversations/{conversation}/events"]["get"]
        [(kind, body)] = route["responses"]["200"]["content"].items()
        names = {one["$ref"].rpartition("/")[2] for one in body["schema"]["anyOf"]}
        assert kind == "text/event-stream"
        assert (
            {"FeedSnapshot", "TurnInfo", "PartDelta", "Typing"}
            <= names
            <= set(document["components"]["schemas"])
        )


async def test_steps_are_told_while_a_turn_runs(tmp_path: Path) -> None:
    async with world(tmp_path, graph="lead_agent", extra=MODELS) as service:
        conversation = await service.open()
        async with service.events(conversation) as events:
            await anext(events)
            call = '[tool=ls {"path": "/mnt/user-data/workspace"}]'
            posted = await service.say(conversation, f"{call} [tokens=30] [every=0.05] look")
            async for name, data in events:
                if name == "steps":
                    assert data["turn"] == posted["turn"]
                    assert [step["tool"] for step in data["steps"]] == ["ls"]
                    break
            running = (await service.http.get(f"/api/turns/{posted['turn']}")).json()
            assert (running["state"], running["steps"][0]["tool"]) == ("running", "ls")
        assert [step["kind"] for step in (await service.turn(posted["turn"]))["steps"]] == ["tool"]


async def test_the_same_event_is_accepted_once(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        first = await service.say(conversation, "hello", event_id="abc-1")
        again = await service.say(conversation, "hello", event_id="abc-1")
        assert first == again
        await service.turn(first["turn"])
        turns = (await service.http.get("/api/turns", params={"conversation": conversation})).json()
        assert [turn["messages"][0]["event_id"] for turn in turns["turns"]] == ["abc-1"]


async def test_stop_ends_the_run_and_keeps_what_was_said(tmp_path: Path) -> None:
    async with world(tmp_path, graph="slow") as service:
        conversation = await service.open()
        async with service.events(conversation) as events:
            posted = await service.say(conversation, "[tokens=2000] count")
            async for name, _ in events:
                if name == "delta":
                    break
            answer = await service.http.post(f"/api/conversations/{conversation}/stop")
            assert answer.status_code == 202
        stopped = await service.turn(posted["turn"])
        assert stopped["state"] == "cancelled"
        assert stopped["parts"][0]["text"].startswith("word1")
        assert stopped["parts"][0]["text"].endswith("*(stopped)*")
        command = await service.turn(answer.json()["turn"])
        assert command["kind"] == "command"
        assert command["parts"][0]["text"] == "Stopped."


async def test_a_turn_is_answered_again(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        first = await service.say(conversation, "one")
        await service.turn(first["turn"])
        last = await service.say(conversation, "two")
        await service.turn(last["turn"])
        refused = await service.http.post(f"/api/turns/{first['turn']}/retry")
        assert refused.status_code == 409
        answer = await service.http.post(f"/api/turns/{last['turn']}/retry")
        assert answer.status_code == 202
        again = await service.turn(answer.json()["turn"])
        assert again["repeats"] == last["turn"]
        assert again["parts"][0]["text"] == "two"
        replaced = await service.turn(last["turn"])
        assert replaced["replaced"]


async def test_a_failure_is_told_and_marked(tmp_path: Path) -> None:
    async with world(tmp_path, graph="crashing") as service:
        conversation = await service.open()
        posted = await service.say(conversation, "hello")
        failed = await service.turn(posted["turn"])
        assert failed["state"] == "failed"
        [part] = failed["parts"]
        assert part["text"] == f"⚠️ {failed['failure']}\n\nSend `/retry` to try again."
        assert (part["own"], failed["error"], failed["remedy"]["kind"]) == ("", "RuntimeError", "retry")


async def test_the_beginning_of_an_answer_that_failed_is_told_from_the_failure(tmp_path: Path) -> None:
    async with world(tmp_path, graph="failing") as service:
        failed = await service.turn((await service.say(await service.open(), "hello"))["turn"])
        [part] = failed["parts"]
        assert part["own"]
        assert part["text"].startswith(f"{part['own']}\n\n⚠️ {failed['failure']}\n\n")


async def test_a_file_goes_in_and_one_comes_out(tmp_path: Path) -> None:
    async with world(tmp_path, graph="artifact") as service:
        conversation = await service.open()
        path = f"/api/conversations/{conversation}/messages"
        form = {"text": "take it [file=out.txt]", "event_id": "with-file"}
        files = [
            ("files", ("notes.txt", b"some notes", "text/plain")),
            ("files", ("p.png", b"png", "image/png")),
        ]
        answer = await service.http.post(path, data=form, files=files)
        assert answer.status_code == 202, answer.text
        turn = await service.turn(answer.json()["turn"])
        assert turn["messages"][0]["files"] == [
            {"kind": "file", "filename": "notes.txt", "size": 10},
            {"kind": "image", "filename": "p.png", "size": 3},
        ]
        uploads = await service.http.get(f"/api/threads/{turn['thread_id']}/uploads/list")
        assert sorted(file["filename"] for file in uploads.json()["files"]) == ["notes.txt", "p.png"]
        file = turn["parts"][1]
        assert (file["kind"], file["filename"], file["image"]) == ("file", "out.txt", False)
        content = await service.http.get(file["url"], params={"download": "true"})
        assert content.status_code == 200
        assert b"take it" in content.content
        assert content.headers["content-disposition"].startswith("attachment")


async def test_a_file_over_the_limit_is_refused_and_the_conversation_goes_on(tmp_path: Path) -> None:
    async with world(tmp_path, extra="limits: {file_mb: 1}") as service:
        conversation = await service.open()
        path = f"/api/conversations/{conversation}/messages"
        answer = await service.http.post(path, files={"files": ("big.bin", b"x" * 1_000_001)})
        assert answer.status_code == 413
        assert answer.json() == {"detail": "big.bin is too large. The limit is 1 MB."}
        kept = await asyncio.to_thread(lambda: list((tmp_path / "inbox").iterdir()))
        assert kept == []
        posted = await service.say(conversation, "still here?")
        assert (await service.turn(posted["turn"]))["parts"][0]["text"] == "still here?"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"text": "x", "event_id": "../evil"}, 422),
        ({"text": "x", "event_id": "schedule:1:now:1"}, 422),
        ({"text": "x", "event_id": "page:1"}, 422),
        ({"text": 5}, 422),
        ({"text": "x", "unknown": 1}, 422),
        (["x"], 422),
    ],
)
async def test_what_is_no_message_is_refused(tmp_path: Path, body: object, status: int) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        path = f"/api/conversations/{conversation}/messages"
        answer = await service.http.post(path, json=body)
        assert answer.status_code == status
        assert isinstance(answer.json()["detail"], str)
        broken = await service.http.post(path, content=b"{", headers={"content-type": "application/json"})
        assert (broken.status_code, broken.json()["detail"]) == (400, "The body is not valid JSON.")


async def test_empty_and_oversized_texts_are_answered_with_one_line(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        for text, line in (("  ", "message is empty"), ("x" * 100_001, "100,001 characters")):
            posted = await service.say(conversation, text)
            turn = await service.turn(posted["turn"])
            assert turn["kind"] == "notice"
            assert line in turn["parts"][0]["text"]


async def test_a_new_chat_takes_the_time_zone_of_its_reader(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        for zone in ("Asia/Shanghai", "Nowhere/Land", "Europe/Berlin", ""):
            body = {"account": "web", "chat": "here", "zone": zone}
            assert (await service.http.post("/api/conversations", json=body)).status_code == 201
            assert await service.service.core.zones.find_name("web", "here") == "Asia/Shanghai"


async def test_conversations_page_and_open_twice(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        ids = [await service.open(chat=f"chat{number}") for number in range(5)]
        assert await service.open(chat="chat3") == ids[3]
        found: list[int] = []
        cursor = ""
        while True:
            page = (
                await service.http.get("/api/conversations", params={"limit": 2, "cursor": cursor})
            ).json()
            found += [conversation["id"] for conversation in page["conversations"]]
            if not page["next"]:
                break
            cursor = page["next"]
        assert found == ids[::-1]
        one = (await service.http.get(f"/api/conversations/{ids[0]}")).json()
        assert (one["account"], one["chat"], one["writable"]) == ("web", "chat0", True)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/conversations/99", 404),
        ("GET", "/api/conversations/0", 422),
        ("GET", "/api/conversations/99/messages", 404),
        ("GET", "/api/conversations/99/events", 404),
        ("POST", "/api/conversations/99/messages", 404),
        ("POST", "/api/conversations/99/stop", 404),
        ("GET", "/api/conversations?cursor=x", 422),
        ("GET", "/api/conversations?limit=0", 422),
        ("GET", "/api/turns?limit=0", 422),
        ("GET", "/api/turns/99", 404),
        ("POST", "/api/turns/99/retry", 404),
        ("POST", "/api/channels/nobody/restart", 404),
        ("GET", "/api/nothing", 404),
        ("GET", "/nothing", 404),
    ],
)
async def test_errors_have_a_detail(tmp_path: Path, method: str, path: str, status: int) -> None:
    async with world(tmp_path) as service:
        answer = await service.http.request(method, path)
        assert answer.status_code == status, answer.text
        assert set(answer.json()) == {"detail"}
        unknown = await service.http.post("/api/conversations", json={"account": "telegram"})
        assert unknown.status_code == 404


async def test_a_restarted_account_ends_the_watch_and_the_next_one_goes_on(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        async with service.events(conversation) as events:
            await anext(events)
            answer = await service.http.post("/api/channels/web/restart")
            assert answer.status_code == 202
            assert [event async for event in events] == []
        while True:
            answer = await service.http.post(
                f"/api/conversations/{conversation}/messages", json={"text": "hi", "event_id": "e"}
            )
            if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                break
            await asyncio.sleep(0.02)
        assert (await service.turn(answer.json()["turn"]))["parts"][0]["text"] == "hi"
