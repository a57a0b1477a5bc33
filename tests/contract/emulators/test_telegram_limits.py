"""Every limit and rule of the emulator is broken by a call and answered in Telegram's words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from telegram import Bot

from roebot_testing.emulators.telegram import TelegramEmulator
from roebot_testing.emulators.telegram.limit_table import LIMITS
from roebot_testing.emulators.telegram.links import find_link_error
from roebot_testing.emulators.telegram.rules import RULES
from tests.harness.wires.telegram import TelegramWire

from .conftest import sdk
from .telegram_scenes import SCENES, Scene, SceneRule
from .telegram_violations import FILE, MINE, PERSON, VIOLATIONS, Violation

PREFIXES = {400: "Bad Request: ", 403: "Forbidden: ", 404: "Not Found: ", 409: "Conflict: ", 413: ""}


@pytest.fixture
async def scene(emulator: TelegramEmulator) -> AsyncIterator[Scene]:
    """A chat with a person who sent a file, and a message of the bot in it."""
    emulator.api.rich = True
    async with httpx.AsyncClient(trust_env=False) as http:
        scene = Scene(emulator, http)
        emulator.people.says("go", user=PERSON)
        sent = emulator.people.says(user=PERSON, media="document", data=b"abc")
        assert sent.media is not None and sent.media.file is not None
        scene.file = sent.media.file.file_id
        posted = await scene.call("sendMessage", chat_id=PERSON, text="mine")
        assert posted[1]["result"]["message_id"] == MINE
        yield scene


def filled(value: Any, file: str) -> Any:
    """Put the id of the file where FILE stands."""
    if isinstance(value, dict):
        return {key: filled(inner, file) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, file) for inner in value]
    return file if value == FILE else value


@pytest.mark.parametrize("violation", VIOLATIONS, ids=lambda one: one.name)
async def test_a_call_beyond_a_limit_is_refused_and_one_at_the_limit_is_not(
    scene: Scene, violation: Violation
) -> None:
    status, body = await scene.call(violation.method, **filled(violation.breaks, scene.file))
    assert (status, body["description"]) == (400, f"Bad Request: {violation.error}")
    if violation.keeps is not None:
        status, body = await scene.call(violation.method, **filled(violation.keeps, scene.file))
        assert (status, body["ok"]) == (200, True), body


@pytest.mark.parametrize("rule", SCENES, ids=lambda one: one.name)
async def test_a_call_that_the_state_of_a_chat_does_not_allow_is_refused(
    scene: Scene, rule: SceneRule
) -> None:
    status, body = await rule.breaks(scene)
    assert (status, body["description"]) == (rule.status, f"{PREFIXES[rule.status]}{rule.error}")


def test_every_limit_and_rule_has_a_call_that_breaks_it() -> None:
    assert {one.name for one in LIMITS} == {one.name for one in VIOLATIONS}
    assert {one.name for one in RULES} == {one.name for one in SCENES}
    assert all(one.source for one in (*LIMITS, *RULES))


async def test_entities_beyond_the_hundredth_are_ignored(scene: Scene) -> None:
    """PTB: MessageLimit.MESSAGE_ENTITIES."""
    entities = [{"type": "bold", "offset": at * 2, "length": 1} for at in range(101)]
    _, body = await scene.call("sendMessage", chat_id=PERSON, text="a " * 200, entities=entities)
    assert len(body["result"]["entities"]) == 100


async def test_empty_entities_are_ignored(scene: Scene) -> None:
    empty = {"type": "bold", "offset": 1, "length": 0}
    _, body = await scene.call("sendMessage", chat_id=PERSON, text="abc", entities=[empty])
    assert "entities" not in body["result"]


async def test_a_group_without_topics_ignores_the_topic(scene: Scene) -> None:
    chat = scene.people.make_group(supergroup=True)
    status, body = await scene.call("sendMessage", chat_id=chat, text="a", message_thread_id=99)
    assert status == 200 and "message_thread_id" not in body["result"]


async def test_an_administrator_is_not_restricted(scene: Scene) -> None:
    chat = scene.people.make_group(forum=True)
    topic = scene.people.make_topic(chat, "Plans")
    scene.people.restricts_bot(chat, "text messages")
    scene.people.closes_topic(chat, topic)
    said = scene.people.says("x", user=PERSON, chat=chat, topic=topic)
    scene.people.promotes_bot(chat)
    assert (await scene.call("sendMessage", chat_id=chat, text="a", message_thread_id=topic))[0] == 200
    assert (await scene.call("deleteMessage", chat_id=chat, message_id=said.id))[0] == 200


async def test_rights_come_back_and_a_closed_topic_opens_again(scene: Scene) -> None:
    chat = scene.people.make_group(forum=True)
    topic = scene.people.make_topic(chat, "Plans")
    scene.people.restricts_bot(chat, "text messages")
    scene.people.restricts_bot(chat)
    scene.people.closes_topic(chat, topic)
    scene.people.reopens_topic(chat, topic)
    assert (await scene.call("sendMessage", chat_id=chat, text="a", message_thread_id=topic))[0] == 200


async def test_a_bot_may_delete_what_a_person_wrote_to_it(scene: Scene) -> None:
    """Bot API: deleteMessage, "Bots can delete incoming messages in private chats"."""
    said = scene.people.says("oops", user=PERSON)
    assert (await scene.call("deleteMessage", chat_id=PERSON, message_id=said.id))[0] == 200


async def test_a_topic_that_closes_is_told_to_the_bot(scene: Scene) -> None:
    chat = scene.people.make_group(forum=True)
    topic = scene.people.make_topic(chat, "Plans")
    scene.people.closes_topic(chat, topic)
    scene.people.reopens_topic(chat, topic)
    async with sdk(scene.emulator) as bot:
        *_, closed, opened = [update.message for update in await bot.get_updates()]
    assert closed and closed.forum_topic_closed and closed.message_thread_id == topic
    assert opened and opened.forum_topic_reopened


@pytest.mark.parametrize(
    ("address", "error"),
    [
        ("example.com", ""),
        ("https://example.com:8080/a b?c#d", ""),
        ("HTTP://Example.COM", ""),
        ("https://user:word@example.com", ""),
        ("mailto:ada@example.com", ""),
        ("http://127.0.0.1", ""),
        ("http://[::1]/x", ""),
        ("tg://user?id=7", ""),
        ("ton://transfer/abc", ""),
        ("https://例え.jp", ""),
        ("https://a%20b.com", ""),
        ("", "URL host is empty"),
        ("https://", "URL host is empty"),
        ("#top", "URL host is empty"),
        ("http://localhost:3000/x", "Wrong HTTP URL"),
        ("page", "Wrong HTTP URL"),
        ("/docs/page.html", "URL host is empty"),
        ("https://.", "Host is invalid"),
        ("javascript://alert.x", "Unsupported URL protocol"),
        ("https://example.com:99999", "Wrong port number specified in the URL"),
        ("https://example.com:x", "Wrong port number specified in the URL"),
        ("https://[::g]/", "Wrong IPv6 address specified in the URL"),
        ("https://exa mple.com", "Disallowed character in URL host"),
        ("https://us er@example.com", "Disallowed character in URL userinfo"),
        ("https://a%zz.com", "Wrong percent-encoded symbol in URL host"),
        ("tg://us.er", "Unallowed characters in URL host"),
    ],
)
def test_addresses_are_checked_as_the_server_does(address: str, error: str) -> None:
    """tdlib: LinkManager::check_link_impl; tdutils: HttpUrl.cpp, parse_url."""
    assert find_link_error(address) == error


async def test_the_simulated_week_sees_a_broken_limit(scene: Scene) -> None:
    wire = TelegramWire(scene.emulator, 1.0)
    await scene.send(PERSON, text="a", entities=[{"type": "text_link", "offset": 0, "length": 1, "url": "x"}])
    await scene.edit(99)
    broken = [one for one in wire.refused() if one.partition(": ")[2].startswith(tuple(wire.rules))]
    assert broken == ["sendMessage: Bad Request: entity URL 'x' is invalid: Wrong HTTP URL"]


async def test_the_real_sdk_reads_the_refusals(scene: Scene, bot: Bot) -> None:
    from telegram import InlineKeyboardButton, InlineKeyboardMarkup
    from telegram.error import BadRequest, Forbidden

    markup = InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data="a" * 65)]])
    with pytest.raises(BadRequest, match=r"(?i)button_data_invalid"):
        await bot.send_message(PERSON, "a", reply_markup=markup)
    scene.people.says("hi", user=8, chat=scene.people.make_group())
    with pytest.raises(Forbidden, match="can't initiate conversation"):
        await bot.send_message(8, "a")
