"""Questions that come with content of others, and what an adapter has to read of it, on every platform."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from roebot_testing.emulators.slack.cards import alert
from tests.harness.wires.base import Wire
from tests.harness.wires.discord import DiscordWire
from tests.harness.wires.feishu import FeishuWire
from tests.harness.wires.slack import SlackWire
from tests.harness.wires.telegram import TelegramWire

APP, LINK = "Grafana", "https://grafana.example.com/d/checkout"


class Content(StrEnum):
    """What comes with a question; the message of somebody else holds a fact, which the model must read."""

    TEXT = "text"
    REPLY = "reply"
    """The question is a reply to a colleague."""
    CARD = "card"
    """The question is a reply to the card of an app."""
    FORWARD = "forward"
    """The question is in a message that is forwarded."""
    VOICE = "voice"
    """The question comes with a recording, of which the platform has a transcript."""
    EDIT = "edit"
    """The question mentions the bot only after an edit."""


IN_GROUPS = frozenset({Content.REPLY, Content.CARD, Content.EDIT})
"""Contents that need colleagues."""

Ask = Callable[[Any, str, str, str], str]
"""Asks a text with a fact in a group ("": in private); returns the place."""


def ask_with(wire: Wire, content: Content, text: str, fact: str, group: str = "") -> str:
    """Ask with content that holds a fact, and return the place. Raises KeyError where it is not possible."""
    return _ASKS[wire.platform, content](wire, text, fact, group)


def contents_of(platform: str, *, group: bool) -> tuple[Content, ...]:
    """Return the contents that can be asked with on a platform, in a group or in private."""
    known = [content for name, content in _ASKS if name == platform]
    return tuple(one for one in known if (one in IN_GROUPS) == group)


def _telegram_reply(wire: TelegramWire, text: str, fact: str, group: str) -> str:
    chat, people = int(group), wire.emulator.people
    said = people.says(fact, user=int(wire.person(2)), name="Ben", chat=chat)
    return _telegram_mention(wire, text, chat, said.id)


def _telegram_card(wire: TelegramWire, text: str, fact: str, group: str) -> str:
    chat = int(group)
    shown: dict[str, Any] = {"fields": {"Region": fact}, "buttons": {"Open": LINK}}
    posted = wire.emulator.people.posts(name=APP, title="Latency", chat=chat, **shown)
    return _telegram_mention(wire, text, chat, posted.id)


def _telegram_mention(wire: TelegramWire, text: str, chat: int, reply_to: int) -> str:
    said = f"@{wire.emulator.world.bot.username} {text}"
    wire.emulator.people.says(said, user=int(wire.person(1)), chat=chat, reply_to=reply_to)
    return str(chat)


def _telegram_forward(wire: TelegramWire, text: str, fact: str, group: str) -> str:
    wire.emulator.people.forwards(f"{fact} {text}", user=int(wire.person(1)))
    return wire.person(1)


def _telegram_edit(wire: TelegramWire, text: str, fact: str, group: str) -> str:
    chat, people = int(group), wire.emulator.people
    said = people.says(f"{fact} {text}", user=int(wire.person(1)), chat=chat)
    people.edits(chat, said.id, f"@{wire.emulator.world.bot.username} {fact} {text}")
    return group


def _slack_reply(wire: SlackWire, text: str, fact: str, group: str) -> str:
    people = wire.emulator.people
    root = people.says(fact, user=wire.person(2), channel=group)
    people.says(f"@roebot {text}", user=wire.person(1), channel=group, thread=root.ts)
    return group


def _slack_card(wire: SlackWire, text: str, fact: str, group: str) -> str:
    people = wire.emulator.people
    card = alert("Latency", LINK, fields={"Region": fact})
    root = people.app_posts(channel=group, name=APP, attachments=[card])
    people.says(f"@roebot {text}", user=wire.person(1), channel=group, thread=root.ts)
    return group


def _slack_forward(wire: SlackWire, text: str, fact: str, group: str) -> str:
    return wire.emulator.people.shares(fact, text, user=wire.person(1)).channel


def _slack_voice(wire: SlackWire, text: str, fact: str, group: str) -> str:
    return wire.emulator.people.speaks(fact, text=text, user=wire.person(1)).channel


def _slack_edit(wire: SlackWire, text: str, fact: str, group: str) -> str:
    people = wire.emulator.people
    said = people.says(f"{fact} {text}", user=wire.person(1), channel=group)
    people.edits(group, said.ts, f"@roebot {fact} {text}")
    return group


def _feishu_reply(wire: FeishuWire, text: str, fact: str, group: str) -> str:
    people = wire.emulator.people
    said = people.says(fact, user=wire.person(2), name="Ben", chat=group)
    people.says(f"@Roebot {text}", user=wire.person(1), chat=group, reply_to=said.id)
    return group


def _feishu_card(wire: FeishuWire, text: str, fact: str, group: str) -> str:
    people = wire.emulator.people
    shown = {"tag": "markdown", "content": f"Region: {fact} [Dashboard]({LINK})"}
    title = {"tag": "plain_text", "content": "Latency"}
    card = {"schema": "2.0", "header": {"title": title}, "body": {"elements": [shown]}}
    posted = people.app_says(app=APP, chat=group, card=card)
    people.says(f"@Roebot {text}", user=wire.person(1), chat=group, reply_to=posted.id)
    return group


def _feishu_forward(wire: FeishuWire, text: str, fact: str, group: str) -> str:
    return wire.emulator.people.forwards([fact, text], user=wire.person(1)).chat.id


def _discord_reply(wire: DiscordWire, text: str, fact: str, group: str) -> str:
    people = wire.emulator.people
    said = people.says(fact, user=int(wire.person(2)), name="Ben", chat=int(group))
    return _discord_mention(wire, text, group, said.id)


def _discord_card(wire: DiscordWire, text: str, fact: str, group: str) -> str:
    embed = {"title": "Latency", "url": LINK, "fields": [{"name": "Region", "value": fact}]}
    posted = wire.emulator.people.posts(name=APP, chat=int(group), embeds=[embed], webhook=True)
    return _discord_mention(wire, text, group, posted.id)


def _discord_mention(wire: DiscordWire, text: str, group: str, reply_to: int) -> str:
    said, user = f"<@{wire.emulator.world.bot.id}> {text}", int(wire.person(1))
    wire.emulator.people.says(said, user=user, chat=int(group), reply_to=reply_to)
    return group


def _discord_edit(wire: DiscordWire, text: str, fact: str, group: str) -> str:
    chat, people = int(group), wire.emulator.people
    said = people.says(f"{fact} {text}", user=int(wire.person(1)), chat=chat)
    people.edits(chat, said.id, f"<@{wire.emulator.world.bot.id}> {fact} {text}")
    return group


_ASKS: Mapping[tuple[str, Content], Ask] = {
    ("telegram", Content.FORWARD): _telegram_forward,
    ("telegram", Content.REPLY): _telegram_reply,
    ("telegram", Content.CARD): _telegram_card,
    ("telegram", Content.EDIT): _telegram_edit,
    ("slack", Content.FORWARD): _slack_forward,
    ("slack", Content.VOICE): _slack_voice,
    ("slack", Content.REPLY): _slack_reply,
    ("slack", Content.CARD): _slack_card,
    ("slack", Content.EDIT): _slack_edit,
    ("feishu", Content.FORWARD): _feishu_forward,
    ("feishu", Content.REPLY): _feishu_reply,
    ("feishu", Content.CARD): _feishu_card,
    ("discord", Content.REPLY): _discord_reply,
    ("discord", Content.CARD): _discord_card,
    ("discord", Content.EDIT): _discord_edit,
}
