"""One chat on each platform, what it looks like, and the limit table that its emulator enforces."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.discord.limits import GLOBAL, PER_CHANNEL
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.feishu.routes import PER_CARD, PER_CHAT, PER_MINUTE, PER_SECOND
from roebot_testing.emulators.limits import CallLimit
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.slack.api import POST_LIMIT
from roebot_testing.emulators.slack.methods import METHODS
from roebot_testing.emulators.telegram import TelegramEmulator
from roebot_testing.emulators.telegram.api import OVERALL, PER_GROUP
from roebot_testing.emulators.telegram.api import PER_CHAT as PER_TELEGRAM_CHAT
from roebot_testing.emulators.transcript import Frame, FrameKind
from tests.harness.wires import DiscordWire, FeishuWire, SlackWire, TelegramWire
from tests.harness.wires.contents import Content, ask_with
from tests.staleness.model import CONFIG, tokens
from tests.staleness.schedule import Call, Kind, Rule, Table

ALL = frozenset({Kind.POST, Kind.EDIT})
POSTS, EDITS = frozenset({Kind.POST}), frozenset({Kind.EDIT})
FACT = "eu-north-1"
"""What the card or the forward says that comes with each question."""


@dataclass(frozen=True)
class Emulators:
    """One of each."""

    telegram: TelegramEmulator
    slack: SlackEmulator
    feishu: FeishuEmulator
    discord: DiscordEmulator


@asynccontextmanager
async def emulators(scale: float = 1.0) -> AsyncIterator[Emulators]:
    """All four, with their true limits (multiplied by `scale`)."""
    async with AsyncExitStack() as stack:
        yield Emulators(
            await stack.enter_async_context(TelegramEmulator.serve(scale=scale)),
            await stack.enter_async_context(SlackEmulator.serve(scale=scale)),
            await stack.enter_async_context(FeishuEmulator.serve(scale=scale)),
            await stack.enter_async_context(DiscordEmulator.serve(scale=scale)),
        )


def config(served: Emulators, scale: float = 1.0) -> str:
    """A service with an account at each, open to everybody."""
    telegram, slack, feishu, discord = served.telegram, served.slack, served.feishu, served.discord
    return f"""
config_version: 1
{CONFIG}
server: {{port: 0}}
channels:
  telegram: {{bot_token: "{telegram.token}", base_url: "{telegram.url}", rate_scale: {scale}}}
  slack:
    bot_token: "{slack.bot_token}"
    app_token: "{slack.app_token}"
    base_url: "{slack.url}"
    rate_scale: {scale}
  feishu:
    app_id: {feishu.app_id}
    app_secret: "{feishu.app_secret}"
    base_url: "{feishu.url}"
    rate_scale: {scale}
  discord: {{bot_token: "{discord.token}", base_url: "{discord.url}", rate_scale: {scale}}}
access: {{default: allow}}
"""


@dataclass(frozen=True)
class Chat:
    """A place where a person asks about an app's card or by a forward. `asks` writes there and returns the
    chat's id.
    """

    name: str
    emulator: Any
    asks: Callable[[str], Any]
    table: Table

    def texts(self, chat: Any) -> list[str]:
        """The bot's messages as they stand."""
        return [one["text"] for one in self.emulator.view(chat)["messages"] if one["from_bot"]]

    def open(self, chat: Any) -> bool:
        """Whether a message still streams."""
        found = self.emulator.view(chat)["messages"]
        return any(one.get("streaming") for one in found if one["from_bot"])

    def calls(self, chat: Any) -> list[Call]:
        """The calls that showed something, each when it took effect."""
        return list(_calls(self.emulator.transcript.of(chat=chat)))


def chats(served: Emulators) -> list[Chat]:
    """All the places that a reply may go to."""
    telegram, slack, feishu, discord = served.telegram, served.slack, served.feishu, served.discord

    def in_telegram_group(text: str) -> int:
        wire = TelegramWire(telegram, 1.0)
        return int(ask_with(wire, Content.CARD, text, FACT, wire.group()))

    def in_telegram(text: str) -> int:
        return int(ask_with(TelegramWire(telegram, 1.0), Content.FORWARD, text, FACT))

    def in_slack(text: str) -> str:
        wire = SlackWire(slack, 1.0)
        return ask_with(wire, Content.CARD, text, FACT, wire.group())

    def in_feishu(text: str) -> str:
        return ask_with(FeishuWire(feishu, 1.0), Content.FORWARD, text, FACT)

    def in_discord(text: str) -> int:
        wire = DiscordWire(discord, 1.0)
        return int(ask_with(wire, Content.CARD, text, FACT, wire.group()))

    one = Table((_rule(PER_TELEGRAM_CHAT), _rule(OVERALL)))
    group = Table((*one.rules, _rule(PER_GROUP)))
    return [
        Chat("telegram", telegram, in_telegram, one),
        Chat("telegram_group", telegram, in_telegram_group, group),
        Chat("slack", slack, in_slack, _SLACK),
        Chat("feishu", feishu, in_feishu, _FEISHU),
        Chat("discord", discord, in_discord, _DISCORD),
    ]


def _rule(limit: CallLimit, kinds: frozenset[Kind] = ALL) -> Rule:
    return Rule(limit.count, limit.period, kinds)


_SLACK = Table(
    (
        _rule(POST_LIMIT, POSTS),
        Rule(METHODS["chat.startStream"].per_minute, 60.0, POSTS),
        Rule(METHODS["chat.appendStream"].per_minute, 60.0, EDITS),
    ),
    ends=True,
)
_FEISHU = Table(
    (
        _rule(PER_CHAT, POSTS),
        *(_rule(limit, kinds) for limit in (PER_SECOND, PER_MINUTE) for kinds in (POSTS, EDITS)),
        _rule(PER_CARD, EDITS),
    )
)
_DISCORD = Table((Rule(*PER_CHANNEL, POSTS), Rule(*PER_CHANNEL, EDITS), Rule(*GLOBAL)))


def _calls(frames: list[Frame]) -> Iterator[Call]:
    seen: dict[str, list[int]] = {}
    for frame in frames:
        if frame.kind not in (FrameKind.POST, FrameKind.EDIT) or not frame.committed:
            continue
        found = tokens(frame.text)
        if not found:
            continue
        assert found == list(range(found[0], found[-1] + 1)), f"not in order: {frame.text}"
        seen[frame.message_id] = found
        kind = Kind.POST if frame.kind is FrameKind.POST else Kind.EDIT
        yield Call(frame.at, kind, _readable(seen))


def _readable(seen: dict[str, list[int]]) -> int:
    """Up to which token all can be read."""
    last = 0
    for found in sorted(seen.values()):
        if found[0] > last + 1:
            break
        last = max(last, found[-1])
    return last
