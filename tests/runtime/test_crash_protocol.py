"""SIGKILL and SIGTERM while clients read a thread's events: a reconnect gets every event once."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk.client import LangGraphClient

from tests.runtime.processes import runtime

pytestmark = [pytest.mark.fault, pytest.mark.may_block]

THREAD = "0b1f9c3e-0000-4000-8000-000000000002"
TEXT = "".join(f"t{number} " for number in range(40))


async def read(client: LangGraphClient, since: int, limit: int | None = None) -> list[dict[str, Any]]:
    """Read events until the run ends, the process is gone or there are `limit`."""
    events: list[dict[str, Any]] = []
    body = {"channels": ["lifecycle", "messages", "values"], "since": since}
    path = f"/threads/{THREAD}/stream/events"
    with contextlib.suppress(httpx.TransportError):
        async with asyncio.timeout(90), client.http.client.stream("POST", path, json=body) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("data: "):
                    events.append(json.loads(line.removeprefix("data: ")))
                    if len(events) == limit or events[-1]["params"]["data"].get("event") == "completed":
                        break
    return events


@pytest.mark.parametrize("is_killed", [True, False])
async def test_a_reconnect_after_the_end_of_the_process_gets_every_event_once(
    tmp_path: Path, is_killed: bool
) -> None:
    home = tmp_path / "home"
    async with runtime(home) as first:
        params = {"assistant_id": "patient", "input": {"messages": [{"role": "user", "content": "hi"}]}}
        command = {"id": 1, "method": "run.start", "params": params}
        answer = await first.client.http.client.post(f"/threads/{THREAD}/commands", json=command)
        assert answer.json()["type"] == "success"
        seen = await read(first.client, 0, limit=12)
        if is_killed:
            first.process.kill()
            await first.died()
        else:
            assert await first.terminate() == 0
    async with runtime(home) as second:
        rest = await read(second.client, seen[-1]["seq"])
        whole = await read(second.client, 0)
        thread = await second.client.threads.get(THREAD)
    assert rest[-1]["params"]["data"]["event"] == "completed"
    assert len(seen) == 12
    assert seen + rest == whole
    numbers = [event["seq"] for event in whole]
    assert numbers == sorted(set(numbers))
    assert thread["status"] == "idle"
    last = thread["values"]["messages"][-1]["content"]  # type: ignore[call-overload]
    assert (last if isinstance(last, str) else last[0]["text"]) == TEXT
    assert (home / "calls.txt").read_text() == "call\n"
