"""An account that is connected for a moment: who writes to it in private, and nothing is taken."""

from __future__ import annotations

import asyncio
import logging

import pytest
import structlog

from bot.cli.connect_probe import silence_logs, wait_for_writer
from bot.config.accounts import AccountConfig
from bot.config.platforms import built_in_platforms
from bot.domain import InboundMessage
from roebot_testing.emulators.telegram import TelegramEmulator

pytestmark = pytest.mark.may_block


def account(platform: str, emulator: TelegramEmulator) -> AccountConfig:
    return built_in_platforms()[platform].model_validate(
        {"name": platform, "platform": platform, "bot_token": emulator.token, "base_url": emulator.url}
    )


async def asked(
    found: AccountConfig, *heard: str
) -> tuple[asyncio.Task[InboundMessage | None], asyncio.Event]:
    ready = asyncio.Event()
    waiting = asyncio.create_task(wait_for_writer(found, 20.0, ready.set, heard))
    await asyncio.wait_for(ready.wait(), 20.0)
    return waiting, ready


async def test_what_was_heard_before_is_passed_over_and_nothing_is_taken() -> None:
    async with TelegramEmulator.serve() as emulator:
        emulator.people.says("first", user=7)
        waiting, _ = await asked(account("telegram", emulator))
        first = await waiting
        assert first is not None
        waiting, _ = await asked(account("telegram", emulator), first.event_id)
        emulator.people.says("once more", user=7)
        second = await waiting
        assert second is not None
        assert (second.origin.sender.id, second.text) == ("7", "once more")
        assert emulator.queue.pending == 2


async def test_nobody_who_writes_is_none() -> None:
    async with TelegramEmulator.serve() as emulator:
        assert await wait_for_writer(account("telegram", emulator), 0.5, lambda: None) is None


def test_logs_are_as_before_after_the_quiet() -> None:
    before = structlog.get_config()["wrapper_class"]
    with silence_logs():
        assert not logging.getLogger("roebot").isEnabledFor(logging.CRITICAL)
    assert structlog.get_config()["wrapper_class"] is before
    assert logging.getLogger("roebot").isEnabledFor(logging.CRITICAL)
