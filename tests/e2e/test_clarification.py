"""The agent asks and the run waits; a click on a native button, or the next message, lets it go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

from agent.testing.graphs import interrupting
from bot.domain import Live
from bot.service import Service
from bot.testing.emulators.discord import DiscordEmulator
from bot.testing.emulators.feishu import FeishuEmulator
from bot.testing.emulators.slack import SlackEmulator
from bot.testing.emulators.telegram import TelegramEmulator
from tests.harness.inprocess import running
from tests.harness.judge import until
from tests.runtime.serving import Served, serve

pytestmark = pytest.mark.may_block

QUESTION = "Which one do you mean: the car?"
COLOURS = ["red", "blue"]


class Driver(Protocol):
    """A person in their private chat with the bot, on one platform."""

    entry: str
    """The account in the configuration."""

    def writes(self, text: str) -> None: ...

    def presses(self, label: str) -> None:
        """Press a button of the first question, as it stood when it was asked."""
        ...

    def texts(self) -> list[str]: ...

    def buttons(self) -> list[str]:
        """What can be pressed below the first question now."""
        ...


class OnTelegram:
    def __init__(self, emulator: TelegramEmulator) -> None:
        self._emulator = emulator
        self.entry = f'telegram: {{bot_token: "{emulator.token}", base_url: "{emulator.url}"}}'

    def writes(self, text: str) -> None:
        self._emulator.people.says(text, user=1001)

    def presses(self, label: str) -> None:
        number = COLOURS.index(label)
        self._emulator.people.presses(1001, self._shown()[0]["message_id"], f"choice:{number}")

    def texts(self) -> list[str]:
        return [seen["text"] for seen in self._shown()]

    def buttons(self) -> list[str]:
        rows = (self._shown()[0]["markup"] or {}).get("inline_keyboard", [])
        return [button["text"] for row in rows for button in row if button["text"] in COLOURS]

    def _shown(self) -> list[dict[str, Any]]:
        if 1001 not in self._emulator.world.chats:
            return []
        return [one for one in self._emulator.view(1001)["messages"] if one["from_bot"]]


class OnSlack:
    def __init__(self, emulator: SlackEmulator) -> None:
        self._emulator = emulator
        self.entry = (
            f'slack: {{bot_token: "{emulator.bot_token}", app_token: "{emulator.app_token}",'
            f' base_url: "{emulator.url}"}}'
        )

    def writes(self, text: str) -> None:
        self._emulator.people.says(text)

    def presses(self, label: str) -> None:
        place = self._emulator.world.known("U0000001").id
        self._emulator.people.clicks(place, self._shown()[0]["ts"], label, action_id="roebot:choice:0")

    def texts(self) -> list[str]:
        return [seen["text"] for seen in self._shown() if not seen["streaming"]]

    def buttons(self) -> list[str]:
        actions = [block for block in self._shown()[0]["blocks"] if block["type"] == "actions"]
        return [element["text"]["text"] for block in actions for element in block["elements"]]

    def _shown(self) -> list[dict[str, Any]]:
        return [one for one in self._emulator.view("U0000001")["messages"] if one["from_bot"]]


class OnFeishu:
    def __init__(self, emulator: FeishuEmulator) -> None:
        self._emulator = emulator
        self._values: dict[str, Any] = {}
        self.entry = (
            f'feishu: {{app_id: "{emulator.app_id}", app_secret: "{emulator.app_secret}",'
            f' base_url: "{emulator.url}"}}'
        )

    def writes(self, text: str) -> None:
        self._emulator.people.says(text)

    def presses(self, label: str) -> None:
        self.buttons()
        self._emulator.people.clicks(self._shown()[0]["message_id"], self._values[label])

    def texts(self) -> list[str]:
        return [seen["text"] for seen in self._shown() if not seen["streaming"]]

    def buttons(self) -> list[str]:
        found = {
            button["text"]["content"]: button["behaviors"][0]["value"]
            for button in self._shown()[0]["buttons"]
        }
        self._values |= found
        return list(found)

    def _shown(self) -> list[dict[str, Any]]:
        chat = self._emulator.people.private_chat()
        return [one for one in self._emulator.view(chat)["messages"] if one["from_bot"]]


class OnDiscord:
    def __init__(self, emulator: DiscordEmulator) -> None:
        self._emulator = emulator
        self.entry = f'discord: {{bot_token: "{emulator.token}", base_url: "{emulator.url}"}}'

    def writes(self, text: str) -> None:
        self._emulator.people.says(text)

    def presses(self, label: str) -> None:
        self._emulator.people.presses(self._chat(), self._shown()[0]["message_id"], label)

    def texts(self) -> list[str]:
        return [seen["text"] for seen in self._shown()]

    def buttons(self) -> list[str]:
        return [label for label in self._shown()[0]["buttons"] if label in COLOURS]

    def _chat(self) -> int:
        return self._emulator.people.dm()

    def _shown(self) -> list[dict[str, Any]]:
        return [one for one in self._emulator.view(self._chat())["messages"] if one["from_bot"]]


PLATFORMS: dict[str, tuple[Callable[[], AbstractAsyncContextManager[Any]], Callable[[Any], Driver]]] = {
    "telegram": (TelegramEmulator.serve, OnTelegram),
    "slack": (SlackEmulator.serve, OnSlack),
    "feishu": (FeishuEmulator.serve, OnFeishu),
    "discord": (DiscordEmulator.serve, OnDiscord),
}


@pytest.fixture(params=list(PLATFORMS))
async def driver(request: pytest.FixtureRequest) -> AsyncIterator[Driver]:
    served, made = PLATFORMS[request.param]
    async with served() as emulator:
        yield made(emulator)


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Served]:
    async with serve(tmp_path / "agent", sources={"asking": lambda: interrupting}) as served:
        yield served


@asynccontextmanager
async def at_work(tmp_path: Path, driver: Driver, agent: Served) -> AsyncIterator[Service]:
    text = f"""
config_version: 1
runtime: {{url: "{agent.url}", assistant_id: asking}}
server: {{port: 0}}
channels:
  {driver.entry}
access: {{default: allow}}
"""
    async with running(tmp_path, text) as service:

        def states() -> list[Live]:
            return [state.live for _, state in service.accounts.states().values()]

        await until(lambda: set(states()) == {Live.LIVE}, 20.0, lambda: f"{service.accounts.states()}")
        yield service


async def shown(driver: Driver, *texts: str) -> None:
    """Wait until exactly these messages of the bot stand, then see that nothing follows."""
    await until(lambda: driver.texts() == list(texts), 20.0, lambda: f"{driver.texts()}")
    await asyncio.sleep(1.0)
    assert driver.texts() == list(texts)


async def test_a_click_is_the_answer_and_the_run_goes_on(
    tmp_path: Path, driver: Driver, agent: Served
) -> None:
    async with at_work(tmp_path, driver, agent) as service:
        driver.writes("the car")
        await shown(driver, QUESTION)
        assert driver.buttons() == COLOURS
        driver.presses("blue")
        await until(lambda: len(driver.texts()) == 2, 20.0, lambda: f"{driver.texts()}")
        await asyncio.sleep(1.0)
        assert driver.texts()[1:] == ["You chose blue."]
        assert driver.texts()[0].startswith(QUESTION)
        assert driver.buttons() == []
        [view] = await service.store.conversations(driver.entry.partition(":")[0])
        state = await agent.client.threads.get_state(view.thread_id)
        assert state["next"] == []
        humans = [message for message in state["values"]["messages"] if message["type"] == "human"]
        assert len(humans) == 1


async def test_the_next_message_is_the_answer_too(tmp_path: Path, driver: Driver, agent: Served) -> None:
    async with at_work(tmp_path, driver, agent):
        driver.writes("the car")
        await shown(driver, QUESTION)
        driver.writes("the green one")
        await shown(driver, QUESTION, "You chose the green one.")


async def test_a_click_after_a_restart_of_the_service(tmp_path: Path, driver: Driver, agent: Served) -> None:
    async with at_work(tmp_path, driver, agent):
        driver.writes("the car")
        await shown(driver, QUESTION)
    async with at_work(tmp_path, driver, agent):
        driver.presses("red")
        await until(lambda: len(driver.texts()) == 2, 20.0, lambda: f"{driver.texts()}")
        assert driver.texts()[1] == "You chose red."


async def test_a_second_click_does_nothing_and_says_so(tmp_path: Path, driver: Driver, agent: Served) -> None:
    async with at_work(tmp_path, driver, agent) as service:
        driver.writes("the car")
        await shown(driver, QUESTION)
        driver.presses("red")
        driver.presses("blue")
        await until(lambda: len(driver.texts()) == 3, 20.0, lambda: f"{driver.texts()}")
        await asyncio.sleep(1.0)
        told = driver.texts()[1:]
        assert len([text for text in told if "no longer open" in text]) == 1
        assert len([text for text in told if text.startswith("You chose ")]) == 1
        [view] = await service.store.conversations(driver.entry.partition(":")[0])
        assert len(await agent.client.runs.list(view.thread_id)) == 2
