"""Rich messages where the server knows them, entities where it does not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bot.domain import ProgressItem, ProgressState
from bot.errors import DeliveryCategory, DeliveryError, NotModified
from bot.platforms.base import TooLong
from bot.platforms.telegram.adapter import TelegramAdapter
from bot.platforms.telegram.rich_renderer import rich_markdown, thinking_block
from roebot_testing.emulators.telegram import TelegramEmulator

from .conftest import QuickClock, Running, Shelf, account, group, private, says


@pytest.fixture
async def rich() -> AsyncIterator[Running]:
    async with TelegramEmulator.serve(limits=False, rich=True) as emulator:
        configured = account(emulator, streaming="draft")
        running = Running(TelegramAdapter("tg", configured), emulator, Shelf(), QuickClock())
        await running.start()
        emulator.people.says("go", user=7)
        yield running
        await running.stop()


def kinds(running: Running) -> list[tuple[str, str]]:
    messages = running.emulator.view(7)["messages"]
    return [(message["kind"], message["text"]) for message in messages if message["from_bot"]]


async def test_markdown_goes_out_as_it_is(rich: Running) -> None:
    message_id = await rich.adapter.send(says("# A\n\n| a | b |\n|---|---|\n| 1 | 2 |"))
    await rich.adapter.edit(says("# B"), message_id)
    assert kinds(rich) == [("rich", "# B")]
    with pytest.raises(NotModified):
        await rich.adapter.edit(says("# B"), message_id)
    assert "sendMessage" not in rich.emulator.counters()["calls"]


async def test_only_what_we_know_of_the_dialect_goes_out(rich: Running) -> None:
    text = "<p>no</p> $x^2$ ||hidden|| [a](https://e.org/?a=1|2)\n\n- one\n- [x] two"
    await rich.adapter.send(says(text))
    [(kind, sent)] = kinds(rich)
    assert kind == "rich" and sent == rich_markdown(text)
    assert "\\<p\\>no" in sent and "\\$x\\^2\\$" in sent and "\\|\\|hidden" in sent


@pytest.mark.parametrize(
    "text",
    [
        "word " * 1_400,
        "**bold** " * 1_000,
        "| a | b |\n|---|---|\n" + f"| 1 | {'x' * 60} |\n" * 90,
        "- an item of a list\n" * 240,
        "😀 " * 2_300,
    ],
    ids=["words", "bold", "table", "list", "emoji"],
)
async def test_every_part_of_a_long_reply_survives_a_refusal(rich: Running, text: str) -> None:
    [whole] = rich.adapter.renderer.split(text)
    rich.emulator.fault("error", method="sendRichMessage", status=400, description="Bad Request", times=-1)
    with pytest.raises(TooLong) as refused:
        await rich.adapter.send(says(whole))
    assert kinds(rich) == []
    parts = refused.value.renderer.split(whole)
    for part in parts:
        await rich.adapter.send(says(part))
    assert len(parts) > 1
    assert [kind for kind, _ in kinds(rich)] == ["text"] * len(parts)


@pytest.mark.parametrize("text", ["a" * 32_768, "x\n\n" * 500, "字" * 11_400], ids=["a", "blocks", "bytes"])
async def test_what_fits_one_rich_message_is_one(rich: Running, text: str) -> None:
    [part] = rich.adapter.renderer.split(text)
    message_id = await rich.adapter.send(says(part))
    await rich.adapter.edit(says("short"), message_id)
    await rich.adapter.edit(says(part), message_id)
    await rich.adapter.draft(says(part), 3)
    assert kinds(rich) == [("rich", rich_markdown(part))]
    assert rich.emulator.view(7)["draft"] == rich_markdown(part)


async def test_markdown_that_the_server_would_cut_off_is_not_sent(rich: Running) -> None:
    with pytest.raises(TooLong):
        await rich.adapter.send(says("字" * 12_000))
    assert kinds(rich) == [] and rich.emulator.counters()["calls"]["sendRichMessage"] == 1


async def test_a_message_changes_between_rich_and_plain(rich: Running) -> None:
    long = "word " * 2_000
    message_id = await rich.adapter.send(says(long))
    rich.emulator.api.rich = False
    with pytest.raises(TooLong):
        await rich.adapter.edit(says(long), message_id)
    await rich.adapter.edit(says("plain"), message_id)
    assert kinds(rich) == [("text", "plain")]
    rich.emulator.api.rich = True
    await rich.adapter.edit(says("**rich**"), message_id)
    assert kinds(rich) == [("rich", "**rich**")]


async def test_an_old_server_takes_shorter_parts(running: Running) -> None:
    parts = running.adapter.renderer.split("word " * 2_000)
    assert len(parts) > 1 and all(len(part) <= 4096 for part in parts)


async def test_an_edit_that_is_refused_falls_back_in_the_same_message(rich: Running) -> None:
    message_id = await rich.adapter.send(says("**thin**"))
    rich.emulator.fault("error", method="editMessageText", status=400, description="Bad Request: too deep")
    await rich.adapter.edit(says("**bold**"), message_id)
    assert kinds(rich) == [("text", "bold")]


async def test_drafts_are_rich_too(rich: Running) -> None:
    await rich.adapter.draft(says("**thin**"), 3)
    assert rich.emulator.view(7)["draft"] == "**thin**"


async def test_a_draft_shows_the_steps_as_thinking(rich: Running) -> None:
    steps = (
        ProgressItem("1", "Read", ProgressState.DONE),
        ProgressItem("2", "<b> & read_file", ProgressState.ACTIVE),
    )
    thinking = "<tg-thinking>▸ &#60;b&#62; &#38; read&#95;file</tg-thinking>"
    for text, draft in (("**thin**", f"**thin**\n\n{thinking}"), ("", thinking)):
        await rich.adapter.draft(replace(says(text), final=False, progress=steps), 3)
        assert rich.emulator.view(7)["draft"] == draft
    rich.emulator.fault("error", method="sendRichMessageDraft", status=400, description="Bad Request: no")
    await rich.adapter.draft(replace(says("thin"), final=False, progress=steps), 3)
    assert rich.emulator.view(7)["draft"] == "thin\n\n✓ Read\n▸ <b> & read_file"


async def test_thinking_is_for_drafts_only(rich: Running) -> None:
    content = {"markdown": thinking_block("x")}
    with pytest.raises(DeliveryError, match="drafts only"):
        await rich.adapter.session.outbound.call_chat(
            "sendRichMessage", private(), posting=True, rich_message=content
        )


async def test_a_refused_text_falls_back_for_that_message_only(rich: Running) -> None:
    rich.emulator.fault("error", method="sendRichMessage", status=400, description="Bad Request: too deep")
    await rich.adapter.send(says("**bold**"))
    await rich.adapter.send(says("**rich**"))
    assert kinds(rich) == [("text", "bold"), ("rich", "**rich**")]


async def test_a_group_that_forbids_rich_messages_gets_plain_ones(rich: Running) -> None:
    chat = rich.emulator.people.make_group(supergroup=True)
    rich.emulator.people.restricts_bot(chat, "rich messages")
    await rich.adapter.send(says("**plain**", group(chat)))
    [message] = [one for one in rich.emulator.view(chat)["messages"] if one["from_bot"]]
    assert (message["kind"], message["text"]) == ("text", "plain")


async def test_a_server_that_forgot_the_method_is_believed(rich: Running) -> None:
    rich.emulator.api.rich = False
    await rich.adapter.send(says("**one**"))
    await rich.adapter.send(says("**two**"))
    assert kinds(rich) == [("text", "one"), ("text", "two")]
    assert rich.emulator.counters()["calls"]["sendRichMessage"] == 2


async def test_an_unknown_outcome_is_no_reason_to_send_again(rich: Running) -> None:
    rich.emulator.fault("drop", method="sendRichMessage")
    with pytest.raises(DeliveryError) as lost:
        await rich.adapter.send(says("once"))
    assert lost.value.unknown_outcome
    assert kinds(rich) == [("rich", "once")]


async def test_a_missing_chat_is_told_not_tried_twice(rich: Running) -> None:
    with pytest.raises(DeliveryError) as missing:
        await rich.adapter.send(says("x", private(4711)))
    assert missing.value.category is DeliveryCategory.NOT_FOUND
    assert "sendMessage" not in rich.emulator.counters()["calls"]


async def test_an_old_server_is_asked_once(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    await running.adapter.send(says("**a**"))
    assert kinds(running) == [("text", "a")]
    assert running.emulator.counters()["calls"]["sendRichMessage"] == 1


async def test_a_server_in_doubt_is_taken_as_old(emulator: TelegramEmulator) -> None:
    emulator.fault("error", method="sendRichMessage", status=503)
    running = Running(TelegramAdapter("tg", account(emulator)), emulator, Shelf(), QuickClock())
    await running.start()
    emulator.people.says("go", user=7)
    await running.adapter.send(says("**a**"))
    assert kinds(running) == [("text", "a")]
    await running.stop()
