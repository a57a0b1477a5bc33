"""Feishu's own SDK against the emulator, over real HTTP and its own long connection.

No other test imports the whole SDK, which takes 7 CPU s in each process that does.
"""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from roebot_testing.emulators.feishu import FeishuEmulator
from tests.harness.lark import TokenManager, lark

from .feishu_app import card


def sdk(emulator: FeishuEmulator, secret: str = "") -> Any:
    """A client of the SDK; its token cache is one for all of a process."""
    TokenManager.cache.cache.clear()
    return (
        lark.Client.builder()
        .app_id(emulator.app_id)
        .app_secret(secret or emulator.app_secret)
        .domain(emulator.url)
        .build()
    )


async def of_sdk(method: Callable[[Any], Any], request: Any) -> Any:
    """Call the SDK, which blocks, beside the loop that the emulator runs in."""
    return await asyncio.to_thread(method, request)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def emulator() -> AsyncIterator[FeishuEmulator]:
    async with FeishuEmulator.serve(limits=False) as running:
        yield running


async def test_a_text_is_sent_and_answered(emulator: FeishuEmulator) -> None:
    client = sdk(emulator)
    chat = emulator.people.says("hi").chat.id
    v1 = lark.im.v1
    body = (
        v1.CreateMessageRequestBody.builder()
        .receive_id(chat)
        .msg_type("text")
        .content(json.dumps({"text": "hello"}))
        .uuid("u1")
        .build()
    )
    request = v1.CreateMessageRequest.builder().receive_id_type("chat_id").request_body(body).build()
    first = await of_sdk(client.im.v1.message.create, request)
    again = await of_sdk(client.im.v1.message.create, request)
    assert first.success()
    assert again.data.message_id == first.data.message_id
    reply = (
        v1.ReplyMessageRequest.builder()
        .message_id(first.data.message_id)
        .request_body(
            v1.ReplyMessageRequestBody.builder()
            .msg_type("text")
            .content(json.dumps({"text": "below"}))
            .reply_in_thread(True)
            .build()
        )
        .build()
    )
    below = await of_sdk(client.im.v1.message.reply, reply)
    assert below.data.root_id == first.data.message_id
    assert below.data.thread_id.startswith("omt_")
    texts = [message["text"] for message in emulator.view(chat)["messages"]]
    assert texts == ["hi", "hello", "below"]


async def test_a_card_streams(emulator: FeishuEmulator) -> None:
    client = sdk(emulator)
    chat = emulator.people.private_chat()
    kit, v1 = lark.cardkit.v1, lark.im.v1
    made = await of_sdk(
        client.cardkit.v1.card.create,
        kit.CreateCardRequest.builder()
        .request_body(kit.CreateCardRequestBody.builder().type("card_json").data(json.dumps(card())).build())
        .build(),
    )
    card_id = made.data.card_id
    sent = await of_sdk(
        client.im.v1.message.create,
        v1.CreateMessageRequest.builder()
        .receive_id_type("chat_id")
        .request_body(
            v1.CreateMessageRequestBody.builder()
            .receive_id(chat)
            .msg_type("interactive")
            .content(json.dumps({"type": "card", "data": {"card_id": card_id}}))
            .build()
        )
        .build(),
    )
    assert sent.success()
    content = kit.ContentCardElementRequestBody.builder().content("one two").sequence(1).build()
    shown = await of_sdk(
        client.cardkit.v1.card_element.content,
        kit.ContentCardElementRequest.builder()
        .card_id(card_id)
        .element_id("text")
        .request_body(content)
        .build(),
    )
    assert shown.success()
    closed = await of_sdk(
        client.cardkit.v1.card.settings,
        kit.SettingsCardRequest.builder()
        .card_id(card_id)
        .request_body(
            kit.SettingsCardRequestBody.builder()
            .settings(json.dumps({"config": {"streaming_mode": False}}))
            .sequence(2)
            .build()
        )
        .build(),
    )
    assert closed.success()
    [seen] = emulator.view(chat)["messages"]
    assert (seen["text"], seen["streaming"]) == ("one two", False)


async def test_a_refusal_is_the_sdks_too(emulator: FeishuEmulator) -> None:
    client = sdk(emulator)
    request = lark.im.v1.GetMessageRequest.builder().message_id("om_unknown").build()
    answer = await of_sdk(client.im.v1.message.get, request)
    assert (answer.success(), answer.code) == (False, 230011)
    emulator.fault("error", method="message.get", status=429, description="99991400 frequency limit")
    assert (await of_sdk(client.im.v1.message.get, request)).code == 99991400


async def test_the_sdk_is_told_which_scope_is_missing(emulator: FeishuEmulator) -> None:
    emulator.revoke_scopes(["im:message:send_as_bot"])
    body = lark.im.v1.CreateMessageRequestBody.builder().receive_id("oc_1").msg_type("text").content("{}")
    request = lark.im.v1.CreateMessageRequest.builder().receive_id_type("chat_id")
    answer = await of_sdk(sdk(emulator).im.v1.message.create, request.request_body(body.build()).build())
    assert (answer.code, "[im:message, im:message:send_as_bot, im:message:send]" in answer.msg) == (
        99991672,
        True,
    )


async def test_files_go_both_ways(emulator: FeishuEmulator) -> None:
    client = sdk(emulator)
    v1 = lark.im.v1
    content = io.BytesIO(b"content")
    content.name = "a.txt"
    uploaded = await of_sdk(
        client.im.v1.file.create,
        v1.CreateFileRequest.builder()
        .request_body(
            v1.CreateFileRequestBody.builder().file_type("stream").file_name("a.txt").file(content).build()
        )
        .build(),
    )
    assert emulator.world.files[uploaded.data.file_key].data == b"content"
    said = emulator.people.says(kind="file", data=b"from a person", filename="b.txt")
    fetched = await of_sdk(
        client.im.v1.message_resource.get,
        v1.GetMessageResourceRequest.builder()
        .message_id(said.id)
        .file_key(said.content["file_key"])
        .type("file")
        .build(),
    )
    assert fetched.file.read() == b"from a person"


LISTENER = """
import sys, lark_oapi as lark
from lark_oapi.event.callback.model.p2_card_action_trigger import P2CardActionTriggerResponse

def heard(event):
    print("message", event.event.message.message_id, event.event.message.content, flush=True)

def clicked(event):
    print("click", event.event.action.value["say"], flush=True)
    return P2CardActionTriggerResponse({"toast": {"type": "info", "content": "ok"}})

handler = (
    lark.EventDispatcherHandler.builder("", "")
    .register_p2_im_message_receive_v1(heard)
    .register_p2_card_action_trigger(clicked)
    .build()
)
quiet = lark.LogLevel.ERROR
lark.ws.Client(
    sys.argv[1], sys.argv[2], log_level=quiet, event_handler=handler, domain=sys.argv[3]
).start()
"""


async def test_the_long_connection_of_the_sdk(emulator: FeishuEmulator) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-W",
        "ignore",
        "-c",
        LISTENER,
        emulator.app_id,
        emulator.app_secret,
        emulator.url,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            said = emulator.people.says("hi")
            line = await process.stdout.readline()
            assert line.decode().split(maxsplit=2)[:2] == ["message", said.id]
            chat = emulator.world.chats[said.chat.id]
            shown = emulator.world.add(chat, emulator.world.bot, "interactive", card(streaming=False))
            push = emulator.people.clicks(shown.id, {"say": "yes"})
            assert (await process.stdout.readline()).split() == [b"click", b"yes"]
            while not push.answer:
                await asyncio.sleep(0.01)
        assert push.answer["data"]["toast"]["content"] == "ok"
        assert emulator.socket.acked == [200, 200]
        assert emulator.counters()["pings"] >= 1
    finally:
        process.kill()
        await process.wait()
