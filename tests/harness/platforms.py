"""Accounts on emulated platforms, the service's port as an adapter sees it, and the loops of the tests."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvloop
from starlette.requests import Request

from bot.config.platforms import built_in_platforms
from bot.errors import StoreError
from bot.platforms.base import ReceivesWebhooks, WebhookAnswer, WebhookRequest
from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.http import answer_bytes
from roebot_testing.emulators.server import LOOPBACK, LoopbackServer, Receive, Scope, Send
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.profile import thorough


def both_loops() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The loops that a test runs on: the service's, and with the long suites Python's own too, which has
    differed before.
    """
    plain = {"asyncio": asyncio.new_event_loop} if thorough() else {}
    return {**plain, "uvloop": uvloop.new_event_loop}


def telegram_account(emulator: TelegramEmulator, **changes: Any) -> Any:
    """The configuration entry of the emulated bot."""
    given = {"name": "tg", "platform": "telegram", "bot_token": emulator.token, "base_url": emulator.url}
    return built_in_platforms()["telegram"].model_validate({**given, **changes})


def slack_account(emulator: SlackEmulator, **changes: Any) -> Any:
    """The configuration entry of the emulated app."""
    tokens = {"bot_token": emulator.bot_token, "app_token": emulator.app_token}
    given = {"name": "sl", "platform": "slack", "base_url": emulator.url, **tokens}
    return built_in_platforms()["slack"].model_validate({**given, **changes})


def feishu_account(emulator: FeishuEmulator, **changes: Any) -> Any:
    """The configuration entry of the emulated app."""
    app = {"app_id": emulator.app_id, "app_secret": emulator.app_secret}
    given = {"name": "fs", "platform": "feishu", "base_url": emulator.url, **app}
    return built_in_platforms()["feishu"].model_validate({**given, **changes})


def discord_account(emulator: DiscordEmulator, **changes: Any) -> Any:
    """The configuration entry of the emulated bot."""
    given = {"name": "dc", "platform": "discord", "bot_token": emulator.token, "base_url": emulator.url}
    return built_in_platforms()["discord"].model_validate({**given, **changes})


class Port:
    """The service's port: every request goes to `adapter`; the statuses of the answers are kept."""

    def __init__(self) -> None:
        self.adapter: ReceivesWebhooks | None = None
        self.answers: list[int] = []
        self._server = LoopbackServer(self)

    @property
    def url(self) -> str:
        """The public root."""
        return self._server.url

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[Port]:
        """A port that listens while the block runs."""
        port = cls()
        async with port._server.running():
            yield port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI application."""
        headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
        given = await self._answer(WebhookRequest(headers, await Request(scope, receive).body()))
        self.answers.append(given.status)
        await answer_bytes(send, given.status, given.body, given.content_type.encode())

    async def _answer(self, request: WebhookRequest) -> WebhookAnswer:
        if self.adapter is None:
            return WebhookAnswer(503)
        try:
            return await self.adapter.webhook(request)
        except StoreError:
            return WebhookAnswer(500)


def dead_address() -> str:
    """An origin on loopback where nobody listens."""
    with socket.create_server((LOOPBACK, 0)) as bound:
        port = bound.getsockname()[1]
    return f"http://{LOOPBACK}:{port}"
