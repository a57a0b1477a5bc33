"""How the clients of each platform send what somebody types, in private chats, groups and threads.

A client may take a line for something else than a message: Slack and Discord have their own slash commands.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bot.app.features import installed_commands
from bot.domain import ChatKind, ReplyAddress
from bot.platforms.base import RegistersCommands
from bot.platforms.discord.manifest import MANIFEST as DISCORD
from bot.platforms.feishu.manifest import MANIFEST as FEISHU
from bot.platforms.local.manifest import TERMINAL, WEB
from bot.platforms.manifest import Manifest
from bot.platforms.slack.app_manifest import COMMAND
from bot.platforms.slack.manifest import MANIFEST as SLACK
from bot.platforms.telegram.manifest import MANIFEST as TELEGRAM
from bot.texts import TypedCommands, texts_for
from roebot_testing.conformance.bench import Stage
from tests.conformance.drivers.local import page, terminal
from tests.platforms.discord.driver import discord_by_gateway
from tests.platforms.feishu.driver import feishu_by_socket
from tests.platforms.slack.driver import slack_by_socket
from tests.platforms.telegram.driver import telegram_by_polling


@dataclass(frozen=True, slots=True)
class Keyboard:
    """A chat in which somebody types; `topic` is not empty in a thread.

    `type` sends a line as the client does, `say` as a message whatever it begins with. Both may return an
    awaitable.
    """

    kind: ChatKind
    topic: str
    type: Callable[[str], Any]
    say: Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Desk:
    """The clients of one platform, and the adapter that hears what is typed."""

    manifest: Manifest
    stage: Stage
    keyboards: Sequence[Keyboard]

    def typed_commands(self) -> TypedCommands:
        """How commands are typed, as the service knows it."""
        return TypedCommands(self.manifest.commands, self.stage.running.state.identity)


@asynccontextmanager
async def slack() -> AsyncIterator[Desk]:
    async with slack_by_socket() as driver, _running(driver) as stage:
        people = driver.emulator.people
        team = people.make_channel("desk")
        thread = await stage.says("hello", ReplyAddress("sl", team, ChatKind.GROUP))
        own = people.says("hi").ts

        def say(text: str, channel: str = "", topic: str = "") -> None:
            people.says(text, channel=channel, thread=topic)

        def send(text: str, channel: str = "", topic: str = "") -> None:
            name, _, words = text.partition(" ")
            if not text.startswith("/"):
                say(text, channel, topic)
            elif name == COMMAND and not topic:
                people.commands(words, channel=channel)
            else:
                raise AssertionError(f"Slack keeps {text!r} to itself")

        def keyboard(kind: ChatKind, channel: str = "", topic: str = "") -> Keyboard:
            place = {"channel": channel, "topic": topic}
            return Keyboard(kind, topic, partial(send, **place), partial(say, **place))

        await stage.inbox.until(1)
        yield Desk(
            SLACK,
            stage,
            (
                keyboard(ChatKind.PRIVATE),
                keyboard(ChatKind.PRIVATE, topic=own),
                keyboard(ChatKind.GROUP, team),
                keyboard(ChatKind.GROUP, team, thread),
            ),
        )


@asynccontextmanager
async def telegram() -> AsyncIterator[Desk]:
    async with telegram_by_polling() as driver, _running(driver) as stage:
        people = driver.emulator.people
        group = people.make_group("Desk")
        forum = people.make_group("Forum", supergroup=True, forum=True)
        topic = people.make_topic(forum, "Topic")
        await stage.inbox.until(1)
        yield Desk(
            TELEGRAM,
            stage,
            (
                _writing(ChatKind.PRIVATE, people.says),
                _writing(ChatKind.GROUP, partial(people.says, chat=group)),
                _writing(ChatKind.GROUP, partial(people.says, chat=forum, topic=topic), "1"),
            ),
        )


@asynccontextmanager
async def discord() -> AsyncIterator[Desk]:
    async with discord_by_gateway() as driver, _running(driver) as stage:
        people, world = driver.emulator.people, driver.emulator.world
        group = people.make_group("desk")
        thread = people.make_thread(group)

        def say(text: str, chat: int = 0) -> None:
            people.says(text.replace(f"@{world.bot.wire()['username']}", f"<@{world.bot.id}>"), chat=chat)

        def send(text: str, chat: int = 0) -> None:
            name, _, words = text.removeprefix("/").partition(" ")
            if text.startswith("/") and name in driver.menu():
                people.uses(name, words, chat=chat)
            else:
                say(text, chat)

        yield Desk(
            DISCORD,
            stage,
            (
                Keyboard(ChatKind.PRIVATE, "", send, say),
                Keyboard(ChatKind.GROUP, "", partial(send, chat=group), partial(say, chat=group)),
                Keyboard(ChatKind.GROUP, "1", partial(send, chat=thread), partial(say, chat=thread)),
            ),
        )


@asynccontextmanager
async def feishu() -> AsyncIterator[Desk]:
    async with feishu_by_socket() as driver, _running(driver) as stage:
        people = driver.emulator.people
        people.group_messages = False
        group = people.make_group("Desk")
        yield Desk(
            FEISHU,
            stage,
            (
                _writing(ChatKind.PRIVATE, people.says),
                _writing(ChatKind.GROUP, partial(people.says, chat=group)),
            ),
        )


@asynccontextmanager
async def web(home: Path) -> AsyncIterator[Desk]:
    async with page(home) as driver, _running(driver) as stage:
        yield Desk(WEB, stage, (_writing(ChatKind.PRIVATE, driver.writes),))


@asynccontextmanager
async def console(home: Path) -> AsyncIterator[Desk]:
    async with terminal(home) as driver, _running(driver) as stage:
        yield Desk(TERMINAL, stage, (_writing(ChatKind.PRIVATE, driver.writes),))


def _writing(kind: ChatKind, say: Callable[[str], Any], topic: str = "") -> Keyboard:
    """Return the keyboard of a client that sends every line as a message."""
    return Keyboard(kind, topic, say, say)


@asynccontextmanager
async def _running(driver: Any) -> AsyncIterator[Stage]:
    stage = Stage(driver)
    await stage.begin()
    if isinstance(stage.adapter, RegistersCommands):
        await stage.adapter.register_commands(installed_commands().hints(texts_for("en")))
    try:
        yield stage
    finally:
        await stage.stop()
