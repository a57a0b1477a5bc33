"""Receiving by webhook: who sent it is proved, what is stored is answered with 200, all else comes again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import aiohttp
import pytest

from bot.account_state import Live
from bot.platforms.base import WebhookRequest
from bot.platforms.telegram.adapter import TelegramAdapter
from bot.platforms.telegram.webhook import SECRET_HEADER
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.platforms import Port

from .conftest import QuickClock, Running, Shelf, account, eventually

SECRET = "s3cret_of-the-hook"


@pytest.fixture
async def port() -> AsyncIterator[Port]:
    async with Port.open() as opened:
        yield opened


@pytest.fixture
async def hooked(emulator: TelegramEmulator, port: Port) -> AsyncIterator[Running]:
    running = webhook(emulator, port, Shelf())
    await running.start()
    yield running
    await running.stop()


def webhook(emulator: TelegramEmulator, port: Port, shelf: Shelf) -> Running:
    entry = account(emulator, mode="webhook", webhook_url=port.url + "/", webhook_secret=SECRET)
    port.adapter = adapter = TelegramAdapter("tg", entry)
    return Running(adapter, emulator, shelf, QuickClock())


def request(body: bytes, secret: str | None = SECRET) -> WebhookRequest:
    return WebhookRequest({} if secret is None else {SECRET_HEADER: secret}, body)


async def test_messages_arrive_in_order_and_are_confirmed(hooked: Running, port: Port) -> None:
    for number in range(20):
        hooked.emulator.people.says(str(number), user=7)
    await hooked.shelf.until(20)
    await eventually(lambda: hooked.emulator.queue.pending == 0)
    assert hooked.shelf.texts == [str(number) for number in range(20)]
    assert set(port.answers) == {200}
    assert "getUpdates" not in hooked.emulator.counters()["calls"]
    assert hooked.adapter.counts.messages == 20


async def test_it_lives_once_telegram_has_taken_the_webhook(hooked: Running, port: Port) -> None:
    assert hooked.state.live is Live.LIVE
    assert hooked.emulator.api.pusher.url == f"{port.url}/webhooks/tg"


async def test_what_is_not_stored_comes_again(emulator: TelegramEmulator, port: Port) -> None:
    running = webhook(emulator, port, Shelf())
    running.shelf.refuse = 2
    await running.start()
    emulator.people.says("keep me", user=7)
    await running.shelf.until(1)
    await eventually(lambda: emulator.queue.pending == 0)
    assert running.shelf.texts == ["keep me"]
    assert port.answers == [500, 500, 200]
    await running.stop()


async def test_what_was_written_while_we_were_away_arrives_later(
    emulator: TelegramEmulator, port: Port
) -> None:
    emulator.people.says("before", user=7)
    running = webhook(emulator, port, Shelf())
    await running.start()
    await running.shelf.until(1)
    await running.stop()
    assert running.state.live is Live.STOPPED
    emulator.people.says("meanwhile", user=7)
    await eventually(lambda: 404 in port.answers or 503 in port.answers)
    again = webhook(emulator, port, running.shelf)
    await again.start()
    await running.shelf.until(2)
    await again.stop()
    assert running.shelf.texts == ["before", "meanwhile"]


@pytest.mark.parametrize("secret", [None, "", "wrong", SECRET + "x", "ß"])
async def test_a_forged_request_is_refused_and_counted(hooked: Running, secret: str | None) -> None:
    body = b'{"update_id": 1, "message": {}}'
    answer = await hooked.adapter.webhook(request(body, secret))
    assert answer.status == 403
    assert hooked.adapter.counts.forged == 1
    assert hooked.shelf.messages == []


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"", 400), (b"{", 400), (b"\xff", 400), (b"[]", 200), (b"null", 200), (b'{"update_id": "x"}', 200)],
)
async def test_a_malformed_body_is_counted_and_harms_nothing(
    hooked: Running, body: bytes, status: int
) -> None:
    answer = await hooked.adapter.webhook(request(body))
    assert answer.status == status
    assert hooked.adapter.counts.malformed == 1
    hooked.emulator.people.says("still there", user=7)
    await hooked.shelf.until(1)


async def test_requests_at_the_same_time_are_stored_one_after_the_other(hooked: Running) -> None:
    bodies = [
        f'{{"update_id": {number}, "message": {{"message_id": {number}, "date": {int(time.time())},'
        f' "chat": {{"id": 7, "type": "private"}}, "from": {{"id": 7, "is_bot": false, "first_name": "A"}},'
        f' "text": "n{number}"}}}}'.encode()
        for number in range(1, 21)
    ]
    answers = await asyncio.gather(*(hooked.adapter.webhook(request(body)) for body in bodies))
    assert {answer.status for answer in answers} == {200}
    assert hooked.shelf.texts == [f"n{number}" for number in range(1, 21)]


async def test_a_webhook_that_somebody_else_took_is_told(hooked: Running) -> None:
    async with aiohttp.ClientSession() as session:
        url = f"{hooked.emulator.url}/bot{hooked.emulator.token}/setWebhook"
        async with session.post(url, data={"url": "http://127.0.0.1:9/else"}) as response:
            assert response.status == 200
    await eventually(lambda: hooked.state.live is Live.DEAF)
    assert "another program" in hooked.state.reason


async def test_deliveries_that_fail_are_told(emulator: TelegramEmulator, port: Port) -> None:
    entry = account(emulator, mode="webhook", webhook_url="http://127.0.0.1:9", webhook_secret=SECRET)
    running = Running(TelegramAdapter("tg", entry), emulator, Shelf(), QuickClock())
    await running.start()
    emulator.people.says("anybody?", user=7)
    await eventually(lambda: running.state.live is Live.DEAF)
    assert "cannot deliver" in running.state.reason
    assert SECRET not in running.state.reason
    await running.stop()


async def test_polling_takes_the_webhook_away(hooked: Running, emulator: TelegramEmulator) -> None:
    await hooked.stop()
    polling = Running(TelegramAdapter("tg", account(emulator)), emulator, Shelf(), QuickClock())
    await polling.start()
    assert emulator.api.pusher.url == ""
    assert (await polling.adapter.webhook(request(b"{}"))).status == 404
    await polling.stop()


async def test_a_telegram_that_answers_no_more_loses_the_account(hooked: Running) -> None:
    hooked.emulator.fault("error", method="getWebhookInfo", times=10, status=500)
    await eventually(lambda: hooked.ended)
    assert hooked.state.live is Live.FAILED
    assert "does not respond" in hooked.state.reason
