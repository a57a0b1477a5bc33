"""The SDK's own client works against the emulator as against Discord."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest
from yarl import URL

from bot.platforms.discord.sdk import discord
from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.transcript import FrameKind

CONTENT = discord.Intents(guilds=True, messages=True, message_content=True)


class Listener(discord.Client):
    """A plain client that keeps what it heard."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"intents": CONTENT, "max_messages": None, "guild_ready_timeout": 0.01, **options})
        self.heard: list[discord.Message] = []
        self.events: list[str] = []

    async def on_message(self, message: discord.Message) -> None:
        self.heard.append(message)

    async def on_socket_event_type(self, event: str) -> None:
        self.events.append(event)

    @property
    def texts(self) -> list[str]:
        return [message.content for message in self.heard]


async def eventually(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.002)


@pytest.fixture
async def emulator(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DiscordEmulator]:
    async with DiscordEmulator.serve(limits=False) as running:
        monkeypatch.setattr(discord.http.Route, "BASE", running.url)
        monkeypatch.setattr(discord.gateway.DiscordWebSocket, "DEFAULT_GATEWAY", URL(running.gateway.url))
        yield running


@pytest.fixture
async def client(emulator: DiscordEmulator) -> AsyncIterator[Listener]:
    listener = Listener()
    task = asyncio.create_task(listener.start(emulator.token))
    await eventually(lambda: "READY" in listener.events)
    yield listener
    await listener.close()
    await asyncio.gather(task, return_exceptions=True)


async def test_messages_arrive_with_their_place(emulator: DiscordEmulator, client: Listener) -> None:
    group = emulator.people.make_group("team")
    await eventually(lambda: client.get_channel(group))
    emulator.people.says("in private")
    asked = emulator.people.says(f"<@{emulator.world.bot.id}> in the team", chat=group)
    await eventually(lambda: len(client.heard) == 2)
    private, team = client.heard
    assert private.guild is None and private.content == "in private"
    assert team.guild is not None and team.channel.id == group and team.id == asked.id
    assert client.user in team.mentions


async def test_posts_edits_and_deletions_are_seen(emulator: DiscordEmulator, client: Listener) -> None:
    emulator.people.says("go")
    await eventually(lambda: client.heard)
    posted = await client.heard[0].reply("one")
    await posted.edit(content="two")
    chat = client.heard[0].channel.id
    [_, seen] = emulator.view(chat)["messages"]
    assert (seen["text"], seen["edits"], seen["reply_to"]) == ("two", 1, client.heard[0].id)
    await posted.delete()
    assert len(emulator.view(chat)["messages"]) == 1
    with pytest.raises(discord.NotFound):
        await posted.edit(content="three")
    kinds = [frame.kind for frame in emulator.transcript.of(chat=chat)]
    assert kinds == [FrameKind.PERSON, FrameKind.POST, FrameKind.EDIT, FrameKind.DELETE, FrameKind.EDIT]


async def test_a_nonce_is_one_message(emulator: DiscordEmulator, client: Listener) -> None:
    chat = emulator.people.dm()
    route = discord.http.Route("POST", "/channels/{channel_id}/messages", channel_id=chat)
    body = {"content": "once", "nonce": "k1", "enforce_nonce": True}
    first = await client.http.request(route, json=body)
    again = await client.http.request(route, json=body)
    assert first["id"] == again["id"]
    other = await client.http.request(route, json={**body, "enforce_nonce": False})
    assert other["id"] != first["id"]


async def test_two_thousand_characters_and_no_more(emulator: DiscordEmulator, client: Listener) -> None:
    emulator.people.says("go")
    await eventually(lambda: client.heard)
    await client.heard[0].channel.send("x" * 2000)
    with pytest.raises(discord.HTTPException, match="2000 or fewer"):
        await client.heard[0].channel.send("x" * 2001)
    with pytest.raises(discord.HTTPException, match="empty message"):
        await client.heard[0].channel.send("  ")


async def test_files_go_both_ways(emulator: DiscordEmulator, client: Listener) -> None:
    emulator.people.says("see", filename="a.txt", data=b"abc" * 1000, mime="text/plain")
    await eventually(lambda: client.heard)
    [attachment] = client.heard[0].attachments
    assert (attachment.filename, attachment.size) == ("a.txt", 3000)
    assert await attachment.read() == b"abc" * 1000
    await client.heard[0].channel.send(file=discord.File(io.BytesIO(b"result"), "r.csv"))
    [_, seen] = emulator.view(client.heard[0].channel.id)["messages"]
    assert (seen["kind"], seen["filename"]) == ("file", "r.csv")
    async with aiohttp.ClientSession() as session, session.get(attachment.url.partition("?")[0]) as bare:
        assert bare.status == 403


async def test_a_refused_form_names_its_fields(emulator: DiscordEmulator, client: Listener) -> None:
    emulator.people.says("go")
    await eventually(lambda: client.heard)
    embed = discord.Embed(title="t" * 257)
    with pytest.raises(discord.HTTPException) as refused:
        await client.heard[0].reply("x" * 2001, embed=embed)
    assert (refused.value.status, refused.value.code) == (400, 50035)
    assert refused.value.text == (
        "Invalid Form Body\nIn content: Must be 2000 or fewer in length.\n"
        "In embeds.0.title: Must be 256 or fewer in length."
    )


async def test_threads_are_channels_of_their_own(emulator: DiscordEmulator, client: Listener) -> None:
    group = emulator.people.make_group()
    await eventually(lambda: client.get_channel(group))
    asked = emulator.people.says("start here", chat=group)
    emulator.people.permits(group, ["CREATE_PUBLIC_THREADS"])
    await eventually(lambda: client.heard)
    thread = await client.heard[0].create_thread(name="talk")
    assert thread.id == asked.id and thread.owner_id == emulator.world.bot.id
    emulator.people.says("inside", chat=thread.id)
    await eventually(lambda: len(client.heard) == 2)
    assert isinstance(client.heard[1].channel, discord.Thread)
    assert client.heard[1].channel.parent_id == group


async def test_history_is_read_in_pages(emulator: DiscordEmulator, client: Listener) -> None:
    group = emulator.people.make_group()
    said = emulator.people.says_many([{"text": str(number), "chat": group} for number in range(130)])
    route = discord.http.Route("GET", "/channels/{channel_id}/messages", channel_id=group)
    page = await client.http.request(route, params={"after": said[0].id, "limit": 100})
    assert [message["content"] for message in page] == [str(number) for number in range(100, 0, -1)]
    newest = await client.http.request(route, params={"limit": 2})
    assert [message["content"] for message in newest] == ["129", "128"]


async def test_commands_are_registered_and_answered(emulator: DiscordEmulator, client: Listener) -> None:
    tree = discord.app_commands.CommandTree(client)

    @tree.command(name="status", description="How things are")
    async def status(interaction: discord.Interaction, text: str = "") -> None:
        await interaction.response.defer(thinking=True)
        await interaction.edit_original_response(content=f"all well {text}")

    await tree.sync()
    assert [command["name"] for command in emulator.world.commands] == ["status"]
    emulator.people.uses("status", "today")
    chat = emulator.people.dm()
    await eventually(lambda: [m for m in emulator.view(chat)["messages"] if m["text"]])
    [seen] = emulator.view(chat)["messages"]
    assert (seen["text"], seen["thinking"], seen["edits"]) == ("all well today", False, 0)


async def test_a_wrong_token_is_refused_by_both_doors(emulator: DiscordEmulator) -> None:
    async with Listener() as stranger:
        with pytest.raises(discord.LoginFailure):
            await stranger.start("MTIz.wrong.token")
    listener = Listener()
    await listener.login(emulator.token)
    emulator.revoke_token()
    with pytest.raises(discord.ConnectionClosed) as closed:
        await listener.connect()
    assert closed.value.code == 4004


async def test_the_privileged_intent_has_to_be_switched_on(emulator: DiscordEmulator) -> None:
    emulator.disallow_content()
    async with Listener() as listener:
        with pytest.raises(discord.PrivilegedIntentsRequired):
            await listener.start(emulator.token)
