"""An app posts an alert and a colleague replies; then the model reads both: in a question, in the record of
the chat, and in a digest.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock

from agent.shared.envelope import unescape_text
from tests.harness.alert_chats import ADA, FACTS, AlertChat, alert_chat_on
from tests.harness.llmock_config import llmock_section
from tests.harness.service_with_real_runtime import running
from tests.harness.waiters import until

pytestmark = [pytest.mark.may_block, pytest.mark.long]

SECONDS = 40.0


@pytest.fixture(params=["telegram", "slack", "discord"])
async def chat(request: pytest.FixtureRequest) -> AsyncIterator[AlertChat]:
    async with alert_chat_on(request.param) as served:
        yield served


def configured(chat: AlertChat, llmock: LLMock) -> str:
    return f"""
config_version: 1
{llmock_section(llmock)}
server: {{port: 0}}
channels: {{{chat.platform}: {{{chat.entry}}}}}
access: {{default: allow, admins: ["{chat.platform}:{chat.admin}"]}}
"""


def read_last(llmock: LLMock, *roles: str) -> str:
    """Return the last message of one of these roles in the model's last request."""
    body: dict[str, Any] = llmock.last_request.body
    content = [one["content"] for one in body["messages"] if one["role"] in roles][-1]
    parts = content if isinstance(content, list) else [{"text": content}]
    return unescape_text("\n".join(part.get("text", "") for part in parts))


def missing(text: str, *more: str) -> list[str]:
    """Return what a text lacks of the alert, the reply, their authors and `more`."""
    return [fact for fact in (*FACTS, *more) if fact not in text]


async def answered(chat: AlertChat, words: str) -> None:
    """Wait until the bot's last message contains these words."""
    await until(lambda: words in "".join(chat.texts()[-1:]), SECONDS, lambda: f"{chat.texts()}")


async def test_the_model_reads_an_alert_in_question_record_and_digest(
    tmp_path: Path, chat: AlertChat, llmock: LLMock
) -> None:
    async with running(tmp_path, configured(chat, llmock)):
        await until(chat.connected, SECONDS, lambda: "not connected")
        chat.asks("/record on")
        await answered(chat, "This chat is now being recorded")
        llmock.reply("A slow checkout.").call_tool("read_chat", {"since": ""}).reply("Latency went up.")
        chat.posts_alert()
        chat.asks_about_alert("what is this?")
        await answered(chat, "A slow checkout.")
        question = read_last(llmock, "user")
        chat.asks("what happened today?")
        await answered(chat, "Latency went up.")
        record = read_last(llmock, "tool")
        chat.asks("/digest daily 18:00 digest")
        await answered(chat, " ok 1")
        chat.asks("/digest ok 1")
        await answered(chat, "Schedule 1 is active")
        llmock.reply("Today: a slow checkout.")
        chat.asks("/digest now 1")
        await answered(chat, "Today: a slow checkout.")
        digest = read_last(llmock, "user")
    assert missing(question, ADA, "what is this?") == []
    assert missing(record, ADA, "what is this?") == []
    assert missing(digest, ADA, "what is this?") == []
    assert "Scheduled run" in digest
