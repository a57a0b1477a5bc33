"""The SDK's own application and bot work against the emulator as against Telegram."""

from __future__ import annotations

import asyncio

import pytest
from telegram import Bot, BotCommand, InputMediaDocument, ReplyParameters, Update
from telegram.error import BadRequest, InvalidToken, NetworkError
from telegram.ext import Application, ContextTypes, MessageHandler, filters
from telegram.request import HTTPXRequest

from roebot_testing.emulators.telegram import TelegramEmulator
from roebot_testing.emulators.transcript import FrameKind

from .conftest import sdk


async def test_an_application_of_the_sdk_echoes(emulator: TelegramEmulator) -> None:
    answered = asyncio.Event()

    async def echo(update: Update, context: ContextTypes.DEFAULT_TYPE) -> None:
        assert update.effective_message and update.effective_message.text
        await update.effective_message.reply_text(update.effective_message.text[::-1])
        answered.set()

    application = Application.builder().bot(sdk(emulator)).build()
    application.add_handler(MessageHandler(filters.TEXT, echo))
    async with application:
        await application.start()
        assert application.updater is not None
        await application.updater.start_polling()
        emulator.people.says("abc", user=7)
        await asyncio.wait_for(answered.wait(), 30)
        await application.updater.stop()
        await application.stop()
    texts = [message["text"] for message in emulator.view(7)["messages"]]
    assert texts == ["abc", "cba"]
    assert emulator.counters()["pending_updates"] == 0


async def test_get_me_and_commands(emulator: TelegramEmulator, bot: Bot) -> None:
    assert bot.username == "roebot_bot"
    assert await bot.set_my_commands([BotCommand("help", "What I can do")])
    assert [command.command for command in await bot.get_my_commands()] == ["help"]
    with pytest.raises(BadRequest, match=r"(?i)BOT_COMMAND_INVALID"):
        await bot.set_my_commands([BotCommand("Help!", "x")])


async def test_wrong_and_revoked_tokens(emulator: TelegramEmulator, bot: Bot) -> None:
    with pytest.raises(InvalidToken):
        async with sdk(emulator, "999:not-the-right-token"):
            pass
    emulator.revoke_token()
    with pytest.raises(InvalidToken, match="Unauthorized"):
        await bot.get_me()
    emulator.restore_token()
    assert (await bot.get_me()).id == 123456


async def test_a_post_and_its_edits(emulator: TelegramEmulator, bot: Bot) -> None:
    asked = emulator.people.says("hi", user=7)
    posted = await bot.send_message(7, "one", reply_parameters=ReplyParameters(asked.id))
    assert posted.reply_to_message and posted.reply_to_message.message_id == asked.id
    await bot.edit_message_text("two", 7, posted.message_id)
    with pytest.raises(BadRequest, match="Message is not modified"):
        await bot.edit_message_text("two\n", 7, posted.message_id)
    [_, seen] = emulator.view(7)["messages"]
    assert (seen["text"], seen["edits"], seen["reply_to"]) == ("two", 1, asked.id)
    kinds = [frame.kind for frame in emulator.transcript.of(chat=7)]
    assert kinds == [FrameKind.PERSON, FrameKind.POST, FrameKind.EDIT, FrameKind.EDIT]
    assert [frame.status for frame in emulator.transcript.of(FrameKind.EDIT)] == [200, 400]


async def test_files_go_both_ways(emulator: TelegramEmulator, bot: Bot) -> None:
    sent = emulator.people.says("see", user=7, media="document", data=b"abc" * 1000, filename="a.txt")
    [update] = await bot.get_updates()
    assert update.message and update.message.document
    assert update.message.caption == "see" and update.message.message_id == sent.id
    file = await update.message.document.get_file()
    assert bytes(await file.download_as_bytearray()) == b"abc" * 1000
    posted = await bot.send_document(7, b"result", filename="r.csv", caption="done")
    assert posted.document and posted.document.file_name == "r.csv"
    album = await bot.send_media_group(7, [InputMediaDocument(b"1", filename="1"), InputMediaDocument(b"2")])
    assert len({message.media_group_id for message in album}) == 1
    assert [message["kind"] for message in emulator.view(7)["messages"]] == ["document"] * 4


async def test_an_unknown_method_is_404(emulator: TelegramEmulator, bot: Bot) -> None:
    from telegram.error import EndPointNotFound

    with pytest.raises(EndPointNotFound):
        await bot.do_api_request("sendRichMessage")
    emulator.api.rich = True
    with pytest.raises(BadRequest):
        await bot.do_api_request("sendRichMessage")


async def test_another_loopback_client_gets_plain_http_errors(emulator: TelegramEmulator) -> None:
    request = HTTPXRequest(httpx_kwargs={"trust_env": False})
    async with request:
        with pytest.raises(InvalidToken):
            await request.post(f"{emulator.url}/nothing")
        emulator.fault("error", method="getMe", status=502, description="Bad Gateway")
        with pytest.raises(NetworkError, match="Bad Gateway"):
            await request.post(f"{emulator.url}/bot{emulator.token}/getMe")
