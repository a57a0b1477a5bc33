"""`/compact` in the console and the terminal, with the lead agent and with another graph."""

from __future__ import annotations

from pathlib import Path

from bot.cli.chat.client import ChatClient
from tests.platforms.web.serving import World, world

SAID = "[reply=Noted.] The invoice of supplier {number} came by post. " + "It was long. " * 40
AGENT = """models:
  - {name: scripted, use: "roebot_testing.agent.model:ScriptedChatModel"}
  - {name: writer, use: "roebot_testing.agent.model:ScriptedChatModel", script: {reply: Suppliers.}}
title: {enabled: false}
summarization: {model_name: writer}
memory: {enabled: false}
web_tools: {enabled: false}
"""


async def told(service: World, conversation: int, text: str) -> str:
    """What the console shows as the answer."""
    turn = await service.turn((await service.say(conversation, text))["turn"])
    return str(turn["parts"][0]["text"])


async def test_the_console_and_the_terminal_summarize_the_threads_of_the_lead_agent(tmp_path: Path) -> None:
    async with world(tmp_path, graph="lead_agent", extra=AGENT) as service:
        conversation = await service.open()
        for number in range(6):
            assert await told(service, conversation, SAID.format(number=number)) == "Noted."
        assert (await told(service, conversation, "/compact keep the suppliers")).startswith("I summarized")
        assert (await told(service, conversation, "/compact")).startswith("There is nothing to compact")
        assert await told(service, conversation, "[reply=Yes.] Still there?") == "Yes."
        terminal = ChatClient(service.http, tmp_path)
        await terminal.open()
        for number in range(6):
            await service.turn(await terminal.say(SAID.format(number=number)))
        turn = await service.turn(await terminal.say("/compact"))
        assert turn["parts"][0]["text"].startswith("I summarized")


async def test_another_graph_is_left_alone(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        conversation = await service.open()
        assert await told(service, conversation, "hello") == "hello"
        said = await told(service, conversation, "/compact")
        assert said.startswith("This agent runtime can't summarize an agent thread on request.")
        assert await told(service, conversation, "still?") == "still?"
