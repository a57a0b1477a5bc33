"""A person in their private chat with the bot, the same on every platform."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bot.account_state import Live
from bot.app.service import BotService
from tests.harness.clicks import button, button_labels
from tests.harness.service_with_real_runtime import running
from tests.harness.waiters import until
from tests.harness.wires import WIRES, Wire


class PlatformUser:
    """The first person of a platform in their private chat with the bot."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.platform = wire.platform
        self.entry = f"{wire.platform}: {{{wire.entry}}}"
        """The account in the configuration."""
        self._place = ""
        self._lists: dict[str, None] = {}

    def writes(self, text: str) -> None:
        self._place = self.wire.asks(text)

    def texts(self) -> list[str]:
        """Return the bot's messages that are complete."""
        return [one["text"] for one in self._messages() if not one.get("streaming")]

    def versions(self) -> list[str]:
        """Return every text that the bot ever showed, of panels and lists what stood there at a look."""
        self._messages()
        return [*(frame.text for frame in self.wire.emulator.transcript.of() if frame.text), *self._lists]

    def buttons(self) -> list[str]:
        """Return the buttons below the first question that are still an offer."""
        return button_labels(self.wire, self._place, self._question())

    def presses(self, label: str) -> None:
        """Press a button of the first question."""
        number = self.buttons().index(label)
        button(self.wire, self._place, self._question(), number)(1)

    def _question(self) -> str:
        return self.wire.standing(self._place)[0].id

    def _messages(self) -> list[dict[str, Any]]:
        if not self._place:
            return []
        place = int(self._place) if self.platform in ("telegram", "discord") else self._place
        found = [one for one in self.wire.emulator.view(place)["messages"] if one["from_bot"]]
        for one in found:
            tasks = [task["title"] for task in one.get("tasks", ()) if task["status"] == "complete"]
            panels = [panel["text"] for panel in one.get("panels", ())]
            self._lists |= dict.fromkeys([*panels, *(f"✓ {title}" for title in tasks)])
        return found


@asynccontextmanager
async def on_platform(name: str) -> AsyncIterator[PlatformUser]:
    """An emulator, and a person on it."""
    async with WIRES[name].serve() as wire:
        yield PlatformUser(wire)


def two_models(url: str) -> str:
    """A configuration with two models of the provider at this address, called first and second."""
    both = ", ".join(
        f'{{name: {name}, use: "langchain_openai:ChatOpenAI", model: model-{name}, api_key: k,'
        f' base_url: "{url}"}}'
        for name in ("first", "second")
    )
    return f"models: [{both}]\ntitle: {{enabled: false}}"


@asynccontextmanager
async def at_work(home: Path, user: PlatformUser, runtime: str) -> AsyncIterator[BotService]:
    """The service with this account, connected; `runtime` are the lines that say which agent answers."""
    text = f"""
config_version: 1
{runtime}
server: {{port: 0}}
channels:
  {user.entry}
access: {{default: allow}}
"""
    async with running(home, text) as service:

        def states() -> list[Live]:
            return [state.live for _, state in service.accounts.states().values()]

        await until(lambda: set(states()) == {Live.LIVE}, 20.0, lambda: f"{service.accounts.states()}")
        yield service
