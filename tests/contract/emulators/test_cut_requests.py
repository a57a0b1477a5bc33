"""A request whose client hangs up in the middle of its body has no effect, on any path of any emulator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from roebot_testing.emulators.base import Emulator
from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.feishu.api import TOKEN_PATH
from roebot_testing.emulators.server import LOOPBACK
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.telegram import TelegramEmulator
from roebot_testing.running import eventually

FORM = "application/x-www-form-urlencoded"


@pytest.fixture
async def slack() -> AsyncIterator[SlackEmulator]:
    async with SlackEmulator.serve() as running:
        running.people.says("hi")
        yield running


async def send_half(emulator: Emulator, request: str, **headers: str) -> None:
    """Send a request with half of its body, and close; returns when the emulator has done with it."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join([f"{request} HTTP/1.1", "Host: emulator", "Content-Length: 8", *lines])
    _, writer = await asyncio.open_connection(LOOPBACK, emulator._server.port)
    writer.write(f"{head}\r\n\r\n{{}}  ".encode())
    tasks = emulator._server._server.server_state.tasks
    await eventually(lambda: len(tasks) == 1)
    writer.close()
    await eventually(lambda: not tasks)


def post_in_telegram(emulator: Any) -> tuple[str, dict[str, str]]:
    chat = emulator.people.says("hi").chat.id
    return f"POST /bot{emulator.token}/sendMessage?chat_id={chat}&text=half", {"content_type": FORM}


def delete_in_discord(emulator: Any) -> tuple[str, dict[str, str]]:
    chat = emulator.world.channels[emulator.people.dm()]
    message = emulator.world.add(chat, emulator.world.bot, "stays")
    path = f"/api/v10/channels/{chat.id}/messages/{message.id}"
    return f"DELETE {path}", {"authorization": f"Bot {emulator.token}"}


def delete_in_feishu(emulator: Any) -> tuple[str, dict[str, str]]:
    chat = emulator.world.chats[emulator.people.make_group()]
    message = emulator.world.add(chat, emulator.world.bot, "text", {"text": "stays"})
    emulator.credentials._tokens.add("t-1")
    return f"DELETE /open-apis/im/v1/messages/{message.id}", {"authorization": "Bearer t-1"}


def post_in_slack(emulator: Any) -> tuple[str, dict[str, str]]:
    channel = emulator.people.make_channel()
    query = f"token={emulator.bot_token}&channel={channel}&text=half"
    return f"POST /api/chat.postMessage?{query}", {"content_type": FORM}


@pytest.mark.parametrize(
    ("emulator_class", "prepare"),
    [
        (TelegramEmulator, post_in_telegram),
        (DiscordEmulator, delete_in_discord),
        (FeishuEmulator, delete_in_feishu),
        (SlackEmulator, post_in_slack),
    ],
)
async def test_a_call_cut_in_its_body_is_a_cut_connection(
    emulator_class: type[Emulator], prepare: Callable[[Any], tuple[str, dict[str, str]]]
) -> None:
    async with emulator_class.serve() as emulator:
        request, headers = prepare(emulator)
        before = emulator.views()
        await send_half(emulator, request, **headers)
        assert emulator.views() == before
        assert emulator.counters()["statuses"] == {"0": 1}
        assert [(frame.status, frame.committed) for frame in emulator.transcript.since(0, 9)][-1] == (
            0,
            False,
        )


async def test_a_cut_upload_stores_nothing(slack: SlackEmulator) -> None:
    file = slack.world.store("a.txt", "text/plain", b"")
    await send_half(slack, f"POST /upload/v1/{file.id}")
    assert file.data == b"" and slack.counters()["calls"] == {}


async def test_a_cut_response_shows_nothing(slack: SlackEmulator) -> None:
    [channel] = slack.world.channels
    await send_half(slack, f"POST /respond/{channel}/U0000001/1")
    assert [message["text"] for message in slack.view(channel)["messages"]] == ["hi"]


async def test_a_cut_control_does_nothing(slack: SlackEmulator) -> None:
    await send_half(slack, "POST /_emulator/reset")
    assert len(slack.views()) == 1


async def test_a_cut_request_for_a_token_is_not_refused() -> None:
    async with FeishuEmulator.serve() as feishu:
        await send_half(feishu, f"POST {TOKEN_PATH}")
        await send_half(feishu, "POST /callback/ws/endpoint")
        assert feishu.counters()["calls"] == {}
