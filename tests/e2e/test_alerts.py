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
from tests.harness.alert_chats import ADA, CHATS, AlertChat, alert_chat_on
from tests.harness.llmock_config import llmock_section
from tests.harness.service_with_real_runtime import running
from tests.harness.waiters import until

pytestmark = [pytest.mark.may_block, pytest.mark.long, pytest.mark.usefixtures("patient_lookups")]

SECONDS = 60.0


@pytest.fixture(params=CHATS)
async def chat(request: pytest.FixtureRequest) -> AsyncIterator[AlertChat]:
    async with alert_chat_on(request.param) as served:
        yield served


def configured(chat: AlertChat, llmock: LLMock) -> str:
    wire = chat.wire
    return f"""
config_version: 1
{llmock_section(llmock)}
server: {{port: 0}}
channels: {{{wire.platform}: {{{wire.entry}}}}}
access: {{default: allow, guests: true, admins: ["{wire.platform}:{wire.person(1)}"]}}
"""


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


def missing(chat: AlertChat, text: str) -> list[str]:
    """Return what a text lacks of the alert, the reply, the question and their authors."""
    return [fact for fact in (*chat.facts, ADA, "what is this?") if fact not in text]


async def answered(chat: AlertChat, words: str) -> None:
    """Wait until the bot's last message contains these words."""
    await until(lambda: words in "".join(chat.texts()[-1:]), SECONDS, lambda: f"{chat.texts()}")


async def test_the_model_reads_an_alert_in_question_record_and_digest(
    tmp_path: Path, chat: AlertChat, llmock: LLMock
) -> None:
    async with running(tmp_path, configured(chat, llmock)):
        await until(chat.wire.connected, SECONDS, lambda: "not connected")
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
    assert missing(chat, question) == []
    assert missing(chat, record) == []
    assert missing(chat, digest) == []
    assert "Scheduled run" in digest


@pytest.mark.parametrize("chat", ["feishu", "feishu-topic"], indirect=True)
async def test_the_model_reads_an_alert_of_a_chat_without_a_record(
    tmp_path: Path, chat: AlertChat, llmock: LLMock
) -> None:
    async with running(tmp_path, configured(chat, llmock)):
        await until(chat.wire.connected, SECONDS, lambda: "not connected")
        llmock.reply("A slow checkout.")
        chat.posts_alert()
        chat.asks_about_alert("what is this?")
        await answered(chat, "A slow checkout.")
    assert missing(chat, read_last(llmock, "user")) == []
