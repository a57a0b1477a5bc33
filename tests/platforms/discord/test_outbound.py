"""Sending: what people see, and what each refusal means."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from bot.account_state import Live
from bot.domain import Mention, MentionKind, OutboundFile, OutboundMessage, ReplyAddress
from bot.errors import DeliveryCategory, DeliveryError, RateLimited
from bot.platforms.base import (
    Adapter,
    CommandHint,
    DeletesMessages,
    EditsMessages,
    FetchesFiles,
    RegistersCommands,
    RepeatsSafely,
    SendsFiles,
    ShowsAlone,
    ShowsTyping,
    StreamsDrafts,
)
from bot.platforms.discord.adapter import DiscordAdapter
from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.transcript import FrameKind

from .conftest import QuickClock, Running, Shelf, account, eventually, group, private, says


def shown(running: Running, chat: int = 0) -> list[str]:
    emulator = running.emulator
    found = emulator.view(chat or emulator.people.dm())["messages"]
    return [message["text"] for message in found if message["from_bot"]]


def test_it_can_do_what_the_dispatcher_may_ask_for(emulator: DiscordEmulator) -> None:
    adapter = DiscordAdapter("dc", account(emulator))
    for wanted in (
        Adapter,
        DeletesMessages,
        EditsMessages,
        FetchesFiles,
        RegistersCommands,
        RepeatsSafely,
        SendsFiles,
        ShowsAlone,
        ShowsTyping,
    ):
        assert isinstance(adapter, wanted)
    assert not isinstance(adapter, StreamsDrafts)
    assert adapter.repeats_safely


async def test_a_post_grows_by_edits_into_one_answer(running: Running) -> None:
    chat = running.emulator.people.make_group()
    asked = running.emulator.people.says("go", chat=chat)
    here = group(chat, reply_to=asked.id)
    message_id = await running.adapter.send(says("Hel", here))
    await running.adapter.edit(says("Hello **world**", here), message_id)
    [_, answer] = running.emulator.view(chat)["messages"]
    assert (answer["text"], answer["reply_to"], answer["edits"]) == ("Hello **world**", asked.id, 1)


async def test_the_same_key_is_one_message(running: Running) -> None:
    here = private(running.emulator)
    first = await running.adapter.send(says("once", here, "7:0"))
    again = await running.adapter.send(says("once", here, "7:0"))
    other = await running.adapter.send(says("twice", here, "7:1"))
    assert first == again != other
    assert shown(running) == ["once", "twice"]


async def test_a_repeat_with_more_text_shows_all_of_it(running: Running) -> None:
    here = private(running.emulator)
    running.emulator.fault("drop", method="createMessage")
    with pytest.raises(DeliveryError) as lost:
        await running.adapter.send(says("Hel", here))
    assert lost.value.category is DeliveryCategory.TRANSIENT and lost.value.unknown_outcome
    await running.adapter.send(says("Hello world", here))
    assert shown(running) == ["Hello world"]


async def test_what_somebody_deleted_is_posted_anew(running: Running) -> None:
    chat = running.emulator.people.make_group()
    message_id = await running.adapter.send(says("one", group(chat)))
    running.emulator.people.deletes(chat, int(message_id))
    with pytest.raises(DeliveryError) as gone:
        await running.adapter.edit(says("two", group(chat)), message_id)
    assert gone.value.category is DeliveryCategory.NOT_FOUND
    await running.adapter.send(says("two", group(chat)))
    assert shown(running, chat) == ["two"]


async def test_a_nonce_whose_message_was_deleted_does_not_stand_in_the_way(running: Running) -> None:
    chat = running.emulator.people.make_group()
    message_id = await running.adapter.send(says("one", group(chat)))
    running.emulator.people.deletes(chat, int(message_id))
    await running.adapter.send(says("two", group(chat)))
    assert shown(running, chat) == ["two"]
    assert [frame.status for frame in running.emulator.transcript.of(FrameKind.POST)] == [200, 404, 200]


async def test_a_reply_to_a_message_that_is_gone_is_posted_all_the_same(running: Running) -> None:
    chat = running.emulator.people.make_group()
    await running.adapter.send(says("here", group(chat, reply_to=999)))
    assert shown(running, chat) == ["here"]


def recorded_bodies(running: Running) -> list[Any]:
    """The bodies of the calls from now on."""
    bodies: list[Any] = []
    outbound = running.adapter.session.outbound
    request = outbound._rest.request

    async def listened(route: Any, **options: Any) -> Any:
        bodies.append(options["json"])
        return await request(route, **options)

    outbound._rest.request = listened  # type: ignore[method-assign]
    return bodies


@pytest.mark.guard(
    "Discord: an answer notifies nobody but those whom it mentions",
    "bot/platforms/discord/outbound.py",
    'return {"parse": [], "replied_user"',
    'return {"parse": ["everyone"], "replied_user"',
    against="unwanted mentions",
)
async def test_nobody_is_pinged_by_what_a_text_names(running: Running) -> None:
    bodies = recorded_bodies(running)
    await running.adapter.send(says("@everyone <@5>", private(running.emulator)))
    assert bodies[0]["allowed_mentions"] == {"parse": [], "replied_user": True}


async def test_the_first_part_of_a_reply_alone_pings_the_person_answered(running: Running) -> None:
    chat = running.emulator.people.make_group()
    asked = running.emulator.people.says("tell me all", chat=chat, user=71)
    here = group(chat, reply_to=asked.id)
    await running.adapter.send(says("one", here, "3:0"))
    await running.adapter.send(says("two", here, "3:1"))
    await running.adapter.send_file(OutboundFile("3:2", here, "a.txt", "", b"a"))
    await running.adapter.send_file(OutboundFile("4:0", here, "b.txt", "", b"b"))
    found = running.emulator.view(chat)["messages"][1:]
    assert [(one["reply_to"], one["pinged"]) for one in found] == [
        (asked.id, [71]),
        (asked.id, []),
        (asked.id, []),
        (asked.id, [71]),
    ]


async def test_a_thread_is_answered_in_the_thread(running: Running) -> None:
    chat = running.emulator.people.make_group()
    thread = running.emulator.people.make_thread(chat)
    await running.adapter.send(says("in here", group(chat, thread)))
    await running.adapter.typing(group(chat, thread))
    assert (shown(running, chat), shown(running, thread)) == ([], ["in here"])
    assert running.emulator.transcript.of(FrameKind.TYPING)[0].chat == str(thread)
    running.emulator.people.removes_channel(thread)
    with pytest.raises(DeliveryError) as gone:
        await running.adapter.send(says("nowhere", group(chat, thread), "2:0"))
    assert gone.value.category is DeliveryCategory.NOT_FOUND


async def test_deleting_twice_is_harmless(running: Running) -> None:
    chat = running.emulator.people.make_group()
    asked = running.emulator.people.says("go", chat=chat)
    message_id = await running.adapter.send(says("oops", group(chat)))
    await running.adapter.delete(group(chat), message_id)
    await running.adapter.delete(group(chat), message_id)
    assert shown(running, chat) == []
    with pytest.raises(DeliveryError) as refused:
        await running.adapter.delete(group(chat), str(asked.id))
    assert refused.value.category is DeliveryCategory.PERMISSION


async def test_a_table_is_drawn_in_a_code_block(running: Running) -> None:
    here = private(running.emulator)
    await running.adapter.send(says("see\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n#### deep", here))
    [text] = shown(running)
    assert text == "see\n\n```\na | b\n--+--\n1 | 2\n```\n\n### deep"


@pytest.mark.parametrize(
    ("status", "category", "unknown"),
    [
        (400, DeliveryCategory.INVALID_PAYLOAD, False),
        (403, DeliveryCategory.PERMISSION, False),
        (404, DeliveryCategory.NOT_FOUND, False),
        (409, DeliveryCategory.CONFLICT, False),
        (413, DeliveryCategory.INVALID_PAYLOAD, False),
        (500, DeliveryCategory.TRANSIENT, True),
        (502, DeliveryCategory.TRANSIENT, True),
    ],
)
async def test_refusals_have_their_category(
    running: Running, status: int, category: DeliveryCategory, unknown: bool
) -> None:
    running.emulator.fault("error", method="createMessage", status=status, description="No.")
    with pytest.raises(DeliveryError) as failed:
        await running.adapter.send(says("hi", private(running.emulator)))
    assert (failed.value.category, failed.value.unknown_outcome) == (category, unknown)
    assert failed.value.detail == "No."
    assert await running.adapter.send(says("goes on", private(running.emulator), "9:0"))


async def test_a_bot_that_was_removed_says_what_to_do(running: Running) -> None:
    chat = running.emulator.people.make_group()
    guild = running.emulator.world.channels[chat].guild
    assert guild is not None
    running.emulator.people.removes_bot(guild.id)
    with pytest.raises(DeliveryError, match="invite it again") as removed:
        await running.adapter.send(says("hi", group(chat)))
    assert removed.value.category is DeliveryCategory.PERMISSION
    assert running.state.live is Live.LIVE


async def test_a_channel_without_rights_says_which(running: Running) -> None:
    chat = running.emulator.people.make_group()
    running.emulator.people.bars(chat)
    with pytest.raises(DeliveryError, match="Send Messages"):
        await running.adapter.send(says("hi", group(chat)))
    running.emulator.people.bars(chat, 50007, "Cannot send messages to this user")
    with pytest.raises(DeliveryError, match="no direct messages"):
        await running.adapter.send(says("hi", group(chat)))


async def test_a_broken_connection_is_an_unknown_outcome(running: Running) -> None:
    running.emulator.fault("close", method="createMessage")
    with pytest.raises(DeliveryError) as lost:
        await running.adapter.send(says("once", private(running.emulator)))
    assert lost.value.category is DeliveryCategory.TRANSIENT and lost.value.unknown_outcome
    assert shown(running) == []


async def test_an_edit_of_unknown_outcome_is_not_one(running: Running) -> None:
    here = private(running.emulator)
    message_id = await running.adapter.send(says("one", here))
    running.emulator.fault("drop", method="editMessage")
    with pytest.raises(DeliveryError) as lost:
        await running.adapter.edit(says("two", here), message_id)
    assert not lost.value.unknown_outcome
    await running.adapter.edit(says("two", here), message_id)
    assert shown(running) == ["two"]


@pytest.mark.parametrize("chat", ["abc", "../x", "١٢", "-5", ""])
async def test_what_is_no_id_never_gets_into_a_path(running: Running, chat: str) -> None:
    bad = ReplyAddress("dc", chat, private(running.emulator).chat_kind)
    calls = dict(running.emulator.transcript.calls)
    for call in (running.adapter.send(says("x", bad)), running.adapter.typing(bad)):
        with pytest.raises(DeliveryError) as refused:
            await call
        assert refused.value.category is DeliveryCategory.NOT_FOUND
    assert running.emulator.transcript.calls == calls


async def test_a_limit_is_told_not_slept(running: Running) -> None:
    chat = running.emulator.people.make_group()
    running.emulator.penalize(chat, 5000)
    with pytest.raises(RateLimited) as limited:
        await running.adapter.send(says("hi", group(chat)))
    assert limited.value.retry_after == pytest.approx(5000, abs=5)
    assert not limited.value.account_wide
    assert running.state.live is Live.LIMITED
    with pytest.raises(RateLimited):
        await running.adapter.send(says("hi", group(chat)))
    assert running.emulator.counters()["limited"] == 1
    await running.adapter.send(says("elsewhere", private(running.emulator), "2:0"))
    assert shown(running) == ["elsewhere"]


async def test_the_headers_keep_a_call_back_that_would_be_refused(running: Running) -> None:
    running.emulator.limits(enabled=True, scale=1.0)
    here = private(running.emulator)
    for number in range(5):
        await running.adapter.send(says(str(number), here, f"{number}:0"))
    with pytest.raises(RateLimited) as limited:
        await running.adapter.send(says("6", here, "6:0"))
    assert 0 < limited.value.retry_after <= 5
    assert running.emulator.counters()["limited"] == 0
    await running.adapter.typing(here)


async def test_a_global_limit_is_the_accounts(running: Running) -> None:
    running.emulator.limits(enabled=True)
    chats = [running.emulator.people.dm(300_000_000_000_000_000 + number) for number in range(60)]
    addresses = [ReplyAddress("dc", str(chat), private(running.emulator).chat_kind) for chat in chats]
    sends = [running.adapter.send(says("hi", address, f"{n}:0")) for n, address in enumerate(addresses)]
    done = await asyncio.gather(*sends, return_exceptions=True)
    refused = [error for error in done if isinstance(error, RateLimited)]
    assert refused and all(error.account_wide for error in refused)
    assert len(done) - len(refused) == 50


async def test_commands_are_answered_while_all_other_calls_wait(running: Running, shelf: Shelf) -> None:
    running.emulator.limits(enabled=True)
    chats = [running.emulator.people.dm(300_000_000_000_000_000 + number) for number in range(60)]
    addresses = [ReplyAddress("dc", str(chat), private(running.emulator).chat_kind) for chat in chats]
    sends = [running.adapter.send(says("hi", address, f"{n}:0")) for n, address in enumerate(addresses)]
    await asyncio.gather(*sends, return_exceptions=True)
    used = running.emulator.people.uses("status", chat=running.emulator.people.dm())
    await shelf.until(1)
    here = replace(private(running.emulator), reply_to=str(used))
    await running.adapter.send(says("all well", here, "90:0"))
    assert shown(running) == ["all well"]
    assert running.emulator.transcript.calls["callback"] == 1


async def test_nothing_goes_out_before_and_after(emulator: DiscordEmulator, shelf: Shelf) -> None:
    started = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, QuickClock())
    message = says("hi", private(emulator))
    for _ in range(2):
        with pytest.raises(DeliveryError, match="not connected") as away:
            await started.adapter.send(message)
        assert away.value.category is DeliveryCategory.TRANSIENT and not away.value.unknown_outcome
        await started.start()
        await started.stop()


async def test_commands_are_shown_with_one_field(running: Running) -> None:
    hints = [CommandHint("help", "What I can do"), CommandHint("long", "x" * 300)]
    await running.adapter.register_commands(hints)
    first, second = running.emulator.world.commands
    assert (first["name"], first["options"][0]["name"]) == ("help", "text")
    assert first["contexts"] == [0, 1]
    assert len(second["description"]) == 100
    running.emulator.fault("error", method="putCommands", status=400, description="no")
    with pytest.raises(DeliveryError):
        await running.adapter.register_commands(hints)


async def test_a_token_that_is_reset_ends_the_account(running: Running) -> None:
    running.emulator.revoke_token()
    with pytest.raises(DeliveryError) as refused:
        await running.adapter.send(OutboundMessage("1:0", private(running.emulator), "x"))
    assert refused.value.category is DeliveryCategory.AUTH
    await eventually(lambda: running.ended)
    assert running.state.live is Live.FAILED
    assert "Reset Token" in running.state.reason


LEAK = "see https://evil.example/?d=secret"


async def _write_with_links(running: Running, shelf: Shelf) -> None:
    shelf.private = {"/whoami"}
    people = running.emulator.people
    chat = people.make_group()
    message_id = await running.adapter.send(says("plain", group(chat), "1:0"))
    await running.adapter.edit(says(LEAK, group(chat), "1:0"), message_id)
    await running.adapter.send(says(LEAK, group(chat), "2:0"))
    used = people.uses("whoami", chat=chat)
    await shelf.until(1)
    await running.adapter.send(says(LEAK, group(chat, reply_to=used), "3:0"))
    await running.adapter.send(says(f"{LEAK} too", group(chat, reply_to=used), "3:1"))


@pytest.mark.guard(
    "Discord fetches no links",
    "bot/platforms/discord/outbound.py",
    'return body if self._previews else {**body, "flags": NO_EMBEDS}',
    "return body",
    against="leaks without a click",
)
async def test_discord_fetches_no_link_of_an_answer(running: Running, shelf: Shelf) -> None:
    await _write_with_links(running, shelf)
    called = running.emulator.transcript.calls
    assert {"createMessage", "editMessage", "editAnswer", "followup"} <= set(called)
    assert running.emulator.counters()["previews"] == []
    hidden = [one for chat in running.emulator.views() for one in chat["messages"] if one["ephemeral"]]
    assert [one["text"] for one in hidden] == [LEAK, f"{LEAK} too"]


async def test_link_previews_are_there_where_the_configuration_wants_them(emulator: DiscordEmulator) -> None:
    shelf = Shelf()
    wanted = account(emulator, link_previews=True)
    running = Running(DiscordAdapter("dc", wanted), emulator, shelf, QuickClock())
    await running.start()
    await _write_with_links(running, shelf)
    assert "https://evil.example/?d=secret" in emulator.counters()["previews"]
    await running.stop()


async def test_exactly_the_people_whom_it_mentions_are_pinged(running: Running) -> None:
    bodies = recorded_bodies(running)
    names = (
        Mention(MentionKind.PERSON, "Lena", "5"),
        Mention(MentionKind.CHANNEL, "deploys", "6"),
        Mention(MentionKind.ROLE, "oncall", "8"),
    )
    text = "@Lena and @oncall in #deploys, not <@7> <@&9> @everyone"
    await running.adapter.send(replace(says(text, private(running.emulator)), mentions=names))
    notified = {"parse": [], "replied_user": True, "users": ["5"], "roles": ["8"]}
    assert bodies[0]["allowed_mentions"] == notified
    text_shown = bodies[0]["content"].replace("\u200b", "")
    assert text_shown == "<@5> and <@&8> in <#6>, not <@7> <@&9> @everyone"


async def test_an_edit_opens_an_archived_thread(running: Running) -> None:
    people = running.emulator.people
    chat = people.make_group()
    thread = people.make_thread(chat)
    here = group(chat, thread)
    message_id = await running.adapter.send(says("thinking", here))
    people.archives(thread)
    await running.adapter.edit(says("done", here), message_id)
    assert shown(running, thread) == ["done"]
    assert not running.emulator.world.channels[thread].archived


async def test_a_deletion_opens_an_archived_thread(running: Running) -> None:
    people = running.emulator.people
    chat = people.make_group()
    thread = people.make_thread(chat)
    here = group(chat, thread)
    message_id = await running.adapter.send(says("thinking", here))
    people.archives(thread)
    await running.adapter.delete(here, message_id)
    assert shown(running, thread) == []
    assert not running.emulator.world.channels[thread].archived


async def test_a_locked_thread_takes_no_edits(running: Running) -> None:
    people = running.emulator.people
    chat = people.make_group()
    thread = people.make_thread(chat)
    here = group(chat, thread)
    message_id = await running.adapter.send(says("thinking", here))
    people.archives(thread, locked=True)
    for act in (
        running.adapter.edit(says("done", here), message_id),
        running.adapter.send(says("more", here, "2:0")),
    ):
        with pytest.raises(DeliveryError, match="locked") as refused:
            await act
        assert refused.value.category is DeliveryCategory.PERMISSION
