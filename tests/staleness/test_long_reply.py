"""A reply of twelve minutes (with a clock that is 72 times as fast), longer than any stream lives."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.harness.service import ServiceProcess
from tests.harness.waiters import until
from tests.staleness.chats import Chat, chats, config, emulators
from tests.staleness.model import order, token, tokens

pytestmark = [pytest.mark.soak, pytest.mark.alone, pytest.mark.may_block]

SCALE = 1 / 72
COUNT, WIDTH = 720, 19


async def test_a_reply_over_expiry_and_rotation_is_whole_everywhere(tmp_path: Path) -> None:
    async with emulators(SCALE) as served:
        service = ServiceProcess(tmp_path / "home", config(served, SCALE))
        service.start()
        try:
            await service.ready()
            await until(lambda: served.discord.gateway.session, 20.0, service.log)
            places = [chat for chat in chats(served) if chat.name != "telegram_group"]
            texts = await asyncio.gather(*(joined(chat) for chat in places))
        finally:
            service.stop()
        whole = "".join(token(number, WIDTH) for number in range(1, COUNT + 1))
        for chat, found in zip(places, texts, strict=True):
            assert " ".join(found).split() == whole.split(), chat.name
            assert chat.emulator.counters()["limited"] == 0, chat.name
        assert all(len(found) > 1 for chat, found in zip(places, texts, strict=True) if chat.name != "feishu")
        streamed = served.slack.counters()["calls"]
        assert streamed["chat.appendStream"] > 0 and streamed["chat.update"] > 0
        [card] = [message.card for message in served.feishu.world.messages.values() if message.card]
        assert card.opened >= 2


async def joined(chat: Chat) -> list[str]:
    """The messages of one answer when all of it stands."""
    place = chat.asks(order(chat.name, COUNT, 720 * SCALE / COUNT, WIDTH))

    def complete() -> bool:
        last = chat.texts(place)[-1:]
        return bool(last) and COUNT in tokens(last[0]) and not chat.open(place)

    await until(complete, 60.0, lambda: f"{chat.name}: {chat.texts(place)}")
    await asyncio.sleep(1.0)
    return chat.texts(place)
