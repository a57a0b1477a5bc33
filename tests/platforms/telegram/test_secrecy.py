"""The token is in every URL, and in no log, no error and no state."""

from __future__ import annotations

import logging

import pytest

from bot.domain import Attachment, AttachmentKind
from bot.errors import AccountRefused, DeliveryError
from bot.platforms.telegram.adapter import TelegramAdapter
from bot.platforms.telegram.errors import HIDDEN, guard_logs, without_token
from roebot_testing.emulators.telegram import TelegramEmulator

from .conftest import QuickClock, Running, Shelf, account, says


@pytest.fixture(autouse=True)
def everything_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    guard_logs()
    for name in ("", "aiohttp.client", "telegram", "asyncio"):
        caplog.set_level(logging.DEBUG, logger=name)


def spoken(caplog: pytest.LogCaptureFixture) -> str:
    formatter = logging.Formatter("%(name)s %(message)s")
    return "\n".join(formatter.format(record) for record in caplog.records)


async def test_a_day_of_work_never_shows_it(
    emulator: TelegramEmulator, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    running = Running(TelegramAdapter("tg", account(emulator)), emulator, Shelf(), QuickClock())
    await running.start()
    emulator.people.says("see", user=7, media="document", data=b"abc")
    [message] = await running.shelf.until(1)
    errors = []
    await running.adapter.send(says("hi"))
    assert [chunk async for chunk in running.adapter.fetch(message.attachments[0])] == [b"abc"]
    for kind, method in (("drop", "sendMessage"), ("close", "sendMessage"), ("error", "sendMessage")):
        emulator.fault(kind, method=method)
        with pytest.raises(DeliveryError) as failed:
            await running.adapter.send(says("x"))
        errors.append(repr(failed.value) + str(failed.value) + repr(failed.value.__cause__))
    emulator.fault("drop", method="download", times=2)
    with pytest.raises(DeliveryError) as failed:
        async for _ in running.adapter.fetch(message.attachments[0]):
            pass
    errors.append(str(failed.value) + repr(failed.value.__cause__))
    with pytest.raises(DeliveryError):
        async for _ in running.adapter.fetch(Attachment(AttachmentKind.FILE, "x", "none")):
            pass
    emulator.fault("close", method="getUpdates")
    emulator.people.says("again", user=7)
    await running.shelf.until(2)
    await running.stop()
    told = spoken(caplog) + "".join(errors) + repr(running.states) + "".join(capfd.readouterr())
    assert emulator.token not in told
    assert emulator.token.partition(":")[2] not in told
    assert HIDDEN in told, "the SDK's debug lines are there, with the token hidden"


async def test_a_refused_token_is_not_repeated_to_anybody(
    emulator: TelegramEmulator, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = "987654:wrong-but-secret-all-the-same"
    running = Running(
        TelegramAdapter("tg", account(emulator, bot_token=wrong)), emulator, Shelf(), QuickClock()
    )
    await running.start()
    assert running.task is not None
    with pytest.raises(AccountRefused) as refused:
        await running.task
    chain = repr(refused.value) + repr(refused.value.__cause__) + repr(running.states)
    assert wrong not in chain + spoken(caplog)


def test_a_text_is_cleared_of_tokens() -> None:
    shown = without_token("GET https://api.telegram.org/bot123456:AAE-xyz_0123456789abcdefghij/getMe failed")
    assert shown == f"GET https://api.telegram.org/bot{HIDDEN}/getMe failed"
    assert without_token("at 12:30 it was fine") == "at 12:30 it was fine"


def test_guarding_twice_filters_once() -> None:
    guard_logs()
    guard_logs()
    assert len(logging.getLogger("aiohttp.client").filters) == 1
