"""A group in which an app posts an alert and a colleague replies to it, the same on every platform."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from roebot_testing.emulators.slack.cards import alert as alert_card
from tests.harness.wires import WIRES, Wire

APP, TITLE, FIELD, REPLY = "Grafana", "Checkout latency is high", "eu-north-1", "same as on Monday"
DASHBOARD = "https://grafana.example.com/d/checkout"
ADA, BEN = "Ada Byron", "Ben Okafor"
FACTS = (APP, TITLE, "Region", FIELD, DASHBOARD, REPLY, BEN)
"""What everybody in the group can read of the alert and of the reply."""


class AlertChat(ABC):
    """A group with the bot, an app, Ben, and Ada, who is an admin."""

    facts: ClassVar[tuple[str, ...]] = FACTS

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.people: Any = wire.emulator.people
        self.group: Any = self.make_group()
        self.about: dict[str, Any] = {}
        """Where one asks about the alert."""

    def make_group(self) -> Any:
        return self.people.make_group("incidents")

    @abstractmethod
    def asks(self, text: str, **where: Any) -> None:
        """Let Ada mention the bot with a text."""

    @abstractmethod
    def posts_alert(self) -> None:
        """Let the app post its alert, and Ben reply to it."""

    def asks_about_alert(self, text: str) -> None:
        """Let Ada mention the bot in a reply to the alert."""
        self.asks(text, **self.about)

    def texts(self) -> list[str]:
        """Return the bot's messages in the group as they stand."""
        return [one.text for one in self.wire.standing(str(self.group))]


class TelegramAlertChat(AlertChat):
    """A supergroup whose app posts rich messages."""

    def make_group(self) -> Any:
        return self.people.make_group("incidents", supergroup=True)

    def asks(self, text: str, **where: Any) -> None:
        said = f"@{self.wire.emulator.world.bot.username} {text}"
        self.people.says(said, user=1001, name=ADA, chat=self.group, **where)

    def posts_alert(self) -> None:
        shown: dict[str, Any] = {"fields": {"Region": FIELD}, "buttons": {"Dashboard": DASHBOARD}}
        alert = self.people.posts(name=APP, title=TITLE, chat=self.group, **shown)
        self.about = {"reply_to": alert.id}
        self.people.says(REPLY, user=1002, name=BEN, chat=self.group, **self.about)


class DiscordAlertChat(AlertChat):
    """A channel of a server, to which a webhook posts embeds."""

    def asks(self, text: str, **where: Any) -> None:
        self.people.says(f"<@{self.wire.emulator.world.bot.id}> {text}", name=ADA, chat=self.group, **where)

    def posts_alert(self) -> None:
        embed = {"title": TITLE, "url": DASHBOARD, "fields": [{"name": "Region", "value": FIELD}]}
        alert = self.people.posts(name=APP, chat=self.group, embeds=[embed], webhook=True)
        self.about = {"reply_to": alert.id}
        self.people.says(REPLY, user=int(self.wire.person(2)), name=BEN, chat=self.group, **self.about)


class SlackAlertChat(AlertChat):
    """A channel to which an app posts attachments, with the reply and the question in a thread."""

    def make_group(self) -> Any:
        return self.people.make_channel("incidents")

    def asks(self, text: str, **where: Any) -> None:
        self.people.says(f"@roebot {text}", name=ADA, channel=self.group, **where)

    def posts_alert(self) -> None:
        card = alert_card(TITLE, DASHBOARD, fields={"Region": FIELD})
        self.about = {"thread": self.people.app_posts(name=APP, channel=self.group, attachments=[card]).ts}
        self.people.says(REPLY, user=self.wire.person(2), name=BEN, channel=self.group, **self.about)


class FeishuAlertChat(AlertChat):
    """A group to which an app posts a card; Ben replies to it, and the question to his reply."""

    facts = (*FACTS, "three of four probes", "Runbook", "https://wiki.example.com/chk-3", ADA)
    in_thread = False
    card: ClassVar[dict[str, Any]] = {
        "schema": "2.0",
        "header": {
            "title": {"tag": "plain_text", "content": TITLE},
            "subtitle": {"tag": "plain_text", "content": "since 09:12, reported by three of four probes"},
        },
        "body": {
            "elements": [
                {"tag": "div", "fields": [{"text": {"tag": "lark_md", "content": f"**Region**\n{FIELD}"}}]},
                {"tag": "markdown", "content": f"[Dashboard]({DASHBOARD})"},
                {
                    "tag": "button",
                    "text": {"tag": "plain_text", "content": "Runbook"},
                    "behaviors": [{"type": "open_url", "default_url": "https://wiki.example.com/chk-3"}],
                },
            ]
        },
    }

    def asks(self, text: str, **where: Any) -> None:
        said = f"@{self.wire.emulator.world.bot.name} {text}"
        self.people.says(said, user=self.wire.person(1), name=ADA, chat=self.group, **where)

    def posts_alert(self) -> None:
        alert = self.people.app_says(app=APP, chat=self.group, card=self.card)
        where: dict[str, Any] = {"reply_to": alert.id, "in_thread": self.in_thread}
        reply = self.people.says(REPLY, user=self.wire.person(2), name=BEN, chat=self.group, **where)
        self.about = where if self.in_thread else {"reply_to": reply.id}


class FeishuTopicAlertChat(FeishuAlertChat):
    """The same in a topic below the card."""

    in_thread = True


CHATS: dict[str, tuple[str, type[AlertChat]]] = {
    "telegram": ("telegram", TelegramAlertChat),
    "slack": ("slack", SlackAlertChat),
    "discord": ("discord", DiscordAlertChat),
    "feishu": ("feishu", FeishuAlertChat),
    "feishu-topic": ("feishu", FeishuTopicAlertChat),
}


@asynccontextmanager
async def alert_chat_on(name: str) -> AsyncIterator[AlertChat]:
    """Serve an emulator, and yield a group on it."""
    platform, kind = CHATS[name]
    async with WIRES[platform].serve() as wire:
        yield kind(wire)
