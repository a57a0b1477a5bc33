"""Delivery of events to the app: stored until acknowledged, pushed again on schedule; callbacks over HTTP."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx
import orjson

from agent.shared.tls import tls_context
from roebot_testing.emulators.feishu.crypto import encrypt, signature
from roebot_testing.emulators.feishu.workspace import FeishuWorkspace

ANSWER_SECONDS = 3.0
"""Seconds within which the app must acknowledge (open.feishu.cn, event subscription)."""
LEAST_ANSWER_SECONDS = 0.5
"""The least time to acknowledge when the clock is scaled: an adapter on a busy machine may need it."""
AGAIN_AFTER = (5.0, 300.0, 3600.0, 21600.0)
"""Seconds before each further push of an event that was not acknowledged."""


@dataclass(slots=True)
class Push:
    """One event; `answer` is the last answer of the app, `on_answer` is called with each."""

    event: dict[str, Any]
    tries: int = 0
    done: bool = False
    answer: dict[str, Any] = field(default_factory=dict)
    on_answer: Callable[[], object] | None = None

    @property
    def id(self) -> str:
        """The event's id."""
        return str((self.event.get("header") or {}).get("event_id") or "")


class PushChannel(Protocol):
    """A connection to the app."""

    async def deliver(self, push: Push, seconds: float) -> dict[str, Any] | None:
        """Push and wait for the acknowledgement; None if there was none."""
        ...


class Pushes:
    """All events. `stalled` delays them."""

    def __init__(self, world: FeishuWorkspace) -> None:
        self._world = world
        self._tasks: set[asyncio.Task[Any]] = set()
        self.line: PushChannel | None = None
        self.waiting: list[Push] = []
        self.sent: list[Push] = []
        self.stalled = False
        self.duplicates = 0
        self.redelivered = 0

    def put(self, event: dict[str, Any]) -> Push:
        """Queue an event for delivery."""
        push = Push(event)
        self.waiting.append(push)
        self.flush()
        return push

    def flush(self, *, backwards: bool = False) -> None:
        """Push the waiting events if the app is connected."""
        if self.line is None or self.stalled:
            return
        pushes, self.waiting = self.waiting, []
        for push in reversed(pushes) if backwards else pushes:
            push.done = False
            self.sent.append(push)
            self.start(self._bring(push))
            for _ in range(self.duplicates):
                self.start(self._once(push))

    def redeliver(self, count: int = 1) -> None:
        """Push the last events again, as after a lost acknowledgement."""
        for push in self.sent[-count:]:
            self.redelivered += 1
            self.start(self._once(push))

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the background until `close`."""
        task = asyncio.get_running_loop().create_task(work, name="emulator:pushes")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Cancel all deliveries."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def reset(self) -> None:
        """Drop waiting and sent events."""
        self.waiting.clear()
        self.sent.clear()
        self.stalled, self.duplicates, self.redelivered = False, 0, 0

    async def _bring(self, push: Push) -> None:
        for pause in AGAIN_AFTER:
            await self._once(push)
            if push.done:
                return
            await asyncio.sleep(pause * self._world.scale)
            self.redelivered += 1
        await self._once(push)

    async def _once(self, push: Push) -> None:
        line = self.line
        if line is None:
            # Not connected: it is pushed with the next connection.
            if push not in self.waiting:
                self.waiting.append(push)
            push.done = True
            return
        push.tries += 1
        seconds = max(ANSWER_SECONDS * self._world.scale, LEAST_ANSWER_SECONDS)
        answer = await line.deliver(push, seconds)
        if answer is not None:
            push.done, push.answer = True, answer
            if push.on_answer is not None:
                push.on_answer()


class Hooks:
    """Pushes events to `url`; in plain and unsigned without an `encrypt_key`, as Feishu does."""

    def __init__(self, url: str, encrypt_key: str, token: str) -> None:
        self.url = url
        self.encrypt_key = encrypt_key
        self.token = token
        self.statuses: list[int] = []
        self._http = httpx.AsyncClient(trust_env=False, verify=tls_context())

    async def deliver(self, push: Push, seconds: float) -> dict[str, Any] | None:
        try:
            response = await self._post(push.event, seconds)
        except httpx.HTTPError:
            return None
        return _json(response) if response.status_code == 200 else None

    async def verify(self) -> bool:
        """Ask the URL to echo an unsigned challenge, as Feishu's console does when it is saved."""
        challenge = secrets.token_hex(8)
        body = {"challenge": challenge, "token": self.token, "type": "url_verification"}
        response = await self._post(body, 3.0, signed=False)
        return response.status_code == 200 and _json(response).get("challenge") == challenge

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _post(self, content: dict[str, Any], seconds: float, *, signed: bool = True) -> httpx.Response:
        body = orjson.dumps(content)
        headers = {"content-type": "application/json; charset=utf-8"}
        if self.encrypt_key:
            body = orjson.dumps({"encrypt": encrypt(body, self.encrypt_key, os.urandom(16))})
        if self.encrypt_key and signed:
            stamp, nonce = str(int(time.time())), secrets.token_hex(8)
            headers["X-Lark-Request-Timestamp"], headers["X-Lark-Request-Nonce"] = stamp, nonce
            headers["X-Lark-Signature"] = signature(stamp, nonce, self.encrypt_key, body)
        response = await self._http.post(self.url, content=body, headers=headers, timeout=seconds)
        self.statuses.append(response.status_code)
        return response


def _json(response: httpx.Response) -> dict[str, Any]:
    try:
        loaded = response.json()
    except ValueError:
        return {}
    return loaded if isinstance(loaded, dict) else {}
