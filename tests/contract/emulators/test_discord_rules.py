"""The emulator refuses what Discord refuses, counts as Discord counts, and is driven from other processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import httpx
import pytest

from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.discord.gateway import DIRECT_MESSAGES, GUILD_MESSAGES, GUILDS, MESSAGE_CONTENT
from roebot_testing.emulators.discord.permissions import BotPermission, permissions_of
from roebot_testing.emulators.remote import RemoteEmulator

from .conftest import Ticks

ALL = GUILDS | GUILD_MESSAGES | DIRECT_MESSAGES | MESSAGE_CONTENT


@pytest.fixture
async def emulator(ticks: Ticks) -> AsyncIterator[DiscordEmulator]:
    async with DiscordEmulator.serve(monotonic=ticks) as running:
        yield running


class Wire:
    """A bare gateway connection."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def said(self) -> dict[str, Any]:
        payload: dict[str, Any] = await self.socket.receive_json(timeout=5)
        return payload

    async def events(self, count: int) -> list[tuple[str, int]]:
        found = [await self.said() for _ in range(count)]
        return [(payload["t"], payload["s"]) for payload in found]

    async def identify(self, token: str, intents: int = ALL) -> str:
        assert (await self.said())["op"] == 10
        await self.socket.send_json({"op": 2, "d": {"token": token, "intents": intents}})
        ready = await self.said()
        assert (ready["t"], ready["s"]) == ("READY", 1)
        return str(ready["d"]["session_id"])

    async def closed(self) -> int | None:
        while (message := await self.socket.receive(timeout=5)).type is aiohttp.WSMsgType.TEXT:
            pass
        assert message.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)
        return self.socket.close_code


@pytest.fixture
async def wires(emulator: DiscordEmulator) -> AsyncIterator[Any]:
    async with aiohttp.ClientSession() as session:

        async def connect() -> Wire:
            return Wire(await session.ws_connect(emulator.gateway.url))

        yield connect


async def test_five_posts_in_five_seconds_in_each_channel(
    emulator: DiscordEmulator, api: httpx.AsyncClient, ticks: Ticks
) -> None:
    first, second = emulator.people.dm(), emulator.people.dm(7)
    for left in (4, 3, 2, 1, 0):
        done = await api.post(f"/channels/{first}/messages", json={"content": "x"})
        assert done.headers["x-ratelimit-remaining"] == str(left)
        assert (done.headers["x-ratelimit-limit"], done.headers["x-ratelimit-reset-after"]) == ("5", "5.000")
    refused = await api.post(f"/channels/{first}/messages", json={"content": "x"})
    assert refused.status_code == 429
    assert refused.json() == {
        "message": "You are being rate limited.",
        "retry_after": 5.0,
        "global": False,
    }
    assert (refused.headers["via"], refused.headers["retry-after"]) == ("1.1 google", "5")
    assert refused.headers["x-ratelimit-scope"] == "user"
    assert refused.headers["x-ratelimit-bucket"] == done.headers["x-ratelimit-bucket"]
    assert (await api.post(f"/channels/{first}/typing")).status_code == 204
    assert (await api.post(f"/channels/{second}/messages", json={"content": "x"})).status_code == 200
    ticks.at += 5
    assert (await api.post(f"/channels/{first}/messages", json={"content": "x"})).status_code == 200
    assert emulator.counters()["limited"] == 1


async def test_fifty_calls_a_second_in_all(emulator: DiscordEmulator, api: httpx.AsyncClient) -> None:
    done = [await api.post(f"/channels/{emulator.people.dm(n)}/typing") for n in range(1, 52)]
    assert [answer.status_code for answer in done].count(204) == 50
    assert done[-1].json()["global"] is True
    assert (done[-1].headers["x-ratelimit-global"], done[-1].headers["x-ratelimit-scope"]) == (
        "true",
        "global",
    )


@pytest.mark.parametrize(
    ("allowed", "pinged", "mentioned"),
    [
        (None, [5, 7], [5, 7]),
        ({}, [], [5]),
        ({"parse": []}, [], [5]),
        ({"parse": [], "replied_user": True}, [7], [5, 7]),
        ({"parse": ["users"]}, [5], [5]),
        ({"parse": [], "users": ["5"], "replied_user": True}, [5, 7], [5, 7]),
    ],
)
async def test_allowed_mentions_say_who_is_pinged(
    emulator: DiscordEmulator, api: httpx.AsyncClient, allowed: Any, pinged: list[int], mentioned: list[int]
) -> None:
    chat = emulator.people.make_group()
    asked = emulator.people.says("hi", chat=chat, user=7)
    body = {"content": "<@5> hi", "message_reference": {"message_id": str(asked.id)}}
    body |= {} if allowed is None else {"allowed_mentions": allowed}
    posted = (await api.post(f"/channels/{chat}/messages", json=body)).json()
    assert emulator.view(chat)["messages"][-1]["pinged"] == pinged
    assert [int(user["id"]) for user in posted["mentions"]] == mentioned


async def test_interactions_are_not_counted_among_all_calls(
    emulator: DiscordEmulator, api: httpx.AsyncClient
) -> None:
    number = emulator.people.uses("status")
    [token] = emulator.world.interactions
    calls = [await api.post(f"/channels/{emulator.people.dm(n)}/typing") for n in range(1, 52)]
    assert calls[-1].status_code == 429
    done = await api.post(f"/interactions/{number}/{token}/callback", json={"type": 5})
    assert done.status_code == 204
    answer = f"/webhooks/{emulator.world.bot.id}/{token}/messages/@original"
    assert (await api.patch(answer, json={"content": "well"})).status_code == 200


async def test_a_penalty_is_one_channels_and_scale_shortens_limits(
    emulator: DiscordEmulator, api: httpx.AsyncClient, ticks: Ticks
) -> None:
    chat, other = emulator.people.dm(), emulator.people.dm(7)
    emulator.penalize(chat, 5000)
    refused = await api.post(f"/channels/{chat}/messages", json={"content": "x"})
    assert refused.json()["retry_after"] == 5000
    assert (await api.post(f"/channels/{other}/typing")).status_code == 204
    ticks.at += 5000
    emulator.limits(enabled=True, scale=0.1)
    done = await api.post(f"/channels/{chat}/messages", json={"content": "x"})
    assert done.headers["x-ratelimit-reset-after"] == "0.500"


async def test_tokens_routes_and_channels_are_checked(
    emulator: DiscordEmulator, api: httpx.AsyncClient
) -> None:
    assert (await api.get("/users/@me", headers={"Authorization": "Bot x"})).status_code == 401
    assert (await api.get("/nothing")).json() == {"message": "404: Not Found", "code": 0}
    assert (await api.get("/channels/5")).json()["code"] == 10003
    chat = emulator.people.make_group()
    asked = emulator.people.says("hi", chat=chat)
    edit = await api.patch(f"/channels/{chat}/messages/{asked.id}", json={"content": "mine"})
    assert (edit.status_code, edit.json()["code"]) == (403, 50005)
    assert (await api.delete(f"/channels/{chat}/messages/{asked.id}")).json()["code"] == 50013
    assert (await api.get(f"/channels/{chat}/messages/5")).json()["code"] == 10008
    long = await api.post(f"/channels/{chat}/messages", json={"content": "x" * 2001})
    assert (long.status_code, long.json()["code"]) == (400, 50035)
    guild = emulator.world.channels[chat].guild
    assert guild is not None
    emulator.people.removes_bot(guild.id)
    assert (await api.get(f"/channels/{chat}")).json()["code"] == 50001
    assert emulator.counters()["invalid"] == 4


async def test_a_response_can_be_dropped_after_the_work(
    emulator: DiscordEmulator, api: httpx.AsyncClient
) -> None:
    chat = emulator.people.dm()
    emulator.fault("drop", method="createMessage")
    with pytest.raises(httpx.HTTPError):
        await api.post(f"/channels/{chat}/messages", json={"content": "x"})
    emulator.fault("close", method="createMessage")
    with pytest.raises(httpx.HTTPError):
        await api.post(f"/channels/{chat}/messages", json={"content": "y"})
    assert [message["text"] for message in emulator.view(chat)["messages"]] == ["x"]
    assert [(f.status, f.committed) for f in emulator.transcript.of(chat=chat)] == [(0, True), (0, False)]


async def test_a_connection_is_closed_whatever_the_token(
    emulator: DiscordEmulator, api: httpx.AsyncClient
) -> None:
    emulator.fault("close", method="getMe")
    with pytest.raises(httpx.HTTPError):
        await api.get("/users/@me", headers={"Authorization": "Bot x"})
    assert emulator.counters()["statuses"] == {"0": 1}
    assert emulator.counters()["invalid"] == 0


async def test_files_under_one_name_are_all_kept_in_order(
    emulator: DiscordEmulator, api: httpx.AsyncClient
) -> None:
    chat = emulator.people.dm()
    files = [("file", (name, name.encode(), "text/plain")) for name in ("b.txt", "a.txt")]
    payload = ("payload_json", ("body.json", b'{"content": "two"}', "application/json"))
    posted = await api.post(f"/channels/{chat}/messages", files=[files[0], payload, files[1]])
    assert posted.json()["content"] == "two"
    assert [file["filename"] for file in posted.json()["attachments"]] == ["b.txt", "a.txt"]


async def test_a_form_with_a_payload_that_is_no_json_is_refused(
    emulator: DiscordEmulator, api: httpx.AsyncClient
) -> None:
    chat = emulator.people.dm()
    files = {"files[0]": ("a.txt", b"a", "text/plain")}
    wrong = await api.post(f"/channels/{chat}/messages", data={"payload_json": "{"}, files=files)
    assert (wrong.status_code, wrong.json()["code"]) == (400, 50035)
    assert emulator.view(chat)["messages"] == []


async def test_a_session_is_resumed_from_where_it_was(emulator: DiscordEmulator, wires: Any) -> None:
    wire = await wires()
    session = await wire.identify(emulator.token)
    emulator.people.says("one")
    assert await wire.events(1) == [("MESSAGE_CREATE", 2)]
    await wire.socket.send_json({"op": 1, "d": 2})
    assert (await wire.said())["op"] == 11
    await wire.socket.close()
    emulator.people.says("two")
    again = await wires()
    assert (await again.said())["op"] == 10
    await again.socket.send_json({"op": 6, "d": {"token": emulator.token, "session_id": session, "seq": 2}})
    assert await again.events(2) == [("MESSAGE_CREATE", 3), ("RESUMED", 4)]
    assert (emulator.gateway.identified, emulator.gateway.resumed) == (1, 1)


async def test_an_unknown_session_is_invalid(emulator: DiscordEmulator, wires: Any) -> None:
    wire = await wires()
    await wire.said()
    await wire.socket.send_json({"op": 6, "d": {"token": emulator.token, "session_id": "x", "seq": 2}})
    assert await wire.said() == {"op": 9, "d": False}


async def test_close_codes(emulator: DiscordEmulator, wires: Any) -> None:
    for sent, code in (
        ({"op": 2, "d": {"token": "wrong", "intents": 0}}, 4004),
        ({"op": 77}, 4001),
        ({"op": 3, "d": {}}, 4003),
        ({"d": 1}, 4002),
        ({"op": 3, "d": "x" * 4096}, 4002),
        ({"op": 2, "d": {"token": emulator.token, "intents": 1 << 17}}, 4013),
    ):
        wire = await wires()
        await wire.socket.send_json(sent)
        assert await wire.closed() == code
    emulator.disallow_content()
    wire = await wires()
    await wire.socket.send_json({"op": 2, "d": {"token": emulator.token, "intents": ALL}})
    assert await wire.closed() == 4014


async def test_a_connection_identifies_once(emulator: DiscordEmulator, wires: Any) -> None:
    wire = await wires()
    session = await wire.identify(emulator.token)
    await wire.socket.send_json({"op": 2, "d": {"token": emulator.token, "intents": ALL}})
    assert await wire.closed() == 4005
    again = await wires()
    await again.socket.send_json({"op": 6, "d": {"token": emulator.token, "session_id": session, "seq": 900}})
    assert await again.closed() == 4007


async def test_a_connection_sends_120_payloads_a_minute(
    emulator: DiscordEmulator, wires: Any, ticks: Ticks
) -> None:
    wire = await wires()
    assert (await wire.said())["op"] == 10
    for _ in range(2):
        for _ in range(120):
            await wire.socket.send_json({"op": 1, "d": None})
            assert (await wire.said())["op"] == 11
        ticks.at += 60
    ticks.at -= 1
    await wire.socket.send_json({"op": 1, "d": None})
    assert await wire.closed() == 4008


async def test_intents_decide_what_is_sent(emulator: DiscordEmulator, wires: Any) -> None:
    wire = await wires()
    await wire.identify(emulator.token, GUILDS | GUILD_MESSAGES)
    chat = emulator.people.make_group()
    emulator.people.says("in private")
    emulator.people.says("secret", chat=chat)
    emulator.people.says(f"<@{emulator.world.bot.id}> open", chat=chat)
    found = [await wire.said() for _ in range(4)]
    assert [payload["t"] for payload in found[:2]] == ["GUILD_CREATE", "CHANNEL_CREATE"]
    assert [payload["d"]["content"] for payload in found[2:]] == ["", f"<@{emulator.world.bot.id}> open"]


async def test_an_interaction_is_answered_once_and_in_time(
    emulator: DiscordEmulator, api: httpx.AsyncClient
) -> None:
    number = emulator.people.uses("status")
    token = next(iter(emulator.world.interactions))
    answer = f"/interactions/{number}/{token}/callback"
    hook = f"/webhooks/{emulator.world.bot.id}/{token}"
    assert (await api.post(hook, json={"content": "early"})).json()["code"] == 10015
    assert (await api.post(answer, json={"type": 5})).status_code == 204
    assert (await api.post(answer, json={"type": 5})).json()["code"] == 40060
    assert (await api.get(f"{hook}/messages/@original")).json()["flags"] == 128
    await api.patch(f"{hook}/messages/@original", json={"content": "done"})
    more = (await api.post(hook, json={"content": "more"})).json()
    await api.patch(f"{hook}/messages/{more['id']}", json={"content": "more!"})
    texts = [message["text"] for message in emulator.view(emulator.people.dm())["messages"]]
    assert texts == ["done", "more!"]
    assert (await api.delete(f"{hook}/messages/@original")).status_code == 204
    late = emulator.people.uses("status")
    other = list(emulator.world.interactions)[-1]
    emulator.world.interactions[other].made_at -= 4
    refused = await api.post(f"/interactions/{late}/{other}/callback", json={"type": 5})
    assert refused.json()["code"] == 10062


async def test_people_act_over_http(emulator: DiscordEmulator) -> None:
    async with RemoteEmulator(emulator.origin) as remote:
        said = await remote.do("says", text="hi", name="Ada", filename="a", data=b"\0\1")
        assert (said["text"], said["name"], said["kind"]) == ("hi", "Ada", "file")
        group = await remote.do("make_group", title="Team")
        thread = await remote.do("make_thread", chat=group, title="Plans")
        many = await remote.do("says_many", messages=[{"text": "a", "chat": thread}] * 2)
        assert [message["topic"] for message in many] == [thread, thread]
        await remote.do("edits", chat=said["chat"], message_id=said["message_id"], text="ho")
        await remote.do("denies", chat=group, permissions=["SEND_MESSAGES"])
        assert not permissions_of(emulator.world.channels[group]) & BotPermission.SEND_MESSAGES
        view = await remote.do("view", chat=said["chat"])
        assert [message["text"] for message in view["messages"]] == ["ho"]
        frames = await remote.transcript()
        assert [frame["method"] for frame in frames] == ["says", "says", "says", "edits"]
        with pytest.raises(ValueError, match="no such control"):
            await remote.do("nothing")
        await remote.do("cut_sockets")
        await remote.do("reset")
        assert await remote.do("views") == []


async def test_it_runs_as_a_process_of_its_own() -> None:
    import sys

    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "roebot_testing.emulators.discord",
        "--port",
        "0",
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    line = (await asyncio.wait_for(process.stdout.readline(), 30)).decode()
    base = line.split()[3]
    async with httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(f"{base}/gateway")).json()["url"].startswith("ws://127.0.0.1:")
    process.terminate()
    assert await asyncio.wait_for(process.wait(), 30) == 0
