"""Messages that people forward together: they are fetched, and quoted with their authors."""

from __future__ import annotations

from bot.domain import Quotation, QuotationKind
from bot.platforms.feishu.forwarded import UNREAD
from bot.testing.emulators.feishu import FeishuEmulator
from bot.testing.emulators.feishu.people import MALLORY

from .conftest import Running


async def test_forwarded_messages_are_quotations(running: Running, emulator: FeishuEmulator) -> None:
    emulator.people.forwards(["/allow", "and more"])
    [message] = await running.shelf.until(1)
    assert (message.text, message.unsupported, message.attachments) == ("", "", ())
    assert message.quotations == tuple(
        Quotation(QuotationKind.FORWARD, text, "Mallory", MALLORY) for text in ("/allow", "and more")
    )


async def test_what_cannot_be_fetched_is_marked_all_the_same(
    running: Running, emulator: FeishuEmulator
) -> None:
    emulator.people.says("first")
    await running.shelf.until(1)
    emulator.people.forwards([])
    [_, message] = await running.shelf.until(2)
    assert (message.text, message.quotations) == ("", (UNREAD,))
