"""Recording of steps: each call of a client becomes an outcome that can be compared."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterable, Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
from langgraph_sdk.client import LangGraphClient

CALL_SECONDS = 60.0
WAIT_SECONDS = 30.0
POLL_SECONDS = 0.1
EVENT_SECONDS = 1.0
MERGED_EVENTS = ("messages", "messages/partial", "events")
"""Events that servers may send in batches of any size; equal ones in a row count as one."""


class Parts(list[Any]):
    """Parts of a stream, in order."""


UNKNOWN = "11111111-1111-4111-8111-111111111111"
"""An id that no object has."""


class Missing(str):
    """The result of a failed step, each part of which is an id that no object has."""

    __slots__ = ()

    def __new__(cls) -> Missing:
        return super().__new__(cls, UNKNOWN)

    def __getitem__(self, key: object) -> Missing:  # type: ignore[override]
        return self

    def __iter__(self) -> Iterator[str]:
        return iter(())


class ClientError(Exception):
    """An error of a client in another language; it has a status of HTTP, a code of the protocol, or none."""

    def __init__(
        self, name: str, message: str, *, status: int | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.name = name
        self.status = status
        self.code = code


class NotInThisClient(Exception):
    """The client has no such method or argument; steps that need it are skipped."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call: its name, and what it answered; `detail` is the text of an error, which isn't compared."""

    name: str
    outcome: dict[str, Any]
    detail: str = ""


@dataclass(slots=True)
class Recorder:
    """Records the steps of one scenario."""

    scenario: str
    steps: list[Step] = field(default_factory=list)

    async def __call__(self, name: str, answer: Any) -> Any:
        """Record the answer under a name, and return it, or `Missing` after an error.

        An answer is a value, a coroutine or a stream; a stream is read to its end and returned as a list.
        """
        reading = asyncio.ensure_future(_read(answer))
        await asyncio.wait([reading], timeout=CALL_SECONDS)
        error = _find_error(reading)
        if isinstance(error, NotInThisClient):
            return Missing()
        if error is not None:
            detail = getattr(error, "body", None) or getattr(error, "__notes__", None) or error
            self._add(name, {"error": describe_error(error)}, str(detail))
            return Missing()
        result = reading.result()
        is_stream = isinstance(result, Parts)
        self._add(name, {"events": _list_events(result)} if is_stream else {"result": deepcopy(result)})
        return result

    def _add(self, name: str, outcome: dict[str, Any], detail: str = "") -> None:
        full = f"{self.scenario}: {name}"
        if any(step.name == full for step in self.steps):
            raise ValueError(f"two steps are named {full!r}")
        self.steps.append(Step(full, outcome, detail))


def _find_error(reading: asyncio.Future[Any]) -> BaseException | None:
    """Return the error of an answer. One that takes too long is cancelled; some cancel themselves."""
    if not reading.done():
        reading.cancel()
        return TimeoutError()
    return asyncio.CancelledError() if reading.cancelled() else reading.exception()


async def _read(answer: Any) -> Any:
    if inspect.isawaitable(answer):
        answer = await answer
    if isinstance(answer, AsyncIterable):
        return Parts([part async for part in answer])
    return answer


def _list_events(parts: Parts) -> list[dict[str, Any]]:
    events = [{"event": part.event, "data": part.data, "id": part.id} for part in parts]
    merged: list[dict[str, Any]] = []
    for event in events:
        if not (merged and event["event"] in MERGED_EVENTS and merged[-1] == event):
            merged.append(event)
    return merged


def describe_error(error: BaseException) -> dict[str, Any]:
    """Return class and HTTP status; for an error that a run ended with, its text."""
    if isinstance(error, httpx.HTTPStatusError):
        return {"class": type(error).__name__, "status": error.response.status_code}
    if isinstance(error, ClientError):
        facts = {"status": error.status, "code": error.code, "text": str(error)}
        known = next(name for name, fact in facts.items() if fact is not None)
        return {"class": error.name, known: facts[known]}
    if type(error) is Exception:
        return {"class": "Exception", "text": str(error)}
    return {"class": type(error).__name__}


@dataclass(frozen=True, slots=True)
class Scene:
    """Client and recorder of a scenario."""

    client: LangGraphClient
    call: Recorder
    url: str
    mark: str = field(default_factory=lambda: str(uuid4()))
    """Tells the objects of this scenario from others in searches, and names its gates."""

    async def thread(self, **arguments: Any) -> str:
        """Return the id of a new thread. This is not recorded as a step."""
        return str((await self.client.threads.create(**arguments))["thread_id"])

    async def open_gate(self, name: str) -> None:
        """Let runs of the `gated` graph go on that wait for this gate."""
        await self.client.store.put_item(("gates",), name, {"open": True})

    async def until_status(self, thread_id: str, *statuses: str) -> None:
        """Wait until the thread has one of these statuses. This is not recorded as a step."""
        await self._until(lambda: self.client.threads.get(thread_id), "status", statuses)

    async def until_run(self, thread_id: str, run_id: str, *statuses: str) -> None:
        """Wait until the run has one of these statuses. This is not recorded as a step."""
        await self._until(lambda: self.client.runs.get(thread_id, run_id), "status", statuses)

    async def until_next(self, thread_id: str, node: str) -> None:
        """Wait until a node runs, and the events before it were sent. This is not recorded as a step."""
        await self._until(lambda: self.client.threads.get_state(thread_id), "next", ([node],))
        await asyncio.sleep(EVENT_SECONDS)

    async def _until(self, read: Callable[[], Any], key: str, values: tuple[Any, ...]) -> None:
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while (await read()).get(key) not in values:
                    await asyncio.sleep(POLL_SECONDS)
        except (TimeoutError, httpx.HTTPError, ClientError):
            return
