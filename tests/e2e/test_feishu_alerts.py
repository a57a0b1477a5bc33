"""An app posts an alert on Feishu and a colleague replies; then the model reads both: in a question, in the
record of the chat, and in a digest.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock

from agent.shared.envelope import unescape_text
from roebot_testing.emulators.feishu import FeishuEmulator
from tests.harness.feishu_config import feishu_config
from tests.harness.feishu_groups import SECONDS, answers
from tests.harness.service_with_real_runtime import running
from tests.harness.waiters import until

pytestmark = [pytest.mark.may_block, pytest.mark.long, pytest.mark.usefixtures("patient_lookups")]

ADA, BEN = "ou_ada0000000000000001", "ou_ben0000000000000001"
ALERT: dict[str, Any] = {
    "schema": "2.0",
    "header": {
        "title": {"tag": "plain_text", "content": "Checkout latency is high"},
        "subtitle": {"tag": "plain_text", "content": "since 09:12, reported by three of four probes"},
    },
    "body": {
        "elements": [
            {"tag": "div", "fields": [{"text": {"tag": "lark_md", "content": "**Region**\neu-north-1"}}]},
            {"tag": "markdown", "content": "[Dashboard](https://grafana.example.com/d/checkout)"},
            {
                "tag": "button",
                "text": {"tag": "plain_text", "content": "Runbook"},
                "behaviors": [{"type": "open_url", "default_url": "https://wiki.example.com/chk-3"}],
            },
        ]
    },
}
FACTS = (
    "Grafana",
    "Checkout latency is high",
    "three of four probes",
    "Region",
    "eu-north-1",
    "https://grafana.example.com/d/checkout",
    "Runbook",
    "https://wiki.example.com/chk-3",
    "Ben Okafor",
    "same as on Monday",
    "Ada Byron",
)
"""What everybody in the group can read of the alert, the reply and the question."""


class AlertChat:
    """A group with the bot, Grafana's app, Ben, and Ada, who is an admin."""

    def __init__(self, emulator: FeishuEmulator) -> None:
        self._emulator = emulator
        self._group = emulator.people.make_group("incidents")

    def asks(self, text: str, **where: Any) -> None:
        """Let Ada mention the bot."""
        said = f"@{self._emulator.world.bot.name} {text}"
        self._emulator.people.says(said, user=ADA, name="Ada Byron", chat=self._group, **where)

    def posts_alert(self, *, in_thread: bool) -> dict[str, Any]:
        """Let the app post its alert and Ben reply; return where one asks about both."""
        people = self._emulator.people
        alert = people.app_says(app="Grafana", chat=self._group, card=ALERT)
        where: dict[str, Any] = {"reply_to": alert.id, "in_thread": in_thread}
        reply = people.says("same as on Monday", user=BEN, name="Ben Okafor", chat=self._group, **where)
        return where if in_thread else {"reply_to": reply.id}

    async def answered(self, pattern: str) -> None:
        """Wait until the bot's last message stands and is as expected."""

        def found() -> list[str]:
            last = answers(self._emulator, self._group)[-1:]
            return [text for text in last if re.search(pattern, text)]

        await until(found, SECONDS, lambda: f"{pattern}: {answers(self._emulator, self._group)}")


def read_last(llmock: LLMock, *roles: str) -> str:
    """Return the messages of these roles since the model's last answer, in its last request."""
    body: dict[str, Any] = llmock.last_request.body
    found: list[str] = []
    for one in body["messages"]:
        content = one["content"] or ""
        parts = content if isinstance(content, list) else [{"text": content}]
        if one["role"] in roles:
            found += [part.get("text", "") for part in parts]
        elif one["role"] == "assistant" and not one.get("tool_calls"):
            found.clear()
    return unescape_text("\n".join(found))


def missing(text: str, *more: str) -> list[str]:
    """Return what a text lacks of the alert, the reply, their authors and `more`."""
    return [fact for fact in (*FACTS, *more) if fact not in text]


@pytest.mark.parametrize("in_thread", [False, True], ids=["reply", "topic"])
async def test_the_model_reads_an_alert_below_which_it_is_asked(
    tmp_path: Path, llmock: LLMock, in_thread: bool
) -> None:
    async with (
        FeishuEmulator.serve() as emulator,
        running(tmp_path, feishu_config(emulator, llmock, ADA)),
    ):
        chat = AlertChat(emulator)
        llmock.reply("A slow checkout.")
        where = chat.posts_alert(in_thread=in_thread)
        chat.asks("what is this?", **where)
        await chat.answered("A slow checkout")
    assert missing(read_last(llmock, "user"), "what is this?") == []


@pytest.mark.parametrize("in_thread", [False, True], ids=["reply", "topic"])
async def test_the_model_reads_an_alert_in_record_and_digest(
    tmp_path: Path, llmock: LLMock, in_thread: bool
) -> None:
    async with (
        FeishuEmulator.serve() as emulator,
        running(tmp_path, feishu_config(emulator, llmock, ADA)),
    ):
        chat = AlertChat(emulator)
        chat.asks("/record on")
        await chat.answered("This chat is now being recorded")
        where = chat.posts_alert(in_thread=in_thread)
        llmock.reply("A slow checkout.").call_tool("read_chat", {"since": ""}).reply("Latency went up.")
        chat.asks("what is this?", **where)
        await chat.answered("A slow checkout")
        question = read_last(llmock, "user")
        chat.asks("what happened today?")
        await chat.answered("Latency went up")
        record = read_last(llmock, "tool")
        chat.asks("/digest daily 18:00 digest")
        await chat.answered("daily 18:00")
        chat.asks("/digest ok 1")
        await chat.answered("Schedule 1 is active")
        llmock.reply("Today: a slow checkout.")
        chat.asks("/digest now 1")
        await chat.answered("Today: a slow checkout")
        digest = read_last(llmock, "user")
    assert missing(question, "what is this?") == []
    assert missing(record, "what is this?", '"Ben Okafor"') == []
    assert missing(digest, "what is this?", "Scheduled run") == []
