"""Groups on an emulated Feishu that are recorded, and what the model was sent of them."""

from __future__ import annotations

import re

from llmock.pytest_plugin import LLMock

from agent.shared.envelope import unescape_text
from roebot_testing.emulators.feishu import FeishuEmulator
from tests.harness.waiters import until

MIRA = "ou_mira000000000000001"
"""Open id of an admin."""
SECONDS = 60.0
"""Longest wait for an answer."""


def answers(emulator: FeishuEmulator, chat: str) -> list[str]:
    """Return the bot's messages that stand in a chat."""
    shown = emulator.view(chat)["messages"] if chat in emulator.world.chats else []
    return [
        one["text"] for one in shown if one["sender"] == emulator.world.bot.open_id and not one["streaming"]
    ]


def told_model(llmock: LLMock, role: str, start: int = 0) -> list[str]:
    """Return what the model was sent in messages of a role, one text for each request from the n-th on."""
    texts = []
    for request in llmock.requests[start:]:
        contents = [one["content"] or "" for one in request.body["messages"] if one["role"] == role]
        parts = [part for one in contents for part in (one if isinstance(one, list) else [{"text": one}])]
        texts.append(unescape_text("\n".join(part.get("text", "") for part in parts)))
    return texts


class RecordedGroup:
    """A group whose record Mira, an admin, turns on and asks for."""

    def __init__(self, emulator: FeishuEmulator, llmock: LLMock) -> None:
        self._emulator, self._llmock = emulator, llmock
        self.chat = emulator.people.make_group("Operations")

    async def begin(self) -> None:
        await self._say("/record on", "now being recorded")

    async def ask(self) -> list[str]:
        """Return the lines that the model reads with `read_chat`."""
        self._llmock.call_tool("read_chat", {"since": ""}).reply("All is well.")
        await self._say("what happened?", "All is well")
        return told_model(self._llmock, "tool")[-1].split("\n")

    async def summarize(self) -> list[str]:
        """Return the lines that the model reads for a digest."""
        drafted = await self._say("/digest daily 18:00 digest", "/digest ok")
        found = re.search(r"/digest ok (\d+)", drafted)
        assert found is not None
        await self._say(f"/digest ok {found[1]}", "is active")
        self._llmock.reply("A quiet day.")
        await self._say(f"/digest now {found[1]}", "A quiet day")
        return told_model(self._llmock, "user")[-1].split("\n")

    async def _say(self, text: str, expected: str) -> str:
        """Mention the bot with a text; return its answer."""
        self._emulator.people.says(f"@Roebot {text}", user=MIRA, name="Mira", chat=self.chat)

        def found() -> list[str]:
            return [one for one in answers(self._emulator, self.chat)[-1:] if expected in one]

        await until(found, SECONDS, lambda: f"{expected}: {answers(self._emulator, self.chat)}")
        return found()[0]
