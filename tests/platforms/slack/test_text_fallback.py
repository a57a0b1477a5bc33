"""Servers that take no Markdown get mrkdwn, in shorter parts."""

from __future__ import annotations

from dataclasses import replace

from bot.platforms.slack.renderer import SLACK, SLACK_TEXT

from .conftest import Running, final, frame


async def test_a_message_comes_as_mrkdwn_once_markdown_is_refused(running: Running) -> None:
    running.emulator.world.takes_markdown = False
    address = await running.asked()
    assert running.adapter.renderer is SLACK
    ts = await running.adapter.send(final("**one** [two](https://x.org)", address))
    assert running.shown()[0]["text"] == "*one* <https://x.org|two>"
    assert running.adapter.renderer is SLACK_TEXT
    await running.adapter.edit(final("_three_", address), ts)
    assert running.shown()[0]["text"] == "_three_"
    calls = running.emulator.transcript.calls
    assert (calls["chat.postMessage"], calls["chat.update"]) == (2, 1)


async def test_questions_ratings_and_frames_come_too(running: Running) -> None:
    running.emulator.world.takes_markdown = False
    address = await running.asked()
    await running.adapter.send(replace(final("**a**", address), rated=True))
    await running.adapter.send(replace(final("**b?**", address, "2:0"), choices=("yes", "no")))
    ts = await running.adapter.send(frame("**c**", address, "3:0"))
    await running.adapter.edit(final("**cd**", address, "3:0"), ts)
    rated, question, answer = running.shown()
    assert (rated["text"], rated["blocks"]) == ("*a*", [])
    assert [block["type"] for block in question["blocks"]] == ["section", "actions"]
    assert question["blocks"][0]["text"]["text"] == "*b?*"
    assert (answer["text"], answer["streamed"]) == ("*cd*", False)


async def test_a_refusal_of_blocks_alone_is_no_sign_of_such_a_server(running: Running) -> None:
    running.emulator.fault("error", method="chat.postMessage", status=200, description="invalid_blocks")
    address = await running.asked()
    await running.adapter.send(replace(final("**a?**", address), choices=("yes",)))
    assert running.shown()[0]["text"] == "*a?*"
    assert running.adapter.renderer is SLACK


async def test_a_server_without_streams_gets_whole_messages(running: Running) -> None:
    running.emulator.fault("error", method="chat.startStream", status=404, description="")
    address = await running.asked()
    ts = await running.adapter.send(frame("one", address))
    await running.adapter.edit(final("one two", address), ts)
    [answer] = running.shown()
    assert (answer["text"], answer["streamed"]) == ("one two", False)
