"""A group in which an app posts an alert and a colleague replies to it, the same on several platforms."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.discord.people import PERSON as DISCORD_PERSON
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.slack.cards import alert as alert_card
from roebot_testing.emulators.slack.people import PERSON as SLACK_PERSON
from roebot_testing.emulators.slack.workspace import BOT_USER as SLACK_BOT
from roebot_testing.emulators.telegram import TelegramEmulator

APP, TITLE, FIELD, REPLY = "Grafana", "Checkout latency is high", "eu-north-1", "same as on Monday"
DASHBOARD = "https://grafana.example.com/d/checkout"
ADA, BEN = "Ada Byron", "Ben Okafor"
FACTS = (APP, TITLE, "Region", FIELD, DASHBOARD, REPLY, BEN)
"""What everybody in the group can read of the alert and of the reply."""


class AlertChat(Protocol):
    """A group with the bot, an app, Ben, and Ada, who is an admin."""

    platform: str
    admin: str
    """Ada's id on the platform."""
    entry: str
    """The account in the configuration, a flow mapping without its braces."""

    def connected(self) -> bool:
        """Return whether the bot receives now."""
        ...

    def asks(self, text: str) -> None:
        """Let Ada mention the bot with a text."""
        ...

    def posts_alert(self) -> None:
        """Let the app post its alert, and Ben reply to it."""
        ...

    def asks_about_alert(self, text: str) -> None:
        """Let Ada mention the bot in a reply to the alert."""
        ...

    def texts(self) -> list[str]:
        """Return the bot's messages in the group as they stand."""
        ...


class TelegramAlertChat:
    """A supergroup whose app posts rich messages."""

    platform, admin = "telegram", "1001"

    def __init__(self, emulator: TelegramEmulator) -> None:
        self._emulator = emulator
        self._group = emulator.people.make_group("incidents", supergroup=True)
        self._alert = 0
        self.entry = f'bot_token: "{emulator.token}", base_url: "{emulator.url}"'

    def connected(self) -> bool:
        return self._emulator.queue.polled

    def asks(self, text: str) -> None:
        self._mention(text)

    def posts_alert(self) -> None:
        people = self._emulator.people
        shown: dict[str, Any] = {"fields": {"Region": FIELD}, "buttons": {"Dashboard": DASHBOARD}}
        self._alert = people.posts(name=APP, title=TITLE, chat=self._group, **shown).id
        people.says(REPLY, user=1002, name=BEN, chat=self._group, reply_to=self._alert)

    def asks_about_alert(self, text: str) -> None:
        self._mention(text, reply_to=self._alert)

    def texts(self) -> list[str]:
        return [one["text"] for one in self._emulator.view(self._group)["messages"] if one["from_bot"]]

    def _mention(self, text: str, reply_to: int = 0) -> None:
        said = f"@{self._emulator.world.bot.username} {text}"
        self._emulator.people.says(said, user=1001, name=ADA, chat=self._group, reply_to=reply_to)


class DiscordAlertChat:
    """A channel of a server, to which a webhook posts embeds."""

    platform, admin = "discord", str(DISCORD_PERSON)

    def __init__(self, emulator: DiscordEmulator) -> None:
        self._emulator = emulator
        self._channel = emulator.people.make_group("incidents")
        self._alert = 0
        self.entry = f'bot_token: "{emulator.token}", base_url: "{emulator.url}"'

    def connected(self) -> bool:
        return self._emulator.gateway.session is not None

    def asks(self, text: str) -> None:
        self._mention(text)

    def posts_alert(self) -> None:
        people = self._emulator.people
        embed = {"title": TITLE, "url": DASHBOARD, "fields": [{"name": "Region", "value": FIELD}]}
        self._alert = people.posts(name=APP, chat=self._channel, embeds=[embed], webhook=True).id
        people.says(REPLY, user=DISCORD_PERSON + 1, name=BEN, chat=self._channel, reply_to=self._alert)

    def asks_about_alert(self, text: str) -> None:
        self._mention(text, reply_to=self._alert)

    def texts(self) -> list[str]:
        return [one["text"] for one in self._emulator.view(self._channel)["messages"] if one["from_bot"]]

    def _mention(self, text: str, reply_to: int = 0) -> None:
        said = f"<@{self._emulator.world.bot.id}> {text}"
        self._emulator.people.says(said, name=ADA, chat=self._channel, reply_to=reply_to)


class SlackAlertChat:
    """A channel to which an app posts attachments, with the reply and the question in a thread."""

    platform, admin = "slack", SLACK_PERSON

    def __init__(self, emulator: SlackEmulator) -> None:
        self._emulator = emulator
        self._channel = emulator.people.make_channel("incidents")
        self._alert = ""
        tokens = f'bot_token: "{emulator.bot_token}", app_token: "{emulator.app_token}"'
        self.entry = f'{tokens}, base_url: "{emulator.url}"'

    def connected(self) -> bool:
        return self._emulator.socket.connections > 0

    def asks(self, text: str) -> None:
        self._mention(text)

    def posts_alert(self) -> None:
        people, card = self._emulator.people, alert_card(TITLE, DASHBOARD, fields={"Region": FIELD})
        self._alert = people.app_posts(name=APP, channel=self._channel, attachments=[card]).ts
        people.says(REPLY, user="U0000002", name=BEN, channel=self._channel, thread=self._alert)

    def asks_about_alert(self, text: str) -> None:
        self._mention(text, thread=self._alert)

    def texts(self) -> list[str]:
        found = self._emulator.view(self._channel)["messages"]
        return [one["text"] for one in found if one["user"] == SLACK_BOT]

    def _mention(self, text: str, thread: str = "") -> None:
        said = f"@roebot {text}"
        self._emulator.people.says(said, name=ADA, channel=self._channel, thread=thread)


@asynccontextmanager
async def alert_chat_on(platform: str) -> AsyncIterator[AlertChat]:
    """Serve an emulator of `telegram`, `slack` or `discord`, and yield a group on it."""
    if platform == "telegram":
        async with TelegramEmulator.serve() as telegram:
            yield TelegramAlertChat(telegram)
    elif platform == "slack":
        async with SlackEmulator.serve() as slack:
            yield SlackAlertChat(slack)
    else:
        async with DiscordEmulator.serve() as discord:
            yield DiscordAlertChat(discord)
