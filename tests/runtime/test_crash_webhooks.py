"""SIGKILL between the end of a run and the delivery of its webhook, and between delivery and its record."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.runtime.faults import RunStep
from tests.runtime.processes import Process, runtime
from tests.runtime.receiver import Received, receiving

pytestmark = [pytest.mark.fault, pytest.mark.may_block]

ASK: Any = {"messages": [{"role": "user", "content": "hi"}]}
URLS = {"allowed_domains": ["127.0.0.1"], "require_https": False, "disable_loopback": False}
KEYS = {"webhooks": {"url": URLS}}


async def run_until_killed(process: Process, hook: str, thread: str | None) -> None:
    """Start a run with a webhook in a process that is killed meanwhile."""
    with contextlib.suppress(httpx.HTTPError):
        await process.client.runs.create(thread, "counted", input=ASK, webhook=hook, if_not_exists="create")
    assert await process.died() == -signal.SIGKILL


@pytest.mark.parametrize("thread", [None, "0b1f9c3e-0000-4000-8000-000000000001"])
async def test_a_kill_after_the_end_of_a_run_delays_its_webhook(tmp_path: Path, thread: str | None) -> None:
    async with receiving() as receiver:
        async with runtime(tmp_path / "home", fault=RunStep.FINISHED, keys=KEYS) as first:
            await run_until_killed(first, receiver.url, thread)
        assert receiver.queue.empty()
        async with runtime(tmp_path / "home", keys=KEYS):
            found = await receiver.next()
    assert found.json["status"] == "success"
    assert len(found.json["values"]["messages"]) == 3
    assert receiver.queue.empty()


async def test_a_kill_during_a_delivery_repeats_it_with_the_same_id(tmp_path: Path) -> None:
    async def kill(_: Received) -> bytes:
        os.kill(first.process.pid, signal.SIGKILL)
        return b"HTTP/1.1 200 OK\r\n\r\n"

    async with receiving(kill) as receiver:
        async with runtime(tmp_path / "home", keys=KEYS) as first:
            await run_until_killed(first, receiver.url, None)
        before = await receiver.next()
        receiver.answer = None
        async with runtime(tmp_path / "home", keys=KEYS):
            after = await receiver.next()
    assert before.headers["webhook-id"] == after.headers["webhook-id"] == before.json["run_id"]
    assert before.json["values"] == after.json["values"]
