"""A person in their private chat with the bot, the same on every platform."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from bot.account_state import Live
from bot.app.service import BotService
from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.service_with_real_runtime import running
from tests.harness.waiters import until

COLOURS = ["red", "blue"]
"""What the graph `interrupting` offers."""


class Driver(Protocol):
    """A person in their private chat with the bot, on one platform."""

    entry: str
    """The account in the configuration."""

    def writes(self, text: str) -> Any:
        """The id of what was written."""
        ...

    def edits(self, message: Any, text: str) -> None: ...

    def deletes(self, message: Any) -> None:
        """Raises NotImplementedError where the platform does not tell bots."""
        ...

    def presses(self, label: str) -> None:
        """Press a button of the first question, as it stood when it was asked."""
        ...

    def texts(self) -> list[str]: ...

    def told(self) -> list[str]:
        """What the platform told them alone of what they pressed."""
        ...

    def versions(self) -> list[str]:
        """Every text that the bot ever showed."""
        ...

    def buttons(self) -> list[str]:
        """What can be pressed below the first question now."""
        ...


class _Watched:
    """What stood in the chat at any time."""

    _emulator: Any

    def versions(self) -> list[str]:
        return [frame.text for frame in self._emulator.transcript.of() if frame.text]


class OnTelegram(_Watched):
    def __init__(self, emulator: TelegramEmulator) -> None:
        self._emulator = emulator
        self.entry = f'telegram: {{bot_token: "{emulator.token}", base_url: "{emulator.url}"}}'

    def writes(self, text: str) -> int:
        return self._emulator.people.says(text, user=1001).id

    def edits(self, message: int, text: str) -> None:
        self._emulator.people.edits(1001, message, text)

    def deletes(self, message: int) -> None:
        raise NotImplementedError

    def presses(self, label: str) -> None:
        number = COLOURS.index(label)
        self._emulator.people.presses(1001, self._shown()[0]["message_id"], f"choice:{number}")

    def told(self) -> list[str]:
        return [*self._emulator.world.answered.values()]

    def texts(self) -> list[str]:
        return [seen["text"] for seen in self._shown()]

    def buttons(self) -> list[str]:
        rows = (self._shown()[0]["markup"] or {}).get("inline_keyboard", [])
        return [button["text"] for row in rows for button in row if button["text"] in COLOURS]

    def _shown(self) -> list[dict[str, Any]]:
        if 1001 not in self._emulator.world.chats:
            return []
        return [one for one in self._emulator.view(1001)["messages"] if one["from_bot"]]


class OnSlack(_Watched):
    def __init__(self, emulator: SlackEmulator) -> None:
        self._emulator = emulator
        self.entry = (
            f'slack: {{bot_token: "{emulator.bot_token}", app_token: "{emulator.app_token}",'
            f' base_url: "{emulator.url}"}}'
        )

    def writes(self, text: str) -> str:
        return self._emulator.people.says(text).ts

    def edits(self, message: str, text: str) -> None:
        self._emulator.people.edits(self._chat(), message, text)

    def deletes(self, message: str) -> None:
        self._emulator.people.deletes(self._chat(), message)

    def presses(self, label: str) -> None:
        self._emulator.people.clicks(self._chat(), self._shown()[0]["ts"], label, action_id="roebot:choice:0")

    def told(self) -> list[str]:
        return [seen["text"] for seen in self._shown() if seen["visible_to"]]

    def texts(self) -> list[str]:
        return [seen["text"] for seen in self._shown() if not seen["streaming"]]

    def versions(self) -> list[str]:
        tasks = [task for seen in self._shown() for task in seen["tasks"] if task["status"] == "complete"]
        return [*super().versions(), *(f"✓ {task['title']}" for task in tasks)]

    def buttons(self) -> list[str]:
        actions = [block for block in self._shown()[0]["blocks"] if block["type"] == "actions"]
        return [element["text"]["text"] for block in actions for element in block["elements"]]

    def _chat(self) -> str:
        return self._emulator.world.known("U0000001").id

    def _shown(self) -> list[dict[str, Any]]:
        return [one for one in self._emulator.view("U0000001")["messages"] if one["from_bot"]]


class OnFeishu(_Watched):
    def __init__(self, emulator: FeishuEmulator) -> None:
        self._emulator = emulator
        self._values: dict[str, Any] = {}
        self._pushes: list[Any] = []
        self._panels: list[str] = []
        self.entry = (
            f'feishu: {{app_id: "{emulator.app_id}", app_secret: "{emulator.app_secret}",'
            f' base_url: "{emulator.url}"}}'
        )

    def writes(self, text: str) -> str:
        return self._emulator.people.says(text).id

    def edits(self, message: str, text: str) -> None:
        self._emulator.people.edits(message, text)

    def deletes(self, message: str) -> None:
        self._emulator.people.recalls(message)

    def presses(self, label: str) -> None:
        self.buttons()
        push = self._emulator.people.clicks(self._shown()[0]["message_id"], self._values[label])
        self._pushes.append(push)

    def told(self) -> list[str]:
        answers = [push.answer.get("data") or {} for push in self._pushes]
        return [answer["toast"]["content"] for answer in answers if "toast" in answer]

    def texts(self) -> list[str]:
        return [seen["text"] for seen in self._shown() if not seen["streaming"]]

    def versions(self) -> list[str]:
        """See Driver: also what stood in panels whenever the chat was looked at."""
        return [*super().versions(), *self._panels]

    def buttons(self) -> list[str]:
        found = {
            button["text"]["content"]: button["behaviors"][0]["value"]
            for button in self._shown()[0]["buttons"]
        }
        self._values |= found
        return list(found)

    def _shown(self) -> list[dict[str, Any]]:
        chat = self._emulator.people.private_chat()
        found = [one for one in self._emulator.view(chat)["messages"] if one["from_bot"]]
        self._panels += [panel["text"] for one in found for panel in one["panels"]]
        return found


class OnDiscord(_Watched):
    def __init__(self, emulator: DiscordEmulator) -> None:
        self._emulator = emulator
        self.entry = f'discord: {{bot_token: "{emulator.token}", base_url: "{emulator.url}"}}'

    def writes(self, text: str) -> int:
        return self._emulator.people.says(text).id

    def edits(self, message: int, text: str) -> None:
        self._emulator.people.edits(self._chat(), message, text)

    def deletes(self, message: int) -> None:
        self._emulator.people.deletes(self._chat(), message)

    def presses(self, label: str) -> None:
        self._emulator.people.presses(self._chat(), self._shown()[0]["message_id"], label)

    def told(self) -> list[str]:
        return [seen["text"] for seen in self._shown() if seen["ephemeral"]]

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


@asynccontextmanager
async def on_platform(name: str) -> AsyncIterator[Driver]:
    """An emulator, and a person on it."""
    served, made = PLATFORMS[name]
    async with served() as emulator:
        yield made(emulator)


def two_models(url: str) -> str:
    """A configuration with two models of the provider at this address, called first and second."""
    both = ", ".join(
        f'{{name: {name}, use: "langchain_openai:ChatOpenAI", model: model-{name}, api_key: k,'
        f' base_url: "{url}"}}'
        for name in ("first", "second")
    )
    return f"models: [{both}]\ntitle: {{enabled: false}}"


@asynccontextmanager
async def at_work(home: Path, driver: Driver, runtime: str) -> AsyncIterator[BotService]:
    """The service with this account, connected; `runtime` are the lines that say which agent answers."""
    text = f"""
config_version: 1
{runtime}
server: {{port: 0}}
channels:
  {driver.entry}
access: {{default: allow}}
"""
    async with running(home, text) as service:

        def states() -> list[Live]:
            return [state.live for _, state in service.accounts.states().values()]

        await until(lambda: set(states()) == {Live.LIVE}, 20.0, lambda: f"{service.accounts.states()}")
        yield service
