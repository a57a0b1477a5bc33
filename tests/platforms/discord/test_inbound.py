"""Receiving: what comes in, from whom and where, and what it is taken for."""

from __future__ import annotations

from typing import Any

import pytest

from bot.account_state import Live
from bot.domain import AttachmentKind, ChatKind, Quotation, QuotationKind
from bot.platforms.discord.rest import DiscordRest
from bot.platforms.unreadable import UNREADABLE
from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.discord.people import PERSON

from .conftest import Running, Shelf, eventually, group, says


def me(emulator: DiscordEmulator) -> str:
    return f"<@{emulator.world.bot.id}>"


async def test_a_direct_message_is_for_the_bot(running: Running, shelf: Shelf) -> None:
    sent = running.emulator.people.says("hello", user=PERSON, name="Ada L")
    [message] = await shelf.until(1)
    origin = message.origin
    assert (message.text, message.addressed, message.event_id) == ("hello", True, str(sent.id))
    assert (origin.chat_kind, origin.chat, origin.topic) == (ChatKind.PRIVATE, str(sent.channel.id), "")
    assert (origin.sender.id, origin.sender.name, origin.sender.username) == (str(PERSON), "Ada L", "ada_l")
    assert abs(message.sent_at - running.clock.now()) < 60


async def test_in_a_channel_a_mention_is_meant_and_taken_out(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    running.emulator.people.says("nobody asked", chat=chat)
    other = running.emulator.world.user(PERSON + 5, "Ben").id
    running.emulator.people.says(f"{me(running.emulator)} ask <@{other}>, please", chat=chat)
    unasked, asked = await shelf.until(2)
    assert (unasked.addressed, asked.addressed) == (False, True)
    assert asked.text == "ask @Ben, please"
    assert (asked.origin.chat, asked.origin.chat_kind) == (str(chat), ChatKind.GROUP)
    server = running.emulator.world.channels[chat].guild
    guild = server.id if server else 0
    assert asked.link == f"{running.emulator.world.base}/channels/{guild}/{chat}/{asked.origin.message_id}"


@pytest.mark.parametrize(
    ("base_url", "site"),
    [
        (None, "https://discord.com"),
        ("https://canary.discord.com/api/v10", "https://canary.discord.com"),
        ("http://chat.example.org:8084/api/v10/", "http://chat.example.org:8084"),
    ],
)
async def test_links_lead_to_the_server_of_the_account(base_url: str | None, site: str) -> None:
    assert DiscordRest(base_url, lambda: 0.0).site == site


async def test_a_reply_to_the_bot_is_meant(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    posted = await running.adapter.send(says("answer", group(chat)))
    running.emulator.people.says("and then?", chat=chat, reply_to=int(posted))
    [message] = await shelf.until(1)
    assert message.addressed
    assert message.origin.reply_to == posted


async def test_a_reply_to_somebody_else_is_not(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    first = running.emulator.people.says("one", chat=chat)
    running.emulator.people.says("two", chat=chat, reply_to=first.id, user=PERSON + 1)
    _, reply = await shelf.until(2)
    assert not reply.addressed and reply.origin.reply_to == str(first.id)


async def test_a_reply_comes_with_the_message_of_somebody_else(running: Running, shelf: Shelf) -> None:
    chat, people = running.emulator.people.make_group(), running.emulator.people
    first = people.says("/allow now", chat=chat, user=PERSON + 1, name="Ben", filename="a.txt", data=b"a")
    people.says(f"{me(running.emulator)} what does he mean?", chat=chat, reply_to=first.id)
    said, asked = await shelf.until(2)
    assert (asked.text, asked.attachments) == ("what does he mean?", ())
    [quotation] = asked.quotations
    assert quotation.message_id == said.origin.message_id
    assert (quotation.kind, quotation.text, quotation.files) == (
        QuotationKind.REPLY,
        "/allow now",
        ("a.txt",),
    )
    assert (quotation.author, quotation.author_id) == ("Ben", str(PERSON + 1))
    assert abs(quotation.sent_at - running.clock.now()) < 60
    posted = await running.adapter.send(says("answer", group(chat)))
    people.says("and then?", chat=chat, reply_to=int(posted))
    [*_, follow_up] = await shelf.until(3)
    assert follow_up.quotations == (), "what the bot said is in its conversation"


async def test_a_thread_is_a_topic_of_its_channel(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    thread = running.emulator.people.make_thread(chat)
    running.emulator.people.says("among us", chat=thread)
    running.emulator.people.says(f"{me(running.emulator)} help", chat=thread)
    unasked, asked = await shelf.until(2)
    assert (asked.origin.chat, asked.origin.topic) == (str(chat), str(thread))
    assert (unasked.addressed, asked.addressed) == (False, True)


async def test_in_a_thread_of_the_bot_everything_is_meant(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    thread = running.emulator.people.make_thread(chat, by_bot=True)
    running.emulator.people.says("no name needed", chat=thread)
    [message] = await shelf.until(1)
    assert message.addressed


async def test_an_app_that_writes_in_a_place_of_the_bot_does_not_mean_it(
    running: Running, shelf: Shelf
) -> None:
    people = running.emulator.people
    chat = people.make_group()
    thread = people.make_thread(chat, by_bot=True)
    people.posts("build 7 passed", chat=thread)
    people.posts("build 8 passed", chat=thread, webhook=True)
    people.posts("build 9 passed", chat=people.dm())
    people.posts(f"{me(running.emulator)} why did it fail?", chat=thread)
    assert [one.addressed for one in await shelf.until(4)] == [False, False, False, True]


async def test_a_thread_that_grew_from_an_answer_is_the_bots(running: Running, shelf: Shelf) -> None:
    emulator = running.emulator
    chat = emulator.people.make_group()
    posted = int(await running.adapter.send(says("answer", group(chat))))
    thread = emulator.people.make_thread(chat, message_id=posted)
    answer = emulator.world.channels[chat].messages[posted]
    emulator.world.channels[thread].messages[posted] = answer
    emulator.people.says("", chat=thread, reply_to=posted, extra={"type": 21})
    emulator.people.says("go on", chat=thread)
    [message] = await shelf.until(1)
    assert message.addressed and message.text == "go on"
    assert f'"threads":["{thread}"]' in await shelf.cursor()


async def test_a_role_that_stands_for_the_bot_counts_as_its_name(running: Running, shelf: Shelf) -> None:
    emulator = running.emulator
    chat = emulator.people.make_group()
    guild = emulator.world.channels[chat].guild
    assert guild is not None
    role = {"id": "4242", "name": "Roebot", "tags": {"bot_id": str(emulator.world.bot.id)}}
    emulator.inject("GUILD_CREATE", {"id": str(guild.id), "roles": [role], "channels": [], "threads": []})
    emulator.people.says("<@&4242> hi", chat=chat, extra={"mention_roles": ["4242"]})
    [message] = await shelf.until(1)
    assert (message.text, message.addressed) == ("hi", True)


@pytest.mark.guard(
    "Discord: what a webhook posts is no person's",
    "bot/platforms/discord/inbound.py",
    'return bool(author.get("bot") or author.get("system") or "webhook_id" in message)',
    'return bool(author.get("bot") or author.get("system"))',
    against="forwarded commands",
)
async def test_apps_are_told_apart_and_the_bot_itself_is_ignored(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    running.emulator.people.says(f"{me(running.emulator)} hi", chat=chat, user=99, name="CI", is_bot=True)
    running.emulator.people.says("hook", chat=chat, extra={"webhook_id": "5"})
    await running.adapter.send(says("mine", group(chat)))
    running.emulator.people.says("human", chat=chat)
    app, hook, human = await shelf.until(3)
    assert shelf.texts == ["hi", "hook", "human"]
    assert (app.origin.sender.is_bot, app.origin.sender.name, app.addressed) == (True, "CI", True)
    assert (hook.origin.sender.is_bot, hook.addressed) == (True, False)
    assert not human.origin.sender.is_bot
    assert running.adapter.counts.ignored == 1


async def test_a_notice_is_not_for_the_bot(running: Running, shelf: Shelf) -> None:
    running.emulator.people.says("", name="Ada", kind=7)
    [message] = await shelf.until(1)
    assert message.quotations == (Quotation(QuotationKind.NOTICE, "Ada joined the server"),)
    assert (message.text, message.addressed) == ("", False)


async def test_files_come_with_their_names_and_sizes(running: Running, shelf: Shelf) -> None:
    files = [
        {"filename": "a.png", "data": b"x" * 10, "mime": "image/png"},
        {"filename": "b.txt", "data": b"yy", "mime": "text/plain; charset=utf-8"},
    ]
    running.emulator.people.says("", files=files)
    [message] = await shelf.until(1)
    picture, text = message.attachments
    assert (picture.kind, picture.filename, picture.size) == (AttachmentKind.IMAGE, "a.png", 10)
    assert (text.kind, text.filename, text.size, text.mime) == (AttachmentKind.FILE, "b.txt", 2, "text/plain")


@pytest.mark.parametrize(
    ("extra", "name"),
    [
        ({"components": [{"type": 99}]}, "component of type 99"),
        ({"type": 99}, "message of type 99"),
    ],
)
async def test_what_cannot_be_read_is_named(
    running: Running, shelf: Shelf, extra: dict[str, object], name: str
) -> None:
    running.emulator.people.says("", extra=extra)
    [message] = await shelf.until(1)
    assert message.unsupported == name


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ({"embeds": [{"type": "rich", "title": 5}]}, QuotationKind.CARD),
        ({"components": [{"type": 1, "components": "rain"}]}, QuotationKind.CARD),
        ({"poll": {"question": {"text": "?"}, "expiry": "soon"}}, QuotationKind.POLL),
        ({"sticker_items": [{"name": []}]}, QuotationKind.STICKER),
        ({"type": 46, "embeds": "rain"}, QuotationKind.NOTICE),
    ],
)
async def test_a_part_that_cannot_be_read_leaves_the_rest(
    running: Running, shelf: Shelf, part: dict[str, object], kind: QuotationKind
) -> None:
    running.emulator.people.says("look", extra=part)
    [message] = await shelf.until(1)
    assert message.quotations == (Quotation(kind, UNREADABLE),)
    assert message.text == ("" if "type" in part else "look")


async def test_a_forwarded_message_is_read(running: Running, shelf: Shelf) -> None:
    snapshot = {"message": {"content": "what they said", "attachments": []}}
    reference = {"type": 1, "message_id": "77", "channel_id": "78"}
    running.emulator.people.says("", extra={"message_snapshots": [snapshot], "message_reference": reference})
    [message] = await shelf.until(1)
    assert (message.text, message.origin.reply_to) == ("", "")
    assert message.quotations == (Quotation(QuotationKind.FORWARD, "what they said"),)


async def test_the_files_of_a_forward_are_fetched_from_its_snapshot(running: Running, shelf: Shelf) -> None:
    running.emulator.people.forwards("/allow", filename="a.bin", data=b"abc" * 1000)
    [message] = await shelf.until(1)
    [quotation] = message.quotations
    assert (quotation.kind, quotation.text, quotation.files) == (
        QuotationKind.FORWARD,
        "/allow",
        ("a.bin",),
    )
    assert quotation.sent_at == 1_795_597_200.0
    [attachment] = message.attachments
    assert b"".join([chunk async for chunk in running.adapter.fetch(attachment)]) == b"abc" * 1000


async def test_a_forward_of_a_bots_message_holds_its_embeds(running: Running, shelf: Shelf) -> None:
    embeds = [{"title": "Build failed", "description": "on main"}, {"type": "image"}]
    snapshot = {"message": {"content": "", "embeds": embeds}}
    reference = {"type": 1, "message_id": "77", "channel_id": "78"}
    running.emulator.people.says("", extra={"message_snapshots": [snapshot], "message_reference": reference})
    [message] = await shelf.until(1)
    assert [one.text for one in message.quotations] == ["Build failed\non main"]


@pytest.mark.guard(
    "Discord: a mention in a forward does not call the bot",
    "bot/platforms/discord/inbound.py",
    "        if is_named and any(",
    "        if any(",
    against="forwarded commands",
)
async def test_a_forward_that_mentions_the_bot_does_not_call_it(running: Running, shelf: Shelf) -> None:
    chat, bot = running.emulator.people.make_group(), running.emulator.world.bot
    snapshot = {"message": {"content": f"<@{bot.id}> /allow", "mentions": [bot.wire()]}}
    reference = {"type": 1, "message_id": "77", "channel_id": "78"}
    extra = {"message_snapshots": [snapshot], "message_reference": reference, "mentions": [bot.wire()]}
    running.emulator.people.says("", chat=chat, extra=extra)
    [message] = await shelf.until(1)
    assert (message.addressed, message.text) == (False, "")


async def test_a_duplicate_is_stored_once(running: Running, shelf: Shelf) -> None:
    running.emulator.people.says("once")
    await shelf.until(1)
    running.emulator.redeliver()
    running.emulator.people.says("twice")
    await shelf.until(2)
    assert shelf.texts == ["once", "twice"]
    assert shelf.duplicates == 1


async def test_out_of_order_messages_are_all_stored(running: Running, shelf: Shelf) -> None:
    running.emulator.hold()
    running.emulator.people.says_many([{"text": str(number)} for number in range(5)])
    running.emulator.let_go(reverse=True)
    await shelf.until(5)
    assert sorted(shelf.texts) == ["0", "1", "2", "3", "4"]


async def test_the_state_names_the_bot_and_its_heartbeat(running: Running) -> None:
    assert running.state.live is Live.LIVE
    assert running.state.identity == "@roebot"
    await eventually(lambda: "heartbeat" in running.state.reason)
    assert running.state.last_event > 0


FORWARDING = {"type": 1, "message_id": "77", "channel_id": "78"}
EVE = {"id": "9", "username": "eve"}


@pytest.mark.parametrize(
    ("extra", "kind"),
    [
        ({"message_reference": FORWARDING, "message_snapshots": "rain"}, QuotationKind.FORWARD),
        ({"message_reference": FORWARDING, "message_snapshots": [{"message": 5}]}, QuotationKind.FORWARD),
        (
            {"message_reference": FORWARDING, "message_snapshots": [{"message": {"content": 5}}]},
            QuotationKind.FORWARD,
        ),
        ({"type": 19, "message_reference": "77"}, QuotationKind.REPLY),
        ({"type": 19, "message_reference": {"message_id": [7]}}, QuotationKind.REPLY),
        ({"type": 19, "referenced_message": "rain"}, QuotationKind.REPLY),
        ({"type": 19, "referenced_message": {"id": "5", "author": "Eve"}}, QuotationKind.REPLY),
        ({"type": 19, "referenced_message": {"id": "x", "author": EVE, "content": "a"}}, QuotationKind.REPLY),
    ],
)
async def test_what_cannot_be_read_of_a_quotation_leaves_the_message(
    running: Running, shelf: Shelf, extra: dict[str, Any], kind: QuotationKind
) -> None:
    running.emulator.people.says("look", extra=extra)
    [message] = await shelf.until(1)
    assert message.text == "look"
    assert message.quotations == (Quotation(kind, UNREADABLE),)
