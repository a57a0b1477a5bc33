"""Our adapter for Slack on another maker's emulator: vercel-labs/emulate, from npm.

`make test-all` installs it (`npm/package-lock.json`), and `npm/start.mjs` starts its Slack service. Version
0.12.2 lacks the following of what Slack documents, so none of it is tried here:

- `markdown_text`, which it ignores (an update with other arguments is accepted and changes no text); streams,
  status lines and sessions of agents: 404, where Slack answers `unknown_method`;
- Socket Mode, slash commands, clicks, `app_mention`; `channel_type` in events; an event that was not answered
  with 200 comes once;
- `oldest` and `latest` of histories, pages of replies, `invalid_cursor`, `thread_not_found`; checks of blocks
  and metadata; the longest text of an update; the refusal of empty files; downloads of files whose names are
  not Latin (500);
- `invalid_auth`: a token that it does not know is that of a user without scopes; the header `x-oauth-scopes`.

Where both emulators refuse a call, they give the same reason (`REFUSALS`). Where the reasons differ, ours is
the documented one: `invalid_blocks_format` for blocks that are no JSON, `user_not_in_channel` for an
ephemeral message to nobody.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain import (
    Attachment,
    ChatKind,
    OutboundFile,
    OutboundMessage,
    ReplyAddress,
)
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.slack.account import SlackAccount
from bot.platforms.slack.adapter import SlackAdapter
from roebot_testing.conformance.bench import address_of
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.inbox import RecordingInbox
from roebot_testing.running import RunningAdapter, eventually
from tests.harness.free_ports import free_port
from tests.harness.platforms import Port

from .slack_sdk_client import refused

Running = RunningAdapter[SlackAdapter]
pytestmark = [pytest.mark.npm, pytest.mark.may_block]
PACKAGE = Path(sys.prefix, "emulators", "node_modules", "emulate")
START = Path(__file__).parent / "npm" / "start.mjs"
SECRET = "signing-secret"
BOT, ANN = "xoxb-bot", "xoxp-ann"
GENERAL = "C000000001"
SCOPES = [
    "channels:history",
    "channels:manage",
    "channels:read",
    "chat:write",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "groups:write",
    "im:history",
    "im:read",
    "im:write",
    "users:read",
]
REFUSALS: list[tuple[str, dict[str, Any], str]] = [
    ("chat.postMessage", {"channel": "C0NONE", "text": "x"}, "channel_not_found"),
    ("chat.postMessage", {"channel": "{room}", "text": ""}, "no_text"),
    ("chat.update", {"channel": "{room}", "ts": "{theirs}", "text": "x"}, "cant_update_message"),
    ("chat.update", {"channel": "{room}", "ts": "1.2", "text": "x"}, "message_not_found"),
    ("chat.update", {"channel": "{room}", "ts": "{own}"}, "no_text"),
    ("chat.delete", {"channel": "{room}", "ts": "{theirs}"}, "cant_delete_message"),
    ("chat.delete", {"channel": "{room}", "ts": "1.2"}, "message_not_found"),
    ("conversations.history", {"channel": "C0NONE"}, "channel_not_found"),
    ("conversations.info", {"channel": "C0NONE"}, "channel_not_found"),
    ("conversations.open", {"users": "U0NONE"}, "user_not_found"),
    ("conversations.open", {}, "users_list_not_supplied"),
    ("users.info", {"user": "U0NONE"}, "user_not_found"),
    ("files.info", {"file": "F0NONE"}, "file_not_found"),
    ("files.completeUploadExternal", {"files": '[{"id":"F0NONE"}]'}, "file_not_found"),
]
"""Calls that both emulators refuse, and why."""


@dataclass
class Workspace:
    """The running emulator, and the port to which it sends events."""

    url: str
    port: Port

    def web(self, token: str) -> AsyncWebClient:
        """A client of the SDK; "unset" keeps it from taking a proxy out of the environment."""
        client = AsyncWebClient(token, base_url=self.url, proxy="unset", retry_handlers=[])
        client.proxy = None
        return client

    def adapter(self, **changes: Any) -> SlackAdapter:
        given = {"name": "sl", "platform": "slack", "mode": "http", "base_url": self.url}
        secrets = {"bot_token": BOT, "signing_secret": SECRET}
        adapter = SlackAdapter("sl", SlackAccount.model_validate({**given, **secrets, **changes}))
        self.port.adapter = adapter
        return adapter


@pytest.fixture
async def workspace() -> AsyncIterator[Workspace]:
    app = {
        "client_id": "1.1",
        "client_secret": "unused",
        "app_id": "A0ROEBOT",
        "name": "Roebot",
        "bot_name": "roebot",
        "bot_id": "B0ROEBOT",
        "bot_user_id": "U0ROEBOT",
        "redirect_uris": [],
        "scopes": SCOPES,
    }
    identity = {"user_id": "U0ROEBOT", "bot_user_id": "U0ROEBOT", "bot_id": "B0ROEBOT", "app_id": "A0ROEBOT"}
    async with Port.open() as port:
        seed = {
            "port": free_port(),
            "events": f"{port.url}/webhooks/sl",
            "signing_secret": SECRET,
            "strict_scopes": True,
            "users": [{"name": "ann", "real_name": "Ann Smith"}],
            "oauth_apps": [app],
            "tokens": [
                {"token": BOT, "type": "bot", "scopes": SCOPES, **identity},
                {"token": ANN, "user": "ann", "scopes": SCOPES},
                {"token": "xoxb-poor", "scopes": ["users:read"], **identity},
            ],
        }
        process = await asyncio.create_subprocess_exec(
            "node",
            str(START),
            str(PACKAGE),
            json.dumps(seed),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert await process.stdout.readline() == b"ready\n"
            yield Workspace(f"http://127.0.0.1:{seed['port']}/api/", port)
        finally:
            process.stdin.close()
            await process.wait()


@pytest.fixture
async def running(workspace: Workspace) -> AsyncIterator[Running]:
    started = await RunningAdapter(workspace.adapter()).start()
    yield started
    await started.stop()


async def private_chat(workspace: Workspace) -> str:
    """Ann opens her chat with the bot."""
    found: str = (await workspace.web(ANN).conversations_open(users="U0ROEBOT"))["channel"]["id"]
    return found


async def asked(workspace: Workspace, running: Running, text: str = "go") -> ReplyAddress:
    """Ann writes to the bot; where the answer goes."""
    count = len(running.shelf.messages)
    await workspace.web(ANN).chat_postMessage(channel=await private_chat(workspace), text=text)
    return address_of((await running.shelf.until(count + 1))[-1])


async def shown(workspace: Workspace, address: ReplyAddress) -> list[dict[str, Any]]:
    """The bot's messages in a thread."""
    found = await workspace.web(ANN).conversations_replies(channel=address.chat, ts=address.topic)
    return [one for one in found["messages"] if one["user"] == "U0ROEBOT"]


def final(text: str, address: ReplyAddress, key: str = "1:0") -> OutboundMessage:
    return OutboundMessage(key, address, text)


async def test_messages_come_signed_and_are_answered(workspace: Workspace, running: Running) -> None:
    address = await asked(workspace, running, "is the disk full?")
    [message] = running.shelf.messages
    assert (message.text, message.origin.chat_kind) == ("is the disk full?", ChatKind.PRIVATE)
    assert message.origin.sender.name == "ann"
    assert workspace.port.answers[-1] == 200
    ts = await running.adapter.send(final("**Yes**, it is.", address))
    await running.adapter.edit(final("**No**, not *yet*.", address), ts)
    [answer] = await shown(workspace, address)
    assert (answer["ts"], answer["text"]) == (ts, "*No*, not _yet_.")
    await running.adapter.delete(address, ts)
    await running.adapter.delete(address, ts)
    assert await shown(workspace, address) == []
    assert [one.text for one in running.shelf.messages] == ["is the disk full?"]


async def test_an_answer_grows_without_streams(workspace: Workspace, running: Running) -> None:
    address = await asked(workspace, running)
    ts = await running.adapter.send(OutboundMessage("1:0", address, "one", final=False))
    await running.adapter.edit(OutboundMessage("1:0", address, "one two", final=False), ts)
    [frame] = await shown(workspace, address)
    assert frame["text"].startswith("one two")
    await running.adapter.edit(final("one two three", address), ts)
    assert [one["text"] for one in await shown(workspace, address)] == ["one two three"]


async def test_mentions_edits_and_deletions_in_a_channel(workspace: Workspace, running: Running) -> None:
    ann = workspace.web(ANN)
    ts = (await ann.chat_postMessage(channel=GENERAL, text="<@U0ROEBOT> the first"))["ts"]
    [message] = await running.shelf.until(1)
    assert (message.text, message.addressed, message.origin.chat_kind) == ("the first", True, ChatKind.GROUP)
    await ann.chat_update(channel=GENERAL, ts=ts, text="<@U0ROEBOT> the second")
    await ann.chat_delete(channel=GENERAL, ts=ts)
    await eventually(lambda: len(running.shelf.changes) == 2)
    assert [change.text for change in running.shelf.changes] == ["the second", None]
    address = address_of(message)
    assert (await running.adapter.describe_chat(address)).title == "#general"


async def test_what_was_said_before_in_a_thread(workspace: Workspace, running: Running) -> None:
    ann = workspace.web(ANN)
    root = (await ann.chat_postMessage(channel=GENERAL, text="the disk is full"))["ts"]
    await ann.chat_postMessage(channel=GENERAL, thread_ts=root, text="it was half full on Monday")
    call = await ann.chat_postMessage(channel=GENERAL, thread_ts=root, text="<@U0ROEBOT> why?")
    await eventually(lambda: any(one.addressed for one in running.shelf.messages))
    address = address_of(next(one for one in running.shelf.messages if one.addressed))
    earlier = await running.adapter.earlier(address, call["ts"], 10)
    assert [one.text for one in earlier] == ["the disk is full", "it was half full on Monday"]


async def test_files_both_ways(workspace: Workspace, running: Running) -> None:
    ann, chat = workspace.web(ANN), await private_chat(workspace)
    ticket = await ann.files_getUploadURLExternal(filename="report.txt", length=5)
    async with httpx.AsyncClient(trust_env=False) as http:
        (await http.post(ticket["upload_url"], content=b"dwarf")).raise_for_status()
        files = [{"id": ticket["file_id"], "title": "report.txt"}]
        await ann.files_completeUploadExternal(files=files, channel_id=chat)
        [message] = await running.shelf.until(1)
        [attachment] = message.attachments
        assert (attachment.filename, attachment.size) == ("report.txt", 5)
        assert await content(running.adapter, attachment) == b"dwarf"

        file = OutboundFile("1:0", address_of(message), "Zahlen.csv", "text/csv", b"a,b\n1,2\n")
        ts = await running.adapter.send_file(file)
        [answer] = await shown(workspace, address_of(message))
        assert (answer["ts"], answer["files"][0]["name"]) == (ts, "Zahlen.csv")
        token = {"Authorization": f"Bearer {ANN}"}
        got = await http.get(answer["files"][0]["url_private_download"], headers=token)
        assert got.content == file.data


async def content(adapter: SlackAdapter, attachment: Attachment) -> bytes:
    return b"".join([chunk async for chunk in adapter.fetch(attachment)])


async def test_an_answer_of_an_earlier_life_is_found_again(workspace: Workspace) -> None:
    inbox = RecordingInbox()
    first = await RunningAdapter(workspace.adapter(), inbox).start()
    address = await asked(workspace, first)
    ts = await first.adapter.send(final("the answer", address))
    await first.crash()
    second = await RunningAdapter(workspace.adapter(), inbox).start()
    second.clock.ahead += 5
    assert await second.adapter.send(final("the answer", address)) == ts
    assert [one["text"] for one in await shown(workspace, address)] == ["the answer"]
    await second.stop()


async def test_refusals_have_the_category_of_slack(workspace: Workspace, running: Running) -> None:
    ann = workspace.web(ANN)
    archived = (await ann.conversations_create(name="archived"))["channel"]["id"]
    await ann.conversations_archive(channel=archived)
    private = {"name": "hidden", "is_private": True}
    hidden = (await ann.api_call("conversations.create", json=private))["channel"]["id"]
    theirs = (await ann.chat_postMessage(channel=GENERAL, text="mine"))["ts"]
    for chat, category in (
        ("C0NONE", DeliveryCategory.NOT_FOUND),
        (archived, DeliveryCategory.PERMISSION),
        (hidden, DeliveryCategory.PERMISSION),
    ):
        with pytest.raises(DeliveryError) as caught:
            await running.adapter.send(final("x", ReplyAddress("sl", chat, ChatKind.GROUP)))
        assert caught.value.category is category, chat
    for ts, category in (("1.2", DeliveryCategory.NOT_FOUND), (theirs, DeliveryCategory.PERMISSION)):
        with pytest.raises(DeliveryError) as caught:
            await running.adapter.edit(final("x", ReplyAddress("sl", GENERAL, ChatKind.GROUP)), ts)
        assert caught.value.category is category, ts


async def test_a_missing_scope_is_named(workspace: Workspace) -> None:
    poor = await RunningAdapter(workspace.adapter(bot_token="xoxb-poor")).start()
    with pytest.raises(DeliveryError, match="missing_scope: the app lacks chat:write") as caught:
        await poor.adapter.send(final("x", ReplyAddress("sl", GENERAL, ChatKind.GROUP)))
    assert caught.value.category is DeliveryCategory.PERMISSION
    await poor.stop()


async def test_events_with_another_secret_are_not_taken(workspace: Workspace) -> None:
    running = await RunningAdapter(workspace.adapter(signing_secret="another")).start()
    chat = await private_chat(workspace)
    await workspace.web(ANN).chat_postMessage(channel=chat, text="hello")
    assert workspace.port.answers
    assert set(workspace.port.answers) == {401}
    assert running.shelf.messages == []
    await running.stop()


async def test_both_emulators_refuse_for_the_same_reason(workspace: Workspace) -> None:
    async with SlackEmulator.serve(limits=False) as ours:
        own = AsyncWebClient(ours.bot_token, base_url=ours.url, proxy="unset", retry_handlers=[])
        own.proxy = None
        team = ours.people.make_channel("team")
        said = ours.people.says("hello", channel=team).ts
        other = workspace.web(BOT)
        their_said = (await workspace.web(ANN).chat_postMessage(channel=GENERAL, text="hello"))["ts"]
        for web, room, theirs in ((own, team, said), (other, GENERAL, their_said)):
            posted = (await web.chat_postMessage(channel=room, text="mine"))["ts"]
            names = {"{room}": room, "{theirs}": theirs, "{own}": posted}
            for method, arguments, reason in REFUSALS:
                given = {key: names.get(value, value) for key, value in arguments.items()}
                assert await refused(web.api_call(method, data=given)) == reason, (web.base_url, method)
