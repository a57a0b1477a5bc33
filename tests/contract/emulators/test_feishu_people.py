"""What people do on the emulated Feishu, and its control surface for other processes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx
import orjson
import pytest

from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.feishu.ws_frame import CONTROL, DATA, WsFrame, decode
from roebot_testing.emulators.remote import RemoteEmulator

from .feishu_app import Rest


@pytest.fixture
async def feishu() -> AsyncIterator[FeishuEmulator]:
    async with FeishuEmulator.serve(limits=False, scale=0.01) as running:
        yield running


@pytest.fixture
async def remote(feishu: FeishuEmulator) -> AsyncIterator[RemoteEmulator]:
    async with RemoteEmulator(feishu.url) as control:
        yield control


class App:
    """A client of the long connection, frame by frame."""

    def __init__(self, feishu: FeishuEmulator) -> None:
        self.feishu = feishu

    async def connect(self) -> Any:
        import aiohttp

        self.session = aiohttp.ClientSession()
        body = {"AppID": self.feishu.app_id, "AppSecret": self.feishu.app_secret}
        async with self.session.post(f"{self.feishu.url}/callback/ws/endpoint", json=body) as answer:
            self.endpoint = (await answer.json())["data"]
        self.socket = await self.session.ws_connect(self.endpoint["URL"])
        return self

    async def next(self) -> WsFrame:
        async with asyncio.timeout(30):
            return decode(await self.socket.receive_bytes())

    async def event(self) -> Any:
        return orjson.loads((await self.next()).payload)

    async def answer(self, frame: WsFrame, code: int = 200) -> None:
        frame.payload = orjson.dumps({"code": code})
        await self.socket.send_bytes(frame.encode())

    async def close(self) -> None:
        # A socket that is left to the session warns whenever it is collected, in any later test.
        await self.socket.close()
        await self.session.close()


@pytest.fixture
async def app(feishu: FeishuEmulator) -> AsyncIterator[App]:
    connected = await App(feishu).connect()
    yield connected
    await connected.close()


async def test_the_endpoint_tells_how_to_connect(app: App) -> None:
    assert app.endpoint["ClientConfig"]["PingInterval"] == 120
    assert app.endpoint["URL"].startswith("ws://127.0.0.1:")


async def test_a_wrong_secret_gets_no_address(feishu: FeishuEmulator) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        answer = await http.post(
            f"{feishu.url}/callback/ws/endpoint", json={"AppID": feishu.app_id, "AppSecret": "wrong"}
        )
    assert answer.json()["code"] == 10014


async def test_a_ticket_is_good_once(app: App) -> None:
    import aiohttp

    with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
        await app.session.ws_connect(app.endpoint["URL"])
    assert caught.value.headers is not None
    assert caught.value.headers["handshake-status"] == "514"


async def test_pings_are_answered(app: App) -> None:
    await app.socket.send_bytes(WsFrame(CONTROL, {"type": "ping"}, service=7).encode())
    frame = await app.next()
    assert (frame.method, frame.headers["type"], frame.service) == (CONTROL, "pong", 7)


async def test_an_event_as_it_travels(feishu: FeishuEmulator, app: App) -> None:
    said = feishu.people.says("hi", name="Ada")
    frame = await app.next()
    assert frame.method == DATA
    assert (frame.headers["type"], frame.headers["sum"], frame.headers["seq"]) == ("event", "1", "0")
    payload = orjson.loads(frame.payload)
    assert payload["schema"] == "2.0"
    assert payload["header"]["event_type"] == "im.message.receive_v1"
    assert payload["header"]["app_id"] == feishu.app_id
    assert payload["event"]["sender"]["sender_type"] == "user"
    message = payload["event"]["message"]
    assert (message["message_id"], message["chat_type"]) == (said.id, "p2p")
    assert orjson.loads(message["content"]) == {"text": "hi"}
    assert "mentions" not in message


async def test_an_event_is_pushed_until_it_is_acknowledged(feishu: FeishuEmulator, app: App) -> None:
    feishu.people.says("hi")
    first = await app.next()
    second = await app.next()
    assert orjson.loads(first.payload) == orjson.loads(second.payload)
    await app.answer(second, 500)
    third = await app.next()
    await app.answer(third)
    async with asyncio.timeout(30):
        while feishu.counters()["unanswered_events"]:
            await asyncio.sleep(0.01)
    assert feishu.pushes.sent[0].tries == 3
    assert feishu.socket.acked == [500, 200]


async def test_mentions_are_placeholders(feishu: FeishuEmulator, app: App) -> None:
    feishu.world.person("ou_ben0000000000000001", "Ben")
    feishu.people.says("@Roebot ask @Ben and @all", chat=feishu.people.make_group())
    message = (await app.event())["event"]["message"]
    assert orjson.loads(message["content"])["text"] == "@_user_1 ask @_user_2 and @_all"
    assert [mention["name"] for mention in message["mentions"]] == ["Roebot", "Ben"]
    assert message["mentions"][0]["id"]["open_id"] == feishu.world.bot.open_id


async def test_without_the_scope_only_mentions_are_heard(feishu: FeishuEmulator, app: App) -> None:
    feishu.people.group_messages = False
    place = feishu.people.make_group()
    feishu.people.says("nobody", chat=place)
    feishu.people.says("@Roebot you", chat=place)
    assert "mentions" in (await app.event())["event"]["message"]


async def test_topics_and_chains(feishu: FeishuEmulator, app: App) -> None:
    place = feishu.people.make_group()
    root = feishu.people.says("root", chat=place)
    chain = feishu.people.says("below", chat=place, reply_to=root.id)
    deeper = feishu.people.says("deeper", chat=place, reply_to=chain.id)
    assert (chain.root_id, chain.parent_id, chain.thread_id) == (root.id, root.id, "")
    assert (deeper.root_id, deeper.parent_id) == (root.id, chain.id)
    other = feishu.people.says("other", chat=place)
    topic = feishu.people.says("t", chat=place, reply_to=other.id, in_thread=True)
    again = feishu.people.says("t", chat=place, reply_to=topic.id)
    assert topic.thread_id == other.thread_id == again.thread_id != ""
    assert (again.root_id, again.parent_id) == (other.id, other.id)


async def test_a_long_event_comes_in_pieces(feishu: FeishuEmulator, app: App) -> None:
    feishu.socket.fragment = 64
    feishu.people.says("x" * 300)
    first = await app.next()
    total = int(first.headers["sum"])
    frames = [first] + [await app.next() for _ in range(total - 1)]
    assert [frame.headers["seq"] for frame in frames] == [str(number) for number in range(total)]
    payload = orjson.loads(b"".join(frame.payload for frame in frames))
    assert orjson.loads(payload["event"]["message"]["content"])["text"] == "x" * 300


async def test_closing_and_what_waits(feishu: FeishuEmulator, app: App) -> None:
    assert feishu.close_sockets() == 1
    import aiohttp

    async with asyncio.timeout(30):
        assert (await app.socket.receive()).type is aiohttp.WSMsgType.CLOSE
        while feishu.counters()["connections"]:
            await asyncio.sleep(0.01)
    feishu.people.says("later")
    assert feishu.counters()["waiting_events"] == 1
    again = await App(feishu).connect()
    assert (await again.event())["event"]["message"]["chat_type"] == "p2p"
    await again.close()


async def test_people_act_over_http(feishu: FeishuEmulator, remote: RemoteEmulator) -> None:
    said = await remote.do("says", text="hi", name="Ada", kind="file", data=b"\0\1", filename="a.bin")
    assert (said["kind"], said["content"]["file_name"]) == ("file", "a.bin")
    group = await remote.do("make_group", title="Team")
    many = await remote.do("says_many", messages=[{"text": "a", "chat": group}, {"text": "b", "chat": group}])
    assert [message["text"] for message in many] == ["a", "b"]
    menu = await remote.do("chooses", key="new")
    assert menu["event_id"].startswith("evt_")
    view = await remote.do("view", chat=group)
    assert (view["title"], [message["text"] for message in view["messages"]]) == ("Team", ["a", "b"])
    assert {chat["chat"] for chat in await remote.do("views")} == {said["chat"], group}
    await remote.do("recalls", message_id=many[0]["message_id"])
    assert len((await remote.do("view", chat=group))["messages"]) == 1


async def test_pushes_go_to_an_address_when_told_so(remote: RemoteEmulator) -> None:
    told = await remote.do("callbacks", url="http://127.0.0.1:9/webhooks/feishu", encrypt_key="a key")
    assert told == {"url": "http://127.0.0.1:9/webhooks/feishu"}


async def test_faults_limits_and_counters_over_http(feishu: FeishuEmulator, remote: RemoteEmulator) -> None:
    await remote.do("fault", kind="error", method="message.create", status=502, description="Bad Gateway")
    await remote.do("limits", enabled=True, scale=2)
    assert feishu.rate_limits.enabled and feishu.rate_limits.scale == 2
    rest = Rest(feishu)
    await rest.authorize()
    chat = await remote.do("private_chat")
    body = {"receive_id": chat, "msg_type": "text", "content": '{"text":"x"}'}
    assert (await rest.call("POST", "im/v1/messages", body)).status_code == 502
    counters = await remote.do("counters")
    assert counters["calls"] == {"token": 1, "message.create": 1}
    assert counters["statuses"] == {"200": 1, "502": 1}
    [frame] = await remote.transcript()
    assert (frame["method"], frame["status"], frame["committed"]) == ("message.create", 502, False)
    await remote.do("reset")
    assert await remote.transcript() == []
    await rest.close()


@pytest.mark.parametrize(
    ("action", "arguments", "words"),
    [
        ("view", {"chat": "oc_unknown"}, "KeyError"),
        ("says", {"nonsense": 1}, "TypeError"),
        ("fault", {"kind": "explode"}, "ValueError"),
        ("no_such_thing", {}, "no such control"),
    ],
)
async def test_wrong_orders_are_explained(
    remote: RemoteEmulator, action: str, arguments: dict[str, object], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        await remote.do(action, **arguments)


async def test_it_runs_as_a_process_and_ends_on_a_signal() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "roebot_testing.emulators.feishu",
        "--port",
        "0",
        "--no-limits",
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    line = (await asyncio.wait_for(process.stdout.readline(), 30)).decode()
    assert line.startswith("Feishu emulator on http://127.0.0.1:")
    async with RemoteEmulator(line.split()[3]) as remote:
        said = await remote.do("says", text="hi")
        assert (await remote.do("view", chat=said["chat"]))["messages"][0]["text"] == "hi"
    process.terminate()
    assert await asyncio.wait_for(process.wait(), 30) == 0
