"""The emulator as another process: everything a person does, over its control port."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

import httpx
import pytest
from telegram import Bot

from roebot_testing.emulators.remote import RemoteEmulator
from roebot_testing.emulators.telegram import TelegramEmulator

from .conftest import sdk


@pytest.fixture
async def remote(emulator: TelegramEmulator) -> AsyncIterator[RemoteEmulator]:
    async with RemoteEmulator(emulator.url) as control:
        yield control


async def test_people_act_over_http(emulator: TelegramEmulator, bot: Bot, remote: RemoteEmulator) -> None:
    said = await remote.do(
        "says", text="hi", user=7, name="Ada", media="document", data=b"\0\1", filename="a"
    )
    assert (said["chat"], said["text"], said["kind"]) == (7, "hi", "document")
    group = await remote.do("make_group", title="Team", forum=True)
    topic = await remote.do("make_topic", chat=group, title="Plans")
    many = await remote.do("says_many", messages=[{"text": "a", "chat": group, "topic": topic}] * 2)
    assert [message["topic"] for message in many] == [topic, topic]
    await remote.do("sends_album", captions=["x", ""], user=7)
    await remote.do("edits", chat=7, message_id=said["message_id"], text="ho")
    assert len(await bot.get_updates()) == 7
    await bot.send_message(7, "answer")
    view = await remote.do("view", chat=7)
    assert [message["text"] for message in view["messages"]] == ["ho", "x", "", "answer"]
    assert {chat["chat"] for chat in await remote.do("views")} == {7, group}


async def test_the_transcript_is_read_in_pages(
    emulator: TelegramEmulator, bot: Bot, remote: RemoteEmulator
) -> None:
    await remote.do("says_many", messages=[{"text": str(number), "user": 7} for number in range(1500)])
    await bot.send_message(7, "done")
    frames = await remote.transcript()
    assert [frame["seq"] for frame in frames] == list(range(frames[0]["seq"], frames[0]["seq"] + len(frames)))
    last = frames[-1]
    assert (last["kind"], last["method"], last["chat"], last["text"], last["status"]) == (
        "post",
        "sendMessage",
        "7",
        "done",
        200,
    )
    assert await remote.transcript(since=last["seq"]) == [last]
    await remote.do("reset")
    assert await remote.transcript(since=last["seq"]) == []
    assert await remote.do("views") == []
    await remote.do("says", text="new", user=7)
    [after] = await remote.transcript()
    assert after["seq"] > last["seq"]


async def test_faults_and_limits_over_http(
    emulator: TelegramEmulator, bot: Bot, remote: RemoteEmulator
) -> None:
    await remote.do("says", text="hi", user=7)
    await remote.do("fault", kind="error", method="sendMessage", status=502, description="Bad Gateway")
    with pytest.raises(Exception, match="Bad Gateway"):
        await bot.send_message(7, "x")
    await remote.do("limits", enabled=True, scale=2)
    assert emulator.rate_limits.enabled and emulator.rate_limits.scale == 2
    assert (await remote.do("counters"))["calls"]["sendMessage"] == 1


@pytest.mark.parametrize(
    ("action", "arguments", "words"),
    [
        ("view", {"chat": 1}, "KeyError"),
        ("says", {"nonsense": 1}, "TypeError"),
        ("fault", {"kind": "explode"}, "ValueError"),
        ("no_such_thing", {}, "no such control"),
        ("says", {"data_base64": "%"}, "Error"),
    ],
)
async def test_wrong_orders_are_explained(
    remote: RemoteEmulator, action: str, arguments: dict[str, object], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        await remote.do(action, **arguments)


async def test_a_body_that_is_no_object(emulator: TelegramEmulator) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        for body in (b"[1]", b"{"):
            response = await http.post(f"{emulator.url}/_emulator/says", content=body)
            assert response.status_code == 400


async def test_it_runs_as_a_process_and_ends_on_a_signal() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "roebot_testing.emulators.telegram",
        "--port",
        "0",
        "--rich",
        "--no-limits",
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    line = (await asyncio.wait_for(process.stdout.readline(), 30)).decode()
    url = line.split()[3]
    async with RemoteEmulator(url) as remote:
        await remote.do("says", text="hi", user=7)
        async with httpx.AsyncClient(trust_env=False) as http:
            token = line.rstrip(")\n").rpartition(" ")[2]
            answer = await http.post(
                f"{url}/bot{token}/sendRichMessage", json={"chat_id": 7, "rich_message": {"markdown": "# A"}}
            )
            assert answer.json()["ok"]
        assert [message["kind"] for message in (await remote.do("view", chat=7))["messages"]] == [
            "text",
            "rich",
        ]
    process.terminate()
    assert await asyncio.wait_for(process.wait(), 30) == 0


async def test_the_sdk_and_the_control_share_one_server(emulator: TelegramEmulator) -> None:
    async with sdk(emulator) as bot:
        emulator.people.says("hi", user=7)
        assert len(await bot.get_updates()) == 1
