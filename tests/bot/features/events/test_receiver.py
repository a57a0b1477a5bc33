"""Requests of event sources through the service's port, up to the card in the chat."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from bot.features.events.sources.base import EventRequest
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.platforms.web.serving import World, world

from .samples import alertmanager, run

TOKEN, SECRET, OLD = "t0ken-of-alerts", "s3cret-of-ci", "0ld-s3cret"


@pytest.fixture
async def emulator() -> AsyncIterator[TelegramEmulator]:
    async with TelegramEmulator.serve(limits=False) as running:
        yield running


def config(emulator: TelegramEmulator, chat: int) -> str:
    return f"""
channels:
  telegram: {{bot_token: '{emulator.token}', base_url: '{emulator.url}'}}
access: {{default: allow}}
events:
  sources:
    alerts: {{type: alertmanager, secrets: {TOKEN}}}
    ci: {{type: github, secrets: [{OLD}, {SECRET}]}}
    dashboards: {{type: grafana, secrets: {SECRET}}}
  routes:
    - {{account: telegram, chat: '{chat}', match: {{service: [db, web]}}}}
    - {{account: telegram, chat: '{chat}', source: ci}}
"""


async def cards(emulator: TelegramEmulator, chat: int, condition: Callable[[list[str]], bool]) -> list[str]:
    async with asyncio.timeout(20):
        while not condition(found := [one.get("text", "") for one in emulator.view(chat)["messages"]]):
            await asyncio.sleep(0.02)
    return found


async def send(service: World, delivery: EventRequest, source: str = "alerts", token: str = TOKEN) -> int:
    headers = {**delivery.headers, "authorization": f"Bearer {token}"}
    return (await service.http.post(f"/events/{source}", content=delivery.body, headers=headers)).status_code


async def test_an_alert_becomes_a_card_that_changes(tmp_path: Path, emulator: TelegramEmulator) -> None:
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=config(emulator, chat)) as service:
        assert await send(service, alertmanager("a firing 10", "b firing 20")) == 202
        (card,) = await cards(emulator, chat, bool)
        assert card == (
            "🔴 Incident 1 is active: service=db\ncritical · 2 active · alerts\n\n"
            "• 🔴 a is wrong\n• 🔴 b is wrong\n\nSource: http://prometheus.example/graph"
        )
        for _ in range(2):
            assert await send(service, alertmanager("a firing 10", "b resolved 20 60")) == 202
            assert await send(service, alertmanager("a resolved 10 90", "b resolved 20 60")) == 202
        (card,) = await cards(emulator, chat, lambda seen: "is resolved" in seen[0])
        assert await send(service, alertmanager("c firing 100")) == 202
        (card,) = await cards(emulator, chat, lambda seen: "is active" in seen[0])


async def test_what_is_no_request_of_a_source_is_refused(tmp_path: Path, emulator: TelegramEmulator) -> None:
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=config(emulator, chat)) as service:
        good = alertmanager("a firing 10")
        assert await send(service, good, "nobody") == 404
        assert await send(service, good, token="wrong") == 401
        odd = good.body.replace(b"firing", b"odd")
        for body in (b"", b"{}", b"[]", b"[" * 100_000, b'{"version": "3"}', odd):
            assert await send(service, EventRequest(good.headers, body)) == 422, body[:20]
        answer = await service.http.post(
            "/events/alerts", content=b"{}", headers={"authorization": f"Bearer {TOKEN}"}
        )
        assert answer.json()["detail"].startswith("version: expected")
        assert await send(service, EventRequest(good.headers, b"x" * 2_100_000)) == 413
        for method in ("GET", "PUT", "DELETE"):
            assert (await service.http.request(method, "/events/alerts")).status_code in (404, 405)


def signed(delivery: EventRequest, secret: str) -> EventRequest:
    digest = hmac.digest(secret.encode(), delivery.body, "sha256").hex()
    return EventRequest({**delivery.headers, "x-hub-signature-256": f"sha256={digest}"}, delivery.body)


async def test_a_signature_covers_the_bytes_that_arrived(tmp_path: Path, emulator: TelegramEmulator) -> None:
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=config(emulator, chat)) as service:
        failed = run("failure", 10, branch="größe")
        again = EventRequest(failed.headers, json.dumps(json.loads(failed.body)).encode())
        assert again.body != failed.body
        other = EventRequest(signed(failed, SECRET).headers, again.body)
        for forged in (failed, signed(failed, "wrong"), other):
            assert await send(service, forged, "ci") == 401
        assert await send(service, signed(failed, OLD), "ci") == 202
        assert "größe" in (await cards(emulator, chat, bool))[0]
        assert await send(service, signed(run("success", 90, branch="größe"), SECRET), "ci") == 202
        assert await send(service, signed(failed, SECRET), "ci") == 202, "a redelivery by hand"
        await cards(emulator, chat, lambda seen: "is resolved" in seen[0])


async def test_events_that_arrive_while_the_service_restarts_are_shown_once(
    tmp_path: Path, emulator: TelegramEmulator
) -> None:
    chat = emulator.people.make_group("ops")
    async with world(tmp_path, extra=config(emulator, chat)) as service:
        assert await send(service, alertmanager("a firing 10")) == 202
    async with world(tmp_path, extra=config(emulator, chat)) as service:
        await cards(emulator, chat, bool)
        assert await send(service, alertmanager("a resolved 10 60")) == 202
    async with world(tmp_path, extra=config(emulator, chat)):
        found = await cards(emulator, chat, lambda seen: "is resolved" in seen[0])
        assert len(found) == 1
