"""Requests of platforms through the service's port, answered by the account that they are for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.config.server_limits import KILOBYTE, ServerLimits
from bot.platforms.telegram.webhook import SECRET_HEADER
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.platforms.web.serving import World, world

SECRET = "s3cret"


@pytest.fixture
async def emulator() -> AsyncIterator[TelegramEmulator]:
    async with TelegramEmulator.serve(limits=False) as running:
        yield running


def channels(emulator: TelegramEmulator, **more: str) -> str:
    entry = {"bot_token": f"'{emulator.token}'", "base_url": f"'{emulator.url}'", "mode": "webhook"}
    entry |= {"webhook_url": "'http://127.0.0.1:9'", "webhook_secret": SECRET} | more
    inner = ", ".join(f"{key}: {value}" for key, value in entry.items())
    return f"channels: {{telegram: {{{inner}}}}}\naccess: {{default: allow}}"


def update(number: int, text: str) -> dict[str, Any]:
    return {
        "update_id": number,
        "message": {
            "message_id": number,
            "date": int(time.time()),
            "chat": {"id": 7, "type": "private", "first_name": "Ann"},
            "from": {"id": 7, "is_bot": False, "first_name": "Ann"},
            "text": text,
        },
    }


async def registered(service: World) -> None:
    while not (await service.http.get("/health/ready")).json()["accounts"]["telegram"]["ok"]:
        await asyncio.sleep(0.02)


async def test_a_message_by_webhook_is_answered(tmp_path: Path, emulator: TelegramEmulator) -> None:
    emulator.people.says("/start", user=7)
    async with world(tmp_path, extra=channels(emulator)) as service:
        await registered(service)
        headers = {SECRET_HEADER: SECRET}
        answer = await service.http.post("/webhooks/telegram", json=update(9001, "hello"), headers=headers)
        assert answer.status_code == 200
        again = await service.http.post("/webhooks/telegram", json=update(9001, "hello"), headers=headers)
        assert again.status_code == 200, "a redelivery is received, and dropped by the store"
        async with asyncio.timeout(20):
            while emulator.counters()["calls"].get("sendMessage", 0) < 1:
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.3)
        texts = [message["text"] for message in emulator.view(7)["messages"]]
        assert texts.count("hello") == 1


async def test_forged_requests_and_other_doors(tmp_path: Path, emulator: TelegramEmulator) -> None:
    async with world(tmp_path, extra=channels(emulator)) as service:
        await registered(service)
        post = service.http.post
        assert (await post("/webhooks/telegram", json=update(1, "x"))).status_code == 403
        wrong = {SECRET_HEADER: "wrong"}
        assert (await post("/webhooks/telegram", json=update(1, "x"), headers=wrong)).status_code == 403
        form = {"content-type": "application/x-www-form-urlencoded"}
        signed = {**form, SECRET_HEADER: SECRET}
        assert (await post("/webhooks/telegram", content=b"payload=1", headers=signed)).status_code == 400
        for other in ("web", "terminal", "nobody"):
            assert (await post(f"/webhooks/{other}", json={})).status_code == 404
        big = b"x" * (ServerLimits().webhook_kb * KILOBYTE + 1)
        assert (await post("/webhooks/telegram", content=big, headers=signed)).status_code == 413
        assert (await post("/api/conversations", content=b"a=1", headers=form)).status_code == 415


async def test_an_account_that_polls_has_no_webhook(tmp_path: Path, emulator: TelegramEmulator) -> None:
    async with world(tmp_path, extra=channels(emulator, mode="polling")) as service:
        await registered(service)
        answer = await service.http.post("/webhooks/telegram", json={}, headers={SECRET_HEADER: SECRET})
        assert answer.status_code == 404


async def test_an_account_that_is_not_connected_asks_for_another_try(
    tmp_path: Path, emulator: TelegramEmulator
) -> None:
    emulator.revoke_token()
    async with world(tmp_path, extra=channels(emulator)) as service:
        answer = await service.http.post("/webhooks/telegram", json={}, headers={SECRET_HEADER: SECRET})
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "5"


@pytest.mark.guard(
    "bot: webhook signatures are limited",
    "bot/server/api/channels.py",
    "await attempts.check(request.scope, CredentialKind.WEBHOOK, delivery.deliver, detail=account)",
    "await delivery.deliver()",
    against="guessing",
)
async def test_wrong_secrets_from_one_address_keep_no_other_out(
    tmp_path: Path, emulator: TelegramEmulator
) -> None:
    async with world(tmp_path, server=", trusted_proxies: [127.0.0.1]", extra=channels(emulator)) as service:
        await registered(service)

        async def send(number: int, secret: str, address: str) -> int:
            headers = {SECRET_HEADER: secret, "x-forwarded-for": address}
            body = update(number, "hello")
            return (await service.http.post("/webhooks/telegram", json=body, headers=headers)).status_code

        guesses = [await send(1, f"guess-{number}", "192.0.2.66") for number in range(22)]
        assert guesses == [403] * 20 + [429] * 2
        assert await send(1, SECRET, "192.0.2.66") == 429
        assert await send(1, SECRET, "192.0.2.7") == 200
        assert (await service.http.post("/webhooks/nobody", json={})).status_code == 404
