"""A card and the news below it on the other platforms: Slack, Feishu and Discord."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.features.events import incident_store
from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.slack import SlackEmulator
from tests.platforms.web.serving import World, world

from .receiving import TOKEN, send
from .samples import alertmanager


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incident_store, "LASTS", 0.1)


def config(platform: str, account: dict[str, str], chat: object) -> str:
    return f"""
channels: {{{platform}: {json.dumps(account)}}}
access: {{default: allow}}
events:
  sources: {{alerts: {{type: alertmanager, secrets: {TOKEN}}}}}
  routes: [{{account: {platform}, chat: '{chat}'}}]
"""


async def end_incident(service: World, view: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Open an incident and end it; the messages of the chat then: the card, and the news below it."""

    async def seen(condition: Callable[[list[dict[str, Any]]], Any]) -> list[dict[str, Any]]:
        async with asyncio.timeout(30):
            while not condition(found := view()):
                await asyncio.sleep(0.02)
        return found

    assert await send(service, alertmanager("a firing 10")) == 202
    await seen(lambda found: found and "is active" in str(found[0]))
    assert await send(service, alertmanager("a resolved 10 60")) == 202
    found = await seen(lambda found: len(found) == 2 and "is resolved" in str(found[0]))
    assert "is resolved" in str(found[1])
    return found


async def test_on_slack_the_news_is_in_the_thread_of_the_card(tmp_path: Path) -> None:
    async with SlackEmulator.serve(limits=False) as slack:
        chat = slack.people.make_channel("ops")
        account = {"bot_token": slack.bot_token, "app_token": slack.app_token, "base_url": slack.url}
        async with world(tmp_path, extra=config("slack", account, chat)) as service:
            card, news = await end_incident(service, lambda: slack.view(chat)["messages"])
            assert news["thread_ts"] == card["ts"]


async def test_on_feishu_the_news_replies_to_the_card(tmp_path: Path) -> None:
    async with FeishuEmulator.serve() as feishu:
        chat = feishu.people.make_group("ops")
        account = {"app_id": feishu.app_id, "app_secret": feishu.app_secret, "base_url": feishu.url}
        async with world(tmp_path, extra=config("feishu", account, chat)) as service:
            card, news = await end_incident(service, lambda: feishu.view(chat)["messages"])
            assert news["reply_to"] == card["message_id"]


async def test_on_discord_the_news_replies_to_the_card(tmp_path: Path) -> None:
    async with DiscordEmulator.serve() as discord:
        chat = discord.people.make_group("ops")
        account = {"bot_token": discord.token, "base_url": discord.url}
        async with world(tmp_path, extra=config("discord", account, chat)) as service:
            card, news = await end_incident(service, lambda: discord.view(chat)["messages"])
            assert news["reply_to"] == card["message_id"]
