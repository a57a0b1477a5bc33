"""The real slack_sdk against the emulator: what it does as Slack does, and what it does wrong when told."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import httpx
import orjson
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from roebot_testing.emulators.remote import RemoteEmulator
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.slack.workspace import STREAM_SECONDS
from roebot_testing.emulators.transcript import FrameKind

from .conftest import Ticks
from .slack_sdk_client import refused, sdk

PERSON = "U0000001"


@pytest.fixture
async def slack(ticks: Ticks) -> AsyncIterator[SlackEmulator]:
    async with SlackEmulator.serve(monotonic=ticks) as running:
        yield running


def shown(slack: SlackEmulator, channel: str = PERSON) -> list[dict[str, Any]]:
    return [message for message in slack.view(channel)["messages"] if message["from_bot"]]


# Who we are


async def test_a_form_that_is_not_utf_8_is_refused(slack: SlackEmulator) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    query = {"token": slack.bot_token}
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(
            f"{slack.url}auth.test", params=query, content=b"name=\xff", headers=headers
        )
    assert answer.json() == {"ok": False, "error": "invalid_form_data"}


async def test_auth_and_tokens(slack: SlackEmulator, web: AsyncWebClient) -> None:
    me = await web.auth_test()
    assert (me["user_id"], me["bot_id"], me["team_id"]) == ("U0ROEBOT", "B0ROEBOT", "T0EMULATOR")
    assert "chat:write" in me.headers["x-oauth-scopes"]
    assert await refused(sdk(slack, "xoxb-wrong").auth_test()) == "invalid_auth"
    assert await refused(sdk(slack, slack.app_token).auth_test()) == "not_allowed_token_type"
    assert await refused(web.apps_connections_open(app_token=slack.bot_token)) == "not_allowed_token_type"
    assert await refused(web.api_call("no.such")) == "unknown_method"
    slack.revoke_token()
    assert await refused(web.auth_test()) == "token_revoked"
    slack.restore_token()
    assert (await web.auth_test())["ok"]


async def test_people_and_places(slack: SlackEmulator, web: AsyncWebClient) -> None:
    slack.world.scopes += ",im:read"
    said = slack.people.says("hi", user=PERSON, name="Ada")
    user = (await web.users_info(user=PERSON))["user"]
    assert (user["profile"]["display_name"], user["is_restricted"]) == ("Ada", False)
    assert await refused(web.users_info(user="U0NOBODY")) == "user_not_found"
    assert (await web.conversations_open(users=PERSON))["channel"]["id"] == said.channel
    info = (await web.conversations_info(channel=said.channel))["channel"]
    assert info["is_im"] and not info["is_ext_shared"]
    assert await refused(web.conversations_info(channel="C0NOWHERE")) == "channel_not_found"


# Messages


async def test_a_post_its_update_and_its_end(slack: SlackEmulator, web: AsyncWebClient) -> None:
    asked = slack.people.says("hi", user=PERSON)
    posted = await web.chat_postMessage(
        channel=asked.channel,
        thread_ts=asked.ts,
        markdown_text="**one**",
        metadata={"event_type": "x", "event_payload": {"key": "k"}},
    )
    assert posted["message"]["thread_ts"] == asked.ts
    await web.chat_update(channel=asked.channel, ts=posted["ts"], markdown_text="two")
    [seen] = shown(slack)
    assert (seen["text"], seen["edits"], seen["thread_ts"]) == ("two", 1, asked.ts)
    thread = await web.conversations_replies(channel=asked.channel, ts=asked.ts, include_all_metadata=True)
    assert [message["user"] for message in thread["messages"]] == [PERSON, "U0ROEBOT"]
    assert thread["messages"][1]["metadata"]["event_payload"] == {"key": "k"}
    assert thread["messages"][0]["reply_count"] == 1
    bare = await web.conversations_replies(channel=asked.channel, ts=asked.ts)
    assert "metadata" not in bare["messages"][1]
    await web.chat_delete(channel=asked.channel, ts=posted["ts"])
    assert shown(slack) == []
    kinds = [frame.kind for frame in slack.transcript.of(chat=asked.channel)][:4]
    assert kinds == [FrameKind.PERSON, FrameKind.POST, FrameKind.EDIT, FrameKind.OTHER]


async def test_a_thread_is_read_in_pages(slack: SlackEmulator, web: AsyncWebClient) -> None:
    root = slack.people.says("root")
    for number in range(5):
        slack.people.says(str(number), thread=root.ts)
    first = await web.conversations_replies(channel=root.channel, ts=root.ts, limit=3)
    cursor = first["response_metadata"]["next_cursor"]
    second = await web.conversations_replies(channel=root.channel, ts=root.ts, limit=3, cursor=cursor)
    texts = [message["text"] for message in [*first["messages"], *second["messages"]]]
    assert texts == ["root", "0", "1", "2", "root", "3", "4"]
    assert not second["has_more"]
    history = await web.conversations_history(channel=root.channel)
    assert [message["text"] for message in history["messages"]] == ["root"]


async def test_what_slack_refuses(slack: SlackEmulator, web: AsyncWebClient) -> None:
    slack.limits(False)
    asked = slack.people.says("hi")
    reply = slack.people.says("a reply", thread=asked.ts)
    where = asked.channel
    assert await refused(web.chat_postMessage(channel="C0X", text="x")) == "channel_not_found"
    assert await refused(web.chat_postMessage(channel=where, markdown_text="x" * 12_001)) == "msg_too_long"
    assert (
        await refused(web.chat_postMessage(channel=where, text="x", markdown_text="y"))
        == "markdown_text_conflict"
    )
    assert await refused(web.chat_postMessage(channel=where, text="x", thread_ts="1.1")) == "thread_not_found"
    assert (
        await refused(web.chat_postMessage(channel=where, text="x", thread_ts=reply.ts)) == "thread_not_found"
    )
    assert await refused(web.chat_update(channel=where, ts="1.1", text="x")) == "message_not_found"
    assert await refused(web.chat_update(channel=where, ts=asked.ts, text="x")) == "cant_update_message"
    assert await refused(web.chat_delete(channel=where, ts=asked.ts)) == "cant_delete_message"
    posted = await web.chat_postMessage(channel=where, text="x")
    assert await refused(web.chat_update(channel=where, ts=posted["ts"], text="x" * 4001)) == "msg_too_long"
    await web.chat_update(channel=where, ts=posted["ts"], markdown_text="x" * 12_000)
    team = slack.people.make_channel("team")
    slack.people.removes_bot(team)
    assert await refused(web.chat_postMessage(channel=team, text="x")) == "not_in_channel"
    slack.people.invites_bot(team)
    slack.people.archives(team)
    assert await refused(web.chat_postMessage(channel=team, text="x")) == "is_archived"


# Streams


async def test_the_sdks_own_stream_helper(slack: SlackEmulator, web: AsyncWebClient) -> None:
    asked = slack.people.says("hi")
    stream = await web.chat_stream(channel=asked.channel, thread_ts=asked.ts, buffer_size=4)
    for word in ("one ", "two ", "three "):
        await stream.append(markdown_text=word)
    await stream.stop(markdown_text="four")
    [seen] = shown(slack)
    assert (seen["text"], seen["streamed"], seen["streaming"]) == ("one two three four", True, False)


async def test_chunks_show_tasks_beside_the_text(slack: SlackEmulator, web: AsyncWebClient) -> None:
    asked = slack.people.says("hi")
    task = {"type": "task_update", "id": "1", "title": "Look", "status": "in_progress"}
    started = await web.chat_startStream(
        channel=asked.channel, thread_ts=asked.ts, chunks=[{"type": "markdown_text", "text": "a"}, task]
    )
    await web.chat_appendStream(
        channel=asked.channel, ts=started["ts"], chunks=[{**task, "status": "complete"}]
    )
    more = [{"type": "plan_update", "title": "Plan"}, {"type": "markdown_text", "text": "b"}]
    await web.chat_stopStream(channel=asked.channel, ts=started["ts"], chunks=more)
    [seen] = shown(slack)
    assert (seen["text"], seen["plan"]) == ("ab", "Plan")
    assert seen["tasks"] == [{"id": "1", "title": "Look", "status": "complete"}]
    await web.chat_update(channel=asked.channel, ts=started["ts"], markdown_text="anew")
    assert shown(slack)[0]["tasks"] == []


@pytest.mark.parametrize(
    "chunk",
    [
        {"type": "task_update", "id": "1", "title": "Look", "status": "done"},
        {"type": "task_update", "id": "", "title": "Look", "status": "complete"},
        {"type": "task_update", "id": "1", "title": "x" * 257, "status": "complete"},
        {"type": "task_update", "id": "1", "status": "complete"},
        {"type": "plan_update"},
        {"type": "markdown_text", "text": ""},
        {"type": "something"},
    ],
)
async def test_chunks_of_another_shape_are_refused(
    slack: SlackEmulator, web: AsyncWebClient, chunk: dict[str, str]
) -> None:
    asked = slack.people.says("hi")
    started = web.chat_startStream(channel=asked.channel, thread_ts=asked.ts, chunks=[chunk])
    assert await refused(started) == "invalid_chunks"


async def test_a_stream_stays_in_its_mode(slack: SlackEmulator, web: AsyncWebClient) -> None:
    asked = slack.people.says("hi")
    where, chunks = asked.channel, [{"type": "markdown_text", "text": "b"}]
    text = (await web.chat_startStream(channel=where, thread_ts=asked.ts, markdown_text="a"))["ts"]
    other = (await web.chat_startStream(channel=where, thread_ts=asked.ts, chunks=chunks))["ts"]
    both = web.chat_appendStream(channel=where, ts=text, markdown_text="c", chunks=chunks)
    assert await refused(both) == "cannot_provide_both_markdown_text_and_chunks"
    wrong = "streaming_mode_mismatch"
    assert await refused(web.chat_appendStream(channel=where, ts=text, chunks=chunks)) == wrong
    assert await refused(web.chat_stopStream(channel=where, ts=other, markdown_text="c")) == wrong
    mode = web.chat_startStream(channel=where, thread_ts=asked.ts, task_display_mode="list")
    assert await refused(mode) == "invalid_arguments"
    assert [seen["text"] for seen in shown(slack)] == ["a", "b"]


async def test_the_rules_of_streams(slack: SlackEmulator, web: AsyncWebClient, ticks: Ticks) -> None:
    asked = slack.people.says("hi")
    where = asked.channel
    team = slack.people.make_channel("team")
    root = slack.people.says("@roebot", channel=team)
    assert await refused(web.chat_startStream(channel=team, thread_ts=root.ts)) == "missing_recipient_user_id"
    assert (
        await refused(web.chat_startStream(channel=team, thread_ts=root.ts, recipient_user_id=PERSON))
        == "missing_recipient_team_id"
    )
    ts = (await web.chat_startStream(channel=where, thread_ts=asked.ts, markdown_text="a"))["ts"]
    assert await refused(web.chat_update(channel=where, ts=ts, text="x")) == "streaming_state_conflict"
    assert (
        await refused(web.chat_appendStream(channel=where, ts=ts, markdown_text="x" * 12_001))
        == "msg_too_long"
    )
    assert await refused(web.chat_appendStream(channel=where, ts="1.1", markdown_text="x")) == (
        "message_not_found"
    )
    ticks.at += STREAM_SECONDS - 1
    await web.chat_appendStream(channel=where, ts=ts, markdown_text="b")
    ticks.at += 1
    over = "message_not_in_streaming_state"
    assert await refused(web.chat_appendStream(channel=where, ts=ts, markdown_text="c")) == over
    assert await refused(web.chat_stopStream(channel=where, ts=ts)) == over
    assert [(seen["text"], seen["streaming"]) for seen in shown(slack)] == [("ab", False)]
    await web.chat_update(channel=where, ts=ts, markdown_text="abc")
    assert shown(slack)[0]["text"] == "abc"


async def test_the_status_line_goes_with_the_next_message(slack: SlackEmulator, web: AsyncWebClient) -> None:
    asked = slack.people.says("hi")
    await web.assistant_threads_setStatus(channel_id=asked.channel, thread_ts=asked.ts, status="thinks")
    assert slack.view(asked.channel)["statuses"] == {asked.ts: "thinks"}
    await web.chat_postMessage(channel=asked.channel, thread_ts=asked.ts, text="done")
    assert slack.view(asked.channel)["statuses"] == {}
    wrong = web.assistant_threads_setStatus(channel_id=asked.channel, thread_ts="1.1", status="x")
    assert await refused(wrong) in ("invalid_thread_ts", "ratelimited")


# Limits


@pytest.mark.parametrize(
    ("method", "count"),
    [("chat.startStream", 20), ("chat.appendStream", 100), ("chat.stopStream", 20), ("chat.update", 50)],
)
async def test_each_method_has_its_minute(
    slack: SlackEmulator, web: AsyncWebClient, ticks: Ticks, method: str, count: int
) -> None:
    asked = slack.people.says("hi")
    slack.limits(False)
    opened = [
        (await web.chat_startStream(channel=asked.channel, thread_ts=asked.ts, markdown_text="a"))["ts"]
        for _ in range(21)
    ]
    posted = (await web.chat_postMessage(channel=asked.channel, text="x"))["ts"]
    slack.limits(True)

    async def call(number: int) -> None:
        ts = opened[number] if method == "chat.stopStream" else opened[0]
        await web.api_call(
            method,
            json={
                "channel": asked.channel,
                "thread_ts": asked.ts,
                "ts": posted if method == "chat.update" else ts,
                "markdown_text": "b",
            },
        )

    for number in range(count):
        await call(number)
        ticks.at += 0.1
    with pytest.raises(SlackApiError) as limited:
        await call(20)
    answer = limited.value.response
    assert (answer.status_code, answer["error"]) == (429, "ratelimited")
    assert int(answer.headers["Retry-After"]) == 60 - count // 10
    ticks.at += 60 - count // 10
    await call(20)
    assert slack.counters()["limited"] == 1


async def test_one_post_a_second_in_a_channel(
    slack: SlackEmulator, web: AsyncWebClient, ticks: Ticks
) -> None:
    asked, other = slack.people.says("hi"), slack.people.says("hi", user="U0000002")
    await web.chat_postMessage(channel=asked.channel, text="1")
    await web.chat_postMessage(channel=other.channel, text="1")
    assert await refused(web.chat_postMessage(channel=asked.channel, text="2")) == "ratelimited"
    ticks.at += 1
    await web.chat_postMessage(channel=asked.channel, text="2")


async def test_the_sdks_own_handler_waits_as_told(slack: SlackEmulator, ticks: Ticks) -> None:
    class NoWait(AsyncRateLimitErrorRetryHandler):
        async def prepare_for_next_attempt_async(self, **given: Any) -> None:
            [wait] = [
                value[0] if isinstance(value, list) else value
                for name, value in given["response"].headers.items()
                if name.lower() == "retry-after"
            ]
            ticks.at += float(wait)
            given["state"].increment_current_attempt()
            given["state"].next_attempt_requested = True

    web = sdk(slack)
    web.retry_handlers = [NoWait(max_retry_count=1)]
    asked = slack.people.says("hi")
    for text in ("1", "2"):
        await web.chat_postMessage(channel=asked.channel, text=text)
    assert [seen["text"] for seen in shown(slack)] == ["1", "2"]


async def test_a_penalty_is_for_one_channel(slack: SlackEmulator, web: AsyncWebClient, ticks: Ticks) -> None:
    slack.limits(False)
    asked, other = slack.people.says("hi"), slack.people.says("hi", user="U0000002")
    slack.penalize(asked.channel, 5000)
    with pytest.raises(SlackApiError) as limited:
        await web.chat_postMessage(channel=asked.channel, text="x")
    assert limited.value.response.headers["Retry-After"] == "5000"
    await web.chat_postMessage(channel=other.channel, text="x")
    ticks.at += 5000
    await web.chat_postMessage(channel=asked.channel, text="x")


async def test_a_scale_shortens_periods_and_streams(slack: SlackEmulator, ticks: Ticks) -> None:
    web = sdk(slack)
    slack.limits(True, scale=0.1)
    asked = slack.people.says("hi")
    ts = (await web.chat_startStream(channel=asked.channel, thread_ts=asked.ts, markdown_text="a"))["ts"]
    ticks.at += STREAM_SECONDS / 10
    assert await refused(web.chat_stopStream(channel=asked.channel, ts=ts)) == (
        "message_not_in_streaming_state"
    )


# Faults


async def test_a_response_dropped_after_the_commit(slack: SlackEmulator, web: AsyncWebClient) -> None:
    asked = slack.people.says("hi")
    slack.fault("drop", method="chat.postMessage")
    with pytest.raises(aiohttp.ClientError):
        await web.chat_postMessage(channel=asked.channel, text="there")
    assert [seen["text"] for seen in shown(slack)] == ["there"]
    [frame] = slack.transcript.of(FrameKind.POST)
    assert (frame.status, frame.committed) == (0, True)


async def test_a_connection_closed_before(slack: SlackEmulator, web: AsyncWebClient) -> None:
    asked = slack.people.says("hi")
    slack.fault("close", method="chat.postMessage", chat=asked.channel)
    with pytest.raises(aiohttp.ClientError):
        await web.chat_postMessage(channel=asked.channel, text="never")
    assert shown(slack) == []


async def test_an_error_of_choice(slack: SlackEmulator, web: AsyncWebClient) -> None:
    slack.fault("error", method="auth.test", status=200, description="account_inactive", skip=1)
    await web.auth_test()
    assert await refused(web.auth_test()) == "account_inactive"
    slack.fault("error", method="auth.test", times=-1)
    assert await refused(web.auth_test()) == "internal_error"
    slack.clear_faults()
    await web.auth_test()
    assert slack.counters()["faults_struck"] == 2


# Files


async def test_files_go_both_ways(slack: SlackEmulator, web: AsyncWebClient) -> None:
    asked = slack.people.says("see", data=b"abc" * 1000, filename="a.txt")
    [file] = asked.files
    info = (await web.files_info(file=file.id))["file"]
    assert (info["name"], info["size"], info["mimetype"]) == ("a.txt", 3000, "text/plain")
    async with httpx.AsyncClient(trust_env=False) as http:
        headers = {"authorization": f"Bearer {slack.bot_token}"}
        content = await http.get(info["url_private_download"], headers=headers)
        assert content.content == b"abc" * 1000
        page = await http.get(info["url_private_download"])
        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    slack.limits(False)
    await web.files_upload_v2(
        channel=asked.channel, thread_ts=asked.ts, filename="r.csv", content="1,2", initial_comment="here"
    )
    [seen] = shown(slack)
    assert (seen["files"], seen["text"], seen["thread_ts"]) == (["r.csv"], "here", asked.ts)


async def test_a_file_of_a_shared_channel_comes_as_its_id_alone(slack: SlackEmulator) -> None:
    shared = slack.people.make_channel("shared", shared=True)
    slack.people.says("@roebot see", channel=shared, data=b"x", filename="a.txt")
    [*_, envelope] = slack.outbox._waiting
    assert envelope.payload["event"]["files"][0]["file_access"] == "check_file_info"
    assert "url_private" not in envelope.payload["event"]["files"][0]


# Socket Mode


class Listener:
    """The SDK's Socket Mode client; acknowledges unless told not to."""

    def __init__(self, slack: SlackEmulator) -> None:
        self.got: list[SocketModeRequest] = []
        self.acks = True
        self.client = SocketModeClient(slack.app_token, web_client=sdk(slack), ping_interval=0.2)
        self.client.proxy = None
        self.client.socket_mode_request_listeners.append(self.take)  # type: ignore[arg-type]

    async def take(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        self.got.append(request)
        if self.acks:
            await client.send_socket_mode_response(SocketModeResponse(request.envelope_id))

    async def until(self, count: int) -> list[SocketModeRequest]:
        async with asyncio.timeout(30):
            while len(self.got) < count:
                await asyncio.sleep(0.005)
        return self.got


@pytest.fixture
async def listener(slack: SlackEmulator) -> AsyncIterator[Listener]:
    slack.limits(False)
    listening = Listener(slack)
    await listening.client.connect()
    yield listening
    await listening.client.close()


async def eventually(condition: Any) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.005)


async def test_a_mention_comes_as_two_events_of_one_message(slack: SlackEmulator, listener: Listener) -> None:
    team = slack.people.make_channel("team")
    said = slack.people.says("@roebot hi", channel=team)
    first, second = (request.payload for request in await listener.until(2))
    assert [first["event"]["type"], second["event"]["type"]] == ["app_mention", "message"]
    assert first["event"]["ts"] == second["event"]["ts"] == said.ts
    assert first["event_id"] != second["event_id"]
    assert second["event"]["text"] == "<@U0ROEBOT> hi" and second["event"]["channel_type"] == "channel"
    assert first["authorizations"][0]["user_id"] == "U0ROEBOT"
    await eventually(lambda: slack.counters()["acked_events"] == 2)


async def test_commands_clicks_and_stops(slack: SlackEmulator, listener: Listener) -> None:
    web = sdk(slack)
    asked = slack.people.says("hi")
    started = await web.chat_startStream(channel=asked.channel, thread_ts=asked.ts, markdown_text="a")
    slack.people.stops(asked.channel, asked.ts)
    slack.people.commands("status")
    slack.people.clicks(asked.channel, started["ts"], "yes")
    got = await listener.until(5)
    kinds = [request.type for request in got]
    assert kinds == ["events_api", "events_api", "events_api", "slash_commands", "interactive"]
    stopped = got[2].payload["event"]
    assert stopped["streaming_message_ts"] == [started["ts"]]
    assert got[3].payload["command"] == "/roebot"
    assert got[4].payload["actions"][0]["value"] == "yes"
    async with httpx.AsyncClient(trust_env=False) as http:
        url = got[3].payload["response_url"]
        for _ in range(5):
            assert (await http.post(url, json={"text": "for you"})).status_code == 200
    assert shown(slack)[-1]["visible_to"] == PERSON


async def test_what_is_not_acknowledged_comes_again(slack: SlackEmulator, listener: Listener) -> None:
    slack.limits(False, scale=0.001)
    listener.acks = False
    slack.people.says("again")
    got = await listener.until(4)
    assert [request.retry_attempt for request in got] == [0, 1, 2, 3]
    assert len({request.payload["event_id"] for request in got}) == 1
    assert got[1].retry_reason == "timeout"


async def test_redelivery_duplicates_and_order(slack: SlackEmulator, listener: Listener) -> None:
    slack.duplicate()
    slack.people.says("twice")
    one, two = await listener.until(2)
    assert one.payload["event_id"] == two.payload["event_id"] and one.envelope_id != two.envelope_id
    slack.duplicate(False)
    await eventually(lambda: slack.counters()["acked_events"] == 2)
    slack.redeliver()
    await listener.until(3)
    slack.reorder(2)
    slack.people.says("first")
    slack.people.says("second")
    got = await listener.until(5)
    assert [request.payload["event"]["text"] for request in got[3:]] == ["second", "first"]


async def test_connections_end_and_begin(slack: SlackEmulator, listener: Listener) -> None:
    slack.disconnect()
    await eventually(lambda: slack.socket.opened == 2)
    slack.close_sockets()
    slack.people.says("while away")
    await listener.until(1)
    slack.stall()
    slack.people.says("held")
    assert slack.counters()["unacked_events"] >= 1
    slack.release()
    await listener.until(2)


async def test_each_event_goes_to_one_connection(slack: SlackEmulator, listener: Listener) -> None:
    other = Listener(slack)
    await other.client.connect()
    await eventually(lambda: slack.socket.connections == 2)
    for number in range(10):
        slack.people.says(str(number))
    await eventually(lambda: len(listener.got) + len(other.got) == 10)
    assert listener.got and other.got
    await other.client.close()


# The control surface


async def test_people_act_over_http(slack: SlackEmulator) -> None:
    async with RemoteEmulator(slack.origin) as remote:
        team = await remote.do("make_channel", name="team")
        said = await remote.do("says", text="hi", channel=team, name="Ada")
        assert (said["channel"], said["text"], said["name"]) == (team, "hi", "Ada")
        await remote.do("says", text="file", channel=team, data=b"\0\1", filename="a.bin")
        await remote.do("edits", channel=team, ts=said["ts"], text="ho")
        view = await remote.do("view", channel=team)
        assert [message["text"] for message in view["messages"]] == ["ho", "file"]
        frames = await remote.transcript()
        assert [frame["method"] for frame in frames] == ["says", "says"]
        with pytest.raises(ValueError, match="no such control"):
            await remote.do("nothing")
        with pytest.raises(ValueError, match="KeyError"):
            await remote.do("edits", channel="C1", ts="1", text="x")
        await remote.do("reset")
        assert await remote.do("views") == []


async def test_it_runs_as_a_process_and_ends_on_a_signal() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "roebot_testing.emulators.slack", "--port", "0", "--no-limits", "--scale", "0.5"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    line = (await asyncio.wait_for(process.stdout.readline(), 30)).decode()
    url = line.split()[3]
    async with RemoteEmulator(url.removesuffix("/api/")) as remote:
        assert (await remote.do("counters"))["connections"] == 0
    process.terminate()
    assert await asyncio.wait_for(process.wait(), 30) == 0


async def test_bodies_that_make_no_sense(slack: SlackEmulator) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        headers = {"authorization": f"Bearer {slack.bot_token}", "content-type": "application/json"}
        for body, error in ((b"{", "invalid_json"), (b"[1]", "json_not_object")):
            answer = await http.post(f"{slack.url}chat.postMessage", content=body, headers=headers)
            assert orjson.loads(answer.content)["error"] == error
        assert (await http.get(f"{slack.origin}/elsewhere")).status_code == 404
        assert (await http.post(f"{slack.url}auth.test")).json()["error"] == "not_authed"
