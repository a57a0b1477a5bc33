"""A service that receives events, and what people see in Telegram's emulator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from bot.features.events.sources.base import EventRequest
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.platforms.web.serving import World

TOKEN, SECRET, OLD = "t0ken-of-alerts", "s3cret-of-ci", "0ld-s3cret"
Messages = list[dict[str, Any]]


def config(emulator: TelegramEmulator, *routes: str, access: str = "{default: allow}") -> str:
    """A configuration with three sources and these routes."""
    return f"""
channels:
  telegram: {{bot_token: '{emulator.token}', base_url: '{emulator.url}'}}
access: {access}
events:
  sources:
    alerts: {{type: alertmanager, secrets: {TOKEN}}}
    ci: {{type: github, secrets: [{OLD}, {SECRET}]}}
    checks: {{type: cloudevents, secrets: {TOKEN}, mapping: {{title: data.title, status: data.state}}}}
  routes: [{", ".join(routes)}]
"""


def to_chat(chat: int, more: str = "") -> str:
    """A route to a chat."""
    return f"{{account: telegram, chat: '{chat}'{more}}}"


async def send(service: World, request: EventRequest, source: str = "alerts", token: str = TOKEN) -> int:
    """Send a request as a source does; the status of the answer."""
    headers = {**request.headers, "authorization": f"Bearer {token}"}
    return (await service.http.post(f"/events/{source}", content=request.body, headers=headers)).status_code


async def seen(
    emulator: TelegramEmulator, chat: int, condition: Callable[[Messages], Any] = bool
) -> Messages:
    """The messages of a chat once they meet the condition."""
    async with asyncio.timeout(20):
        while not condition(found := emulator.view(chat)["messages"]):
            await asyncio.sleep(0.02)
    return list(found)


def buttons(message: dict[str, Any]) -> dict[str, str]:
    """The data of the buttons below a message, by their labels."""
    rows = (message.get("markup") or {}).get("inline_keyboard", [])
    return {button["text"]: button["callback_data"] for row in rows for button in row}
