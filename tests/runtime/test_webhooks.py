"""Webhooks of runs: which may be named, what is sent, when it is repeated, and what a kill leaves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk.errors import UnprocessableEntityError
from pydantic import ValidationError

from agent.errors import GraphLoadError, Invalid
from agent.runtime import webhooks as sender
from agent.runtime.domain import WebhookDelivery
from agent.runtime.settings import ProjectSettings
from agent.runtime.store.database import RuntimeDatabase
from agent.runtime.store.webhooks import add_with, count_deliveries
from agent.runtime.webhook_settings import WebhookSettings, read_secret, sign
from roebot_testing.clock import ManualClock
from tests.runtime import graphs
from tests.runtime.receiver import Received, Receiver, receiving
from tests.runtime.serving import Served, serve

LOCAL: Any = {"allowed_domains": ["127.0.0.1"], "require_https": False, "disable_loopback": False}
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def settings_of(url: Any = LOCAL, **keys: Any) -> Any:
    """Options of a server whose runs may name webhooks on this machine."""
    found = WebhookSettings.model_validate({"url": url, **keys}).resolve_headers({"LG_WEBHOOK_A": "b c"})
    return {"project": ProjectSettings(found, read_secret({"ROEBOT_WEBHOOK_SECRET": SECRET}))}


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as found:
        yield found


async def wait_until_done(served: Served) -> None:
    """Wait until nothing is left to deliver."""
    app: Any = served.server.config.app
    database = app.application.state.runtime.database
    async with asyncio.timeout(20):
        while await database.read(count_deliveries):
            await asyncio.sleep(0.01)


async def test_the_end_of_a_run_is_announced_with_its_fields_and_values(
    tmp_path: Path, receiver: Receiver
) -> None:
    options = settings_of(headers={"X-Team": "a ${{ env.LG_WEBHOOK_A }}"})
    graphs.gate("x").set()
    async with serve(tmp_path, settings=options) as served:
        thread = (await served.client.threads.create())["thread_id"]
        hook = f"{receiver.url}/done?a=1"
        run = await served.client.runs.create(
            thread, "gated", input={"ask": "x"}, webhook=hook, metadata={"a": 1}
        )
        found = await receiver.next()
        await served.client.runs.join(thread, run["run_id"])
        stored = await served.client.runs.get(thread, run["run_id"])
        await wait_until_done(served)
    assert found.path == "/done?a=1"
    assert found.headers["host"] == receiver.url.removeprefix("http://")
    assert found.headers["content-type"] == "application/json"
    assert found.headers["x-team"] == "a b c"
    assert found.headers["webhook-id"] == run["run_id"]
    key = read_secret({"ROEBOT_WEBHOOK_SECRET": SECRET})
    assert key is not None
    stamp = int(found.headers["webhook-timestamp"])
    assert found.headers["webhook-signature"] == sign(key, run["run_id"], stamp, found.body)
    extra = {"run_started_at", "run_ended_at", "webhook_sent_at", "values"}
    assert set(found.json) == {*stored, *extra}
    assert {key: found.json[key] for key in stored} == dict(stored)
    assert stored["kwargs"]["webhook"] == hook  # type: ignore[typeddict-item]
    assert found.json["values"]["log"] == ["first x", "second x"]
    assert found.json["run_started_at"] <= found.json["run_ended_at"] <= found.json["webhook_sent_at"]


async def test_every_way_to_start_a_run_takes_a_webhook(tmp_path: Path, receiver: Receiver) -> None:
    graphs.gate("x").set()
    run: Any = {"input": {"ask": "x"}, "webhook": receiver.url}
    async with serve(tmp_path, settings=settings_of()) as served:
        runs = served.client.runs
        await runs.wait(None, "gated", **run)
        assert (await receiver.next()).json["values"]["log"] == ["first x", "second x"]
        async for _ in runs.stream(None, "gated", **run):
            pass
        assert (await receiver.next()).json["status"] == "success"
        await runs.create_batch([{"assistant_id": "gated", **run} for _ in range(2)])
        ids = {(await receiver.next()).json["run_id"] for _ in range(2)}
        assert len(ids) == 2


@pytest.mark.parametrize(
    ("graph", "action", "status", "error", "has_values"),
    [
        ("failing", None, "error", "ValueError", True),
        ("asking", None, "success", None, True),
        ("gated", "interrupt", "interrupted", "UserInterrupt", True),
        ("gated", "rollback", "rollback", "UserRollback", False),
    ],
)
async def test_other_ends_are_announced_too(
    tmp_path: Path,
    receiver: Receiver,
    graph: str,
    action: Any,
    status: str,
    error: str | None,
    has_values: bool,
) -> None:
    async with serve(tmp_path, settings=settings_of()) as served:
        thread = (await served.client.threads.create())["thread_id"]
        run = await served.client.runs.create(thread, graph, input={"ask": "x"}, webhook=receiver.url)
        if action is not None:
            await graphs.arrived("x").wait()
            await served.client.runs.cancel(thread, run["run_id"], action=action, wait=True)
        found = (await receiver.next()).json
    assert found["status"] == status
    assert found.get("error", {}).get("error") == error
    assert (found["values"] is not None) == has_values
    assert "sk-abcdefghijklmnop1234" not in str(found)


async def test_a_run_that_never_started_is_not_announced(tmp_path: Path, receiver: Receiver) -> None:
    async with serve(tmp_path, settings=settings_of()) as served:
        thread = (await served.client.threads.create())["thread_id"]
        first = await served.client.runs.create(
            thread, "gated", input={"ask": "x"}, webhook=f"{receiver.url}/1"
        )
        second = await served.client.runs.create(thread, "gated", webhook=f"{receiver.url}/2")
        await served.client.runs.cancel(thread, second["run_id"], wait=True)
        graphs.gate("x").set()
        await served.client.runs.join(thread, first["run_id"])
        assert (await receiver.next()).path == "/1"
        await wait_until_done(served)
    assert receiver.queue.empty()


async def fail(_: Received) -> bytes:
    """Answer with a redirect, which is not followed."""
    return b"HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\n\r\n"


async def test_a_failed_delivery_is_repeated_with_the_same_id_until_it_is_given_up(tmp_path: Path) -> None:

    clock = ManualClock(1_800_000_000.0)
    options = {"settings": settings_of(), "clock": clock.now, "sleep": clock.sleep}
    async with receiving(fail) as receiver, serve(tmp_path, **options) as served:
        await served.client.runs.wait(None, "asking", input={}, webhook=receiver.url)
        found = [await receiver.next()]
        for delay in sender.DELAYS:
            found.append(await next_attempt(receiver, clock, delay))
        await wait_until_done(served)
    assert receiver.queue.empty()
    assert {one.path for one in found} == {"/"}
    assert len({one.headers["webhook-id"] for one in found}) == 1
    assert len({one.headers["webhook-signature"] for one in found}) == len(found)


async def next_attempt(receiver: Receiver, clock: ManualClock, delay: float) -> Received:
    """Move the clock by a delay, in steps, until the next request arrives."""
    async with asyncio.timeout(20):
        while receiver.queue.empty():
            await clock.advance(delay / 4)
            await asyncio.sleep(0.01)
    return receiver.queue.get_nowait()


async def test_a_receiver_that_is_gone_is_not_called_again(tmp_path: Path) -> None:
    async def refuse(_: Received) -> bytes:
        return b"HTTP/1.1 410 Gone\r\n\r\n"

    async with receiving(refuse) as receiver, serve(tmp_path, settings=settings_of()) as served:
        await served.client.runs.wait(None, "asking", input={}, webhook=receiver.url)
        await receiver.next()
        await wait_until_done(served)
    assert receiver.queue.empty()


async def test_a_receiver_that_is_no_longer_allowed_is_not_called_again(tmp_path: Path) -> None:
    async with receiving(fail) as receiver:
        async with serve(tmp_path, settings=settings_of()) as served:
            await served.client.runs.wait(None, "asking", input={}, webhook=receiver.url)
            await receiver.next()
        options = settings_of({**LOCAL, "allowed_domains": ["hooks.example.com"]})
        async with serve(tmp_path, settings=options) as served:
            await wait_until_done(served)
        assert receiver.queue.empty()


async def test_a_slow_receiver_gets_few_deliveries_at_once(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def wait(_: Received) -> bytes:
        await release.wait()
        return b"HTTP/1.1 200 OK\r\n\r\n"

    run: Any = {"assistant_id": "asking", "input": {}}
    async with (
        receiving(wait) as slow,
        receiving() as other,
        serve(tmp_path, settings=options_of_two()) as at,
    ):
        hook = slow.url.replace("127.0.0.1", "localhost")
        await at.client.runs.create_batch([{**run, "webhook": hook} for _ in range(12)])
        for _ in range(sender.PER_HOST):
            await slow.next()
        await at.client.runs.wait(None, "asking", input={}, webhook=other.url)
        await other.next()
        assert slow.queue.empty()
        release.set()
        for _ in range(12 - sender.PER_HOST):
            await slow.next()
        assert slow.most_open <= sender.PER_HOST


def options_of_two() -> Any:
    """Options of a server that may call this machine by two names."""
    return settings_of({**LOCAL, "allowed_domains": ["127.0.0.1", "localhost"]})


async def test_a_sender_that_was_restarted_goes_on(tmp_path: Path, receiver: Receiver) -> None:
    database = RuntimeDatabase(tmp_path / "agent.db")
    await database.open()
    project = settings_of()["project"]
    calls = sender.WebhookSender(database, project.webhooks, None, clock=time.time, sleep=asyncio.sleep)
    try:
        for number in "12":
            delivery = WebhookDelivery(number, "t", receiver.url, "127.0.0.1", b'{"a":1}', next_at=0.0)
            await database.write(add_with, delivery, lambda _: None)
            task = asyncio.create_task(calls.run())
            assert (await receiver.next()).headers["webhook-id"] == number
            async with asyncio.timeout(20):
                while await database.read(count_deliveries):
                    await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.wait([task])
    finally:
        await database.close()


@pytest.mark.guard(
    "webhooks reach no host on this machine or in its network unless that is allowed",
    "agent/runtime/webhook_settings.py",
    "permitted=self._is_permitted",
    "permitted=lambda _: True",
    against="requests into the network",
)
async def test_an_allowed_host_with_an_address_of_this_machine_is_not_called(
    tmp_path: Path, receiver: Receiver
) -> None:
    url: Any = {"allowed_domains": ["localhost", "127.0.0.1"], "require_https": False}
    async with serve(tmp_path, settings=settings_of(url)) as served:
        for hook in (receiver.url, receiver.url.replace("127.0.0.1", "localhost")):
            await served.client.runs.wait(None, "asking", input={}, webhook=hook)
        await wait_until_done(served)
    assert receiver.queue.empty()


async def test_a_deleted_thread_takes_its_deliveries_with_it(tmp_path: Path) -> None:
    async with receiving(fail) as receiver, serve(tmp_path, settings=settings_of()) as served:
        thread = (await served.client.threads.create())["thread_id"]
        await served.client.runs.wait(thread, "asking", input={}, webhook=receiver.url)
        await receiver.next()
        await served.client.threads.delete(thread)
        await wait_until_done(served)
    assert receiver.queue.empty()


async def test_no_host_is_allowed_by_default(served: Served) -> None:
    with pytest.raises(UnprocessableEntityError, match="allowed_domains"):
        await served.client.runs.create(None, "asking", webhook="https://hooks.example.com/")
    with pytest.raises(UnprocessableEntityError, match="allowed_domains"):
        await served.client.crons.create("asking", schedule="* * * * *", webhook="https://example.com/")
    assert (await served.http.get("/info")).json()["flags"]["webhooks"] is False


async def test_disabled_webhooks_are_ignored(tmp_path: Path, receiver: Receiver) -> None:
    options: Any = {"project": ProjectSettings(WebhookSettings(), None, disabled=frozenset({"webhooks"}))}
    async with serve(tmp_path, settings=options) as served:
        await served.client.runs.wait(None, "asking", input={}, webhook=receiver.url)
        await wait_until_done(served)
    assert receiver.queue.empty()


URLS = WebhookSettings.model_validate(
    {"url": {"allowed_domains": ["Hooks.example.com", "*.corp.example"], "allowed_ports": [443, 8443]}}
)


@pytest.mark.parametrize("url", ["https://hooks.example.com/a?b=c", "https://HOOKS.example.com:8443/"])
def test_allowed_addresses(url: str) -> None:
    assert URLS.check_url(url) == "hooks.example.com"
    assert URLS.check_url("https://a.b.corp.example") == "a.b.corp.example"


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://hooks.example.com/", "must use https"),
        ("https://hooks.example.com:444/", "port 444"),
        ("https://example.com/", "example.com is not in"),
        ("https://corp.example/", "corp.example is not in"),
        ("https://evilcorp.example/", "evilcorp.example is not in"),
        ("https://hooks.example.com.evil.example/", "is not in"),
        ("https://me:pw@hooks.example.com/", "without a user name"),
        ("https://hooks.example.com@evil.example/", "without a user name"),
        ("/threads", "absolute"),
        ("hooks.example.com", "absolute"),
        ("ftp://hooks.example.com/", "absolute"),
        ("https://hooks.example.com:99999/", "webhook: "),
        ("https://[::1/", "webhook: "),
        ("https://hooks.example.com/" + "a" * 4096, "longer than 4096"),
    ],
)
def test_refused_addresses(url: str, problem: str) -> None:
    with pytest.raises(Invalid, match=problem):
        URLS.check_url(url)


@pytest.mark.parametrize(
    "value",
    [
        {"url": {"allowed_domains": ["*"]}},
        {"url": {"allowed_domains": ["a.*.example"]}},
        {"url": {"disable_private_ips": False}},
        {"url": {"unknown": 1}},
        {"allowed_fields": ["run_id"]},
        {"headers": {"a b": "c"}},
    ],
)
def test_settings_that_cannot_be_honoured_are_refused(value: Any) -> None:
    with pytest.raises(ValidationError):
        WebhookSettings.model_validate(value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("${{ env.HOME }}", "must start with env.LG_WEBHOOK_"),
        ("${{ secrets.A }}", "must start with env.LG_WEBHOOK_"),
        ("${{ env.LG_WEBHOOK_B }}", "LG_WEBHOOK_B is not set"),
        ("a\r\nb: c", "characters"),
    ],
)
def test_headers_that_cannot_be_sent_are_refused(text: str, problem: str) -> None:
    with pytest.raises(GraphLoadError, match=problem):
        settings_of(headers={"x": text})


def test_a_secret_that_is_not_base64_is_refused() -> None:
    with pytest.raises(GraphLoadError, match="whsec_ followed by Base64"):
        read_secret({"ROEBOT_WEBHOOK_SECRET": "whsec_?"})
    assert read_secret({}) is None


def test_signatures_are_those_of_the_specification() -> None:
    # Computed by the package standardwebhooks 1.1.0.
    key = read_secret({"ROEBOT_WEBHOOK_SECRET": SECRET})
    assert key is not None
    found = sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
