"""The agent runtime over `langgraph-sdk`; management routes share its connection pool."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import httpx
from langgraph_sdk.client import LangGraphClient

from agent.shared.run_identity import STEERING
from agent.shared.tracing import traceparent
from bot.errors import RunMissing, RuntimeRefused, RuntimeUnreachable
from bot.runtime.compaction import IDEMPOTENCY_HEADER, RunAccess, compact_thread
from bot.runtime.event_stream import read_events
from bot.runtime.events import STREAM_MODES, open_interrupts, read_answer, read_usage, translate_event
from bot.runtime.interface import (
    CompactionOutcome,
    CompactionRequest,
    LoggedEvent,
    RunEnded,
    RunRequest,
    SteerMessage,
    StoredUpload,
    ThreadAnswer,
    TokenUsage,
)
from bot.runtime.management import open_management
from bot.runtime.responses import raise_for_status, translated_errors

# A stream is silent only between two heartbeats (5 s on LangGraph servers).
READ_TIMEOUT = 30.0
# A document is read before the response; the runtime gives up after a minute.
UPLOAD_TIMEOUT = 90.0
# A thread is rewritten, or a database, after at most 20 s of waiting for runs.
ERASE_TIMEOUT = httpx.Timeout(300.0, connect=5.0)
# Listing runs of a thread by metadata looks at the newest ones only.
LOOK_BACK = 50


class LangGraphRuntime:
    """A LangGraph API server; `management` is the client of its management routes, or None."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        *,
        assistant_id: str,
        management: httpx.AsyncClient | None,
    ) -> None:
        self._http = http
        self._client = LangGraphClient(http)
        self._assistant = assistant_id
        self._management = management
        self.management = open_management(management)

    async def create_run(self, request: RunRequest) -> str:
        """Create a run. A repeated call searches for an existing run first, for servers that ignore the
        idempotency header.
        """
        with translated_errors():
            if request.repeated and (known := await self._find_run(request.thread_id, request.key)):
                return known
            resumes = bool(request.answers) and await self._is_open(request)
            run = await self._client.runs.create(
                request.thread_id,
                request.assistant or self._assistant,
                input=None if resumes else {"messages": list(request.messages)},
                command={"resume": {request.answers: request.decision or _resume_text(request)}}
                if resumes
                else None,
                stream_mode=STREAM_MODES,
                stream_resumable=True,
                metadata={"idempotency_key": request.key, "traceparent": traceparent.get()},
                config={"configurable": dict(request.configurable)},
                multitask_strategy="enqueue",
                if_not_exists="create",
                headers={IDEMPOTENCY_HEADER: request.key},
                checkpoint_id=request.checkpoint or None,
            )
        return str(run["run_id"])

    async def _is_open(self, request: RunRequest) -> bool:
        """Return whether the thread still waits for this answer. Resuming a closed interrupt would return the
        previous answer without an error.
        """
        try:
            state = await self._client.threads.get_state(
                request.thread_id, checkpoint_id=request.checkpoint or None
            )
        except httpx.HTTPStatusError as error:
            if error.response.status_code == httpx.codes.NOT_FOUND:
                return False
            raise
        return request.answers in open_interrupts(state)

    async def find_run(self, thread_id: str, key: str) -> str:
        with translated_errors():
            return await self._find_run(thread_id, key)

    async def _find_run(self, thread_id: str, key: str) -> str:
        try:
            runs = await self._client.runs.list(thread_id, limit=LOOK_BACK)
        except httpx.HTTPStatusError as error:
            if error.response.status_code == httpx.codes.NOT_FOUND:
                return ""
            raise
        for run in runs:
            metadata: dict[str, Any] = dict(run.get("metadata") or {})
            if metadata.get("idempotency_key") == key:
                return str(run["run_id"])
        return ""

    async def join_run(self, thread_id: str, run_id: str, after: str) -> AsyncIterator[LoggedEvent]:
        with translated_errors():
            # No stream_mode: the run logs the modes that it was created with, and langgraph dev sends no
            # messages to a join that names more than one.
            path = f"/threads/{quote(thread_id, safe='')}/runs/{quote(run_id, safe='')}/stream"
            ended = False
            async for part in read_events(self._http, path, after or "-1"):
                for event in translate_event(part.name.partition("|")[0], part.data):
                    ended = ended or isinstance(event, RunEnded)
                    yield LoggedEvent(part.id, event)
            if not ended:
                run = await self._client.runs.get(thread_id, run_id)
                status = str(run["status"])
                if status in {"pending", "running"}:
                    raise RuntimeUnreachable("the run's stream was cut off")
                yield LoggedEvent("", RunEnded(status))

    async def cancel_run(self, thread_id: str, run_id: str) -> None:
        try:
            with translated_errors():
                await self._client.runs.cancel(thread_id, run_id, wait=False)
        except RunMissing:
            return
        except RuntimeRefused as error:
            if error.status != httpx.codes.CONFLICT:
                raise

    async def read_answer(self, thread_id: str, message_ids: Sequence[str]) -> ThreadAnswer:
        with translated_errors():
            state = await self._client.threads.get_state(thread_id)
        return read_answer(state, message_ids)

    async def steer(self, thread_id: str, message: SteerMessage) -> None:
        item = {"turn": str(message.turn), "number": message.number, "message": dict(message.message)}
        with translated_errors():
            await self._client.store.put_item(
                (STEERING, thread_id), key=str(message.message["id"]), value=item, index=False
            )

    async def unsteer(self, thread_id: str, message_id: str) -> None:
        with suppress(RunMissing), translated_errors():
            await self._client.store.delete_item((STEERING, thread_id), key=message_id)

    async def compact_thread(self, request: CompactionRequest) -> CompactionOutcome:
        runs = RunAccess(self._find_run, self.join_run, self.read_usage)
        with translated_errors():
            return await compact_thread(self._client, runs, request, request.assistant or self._assistant)

    async def checkpoint_before(self, thread_id: str, run_id: str) -> str | None:
        with translated_errors():
            history = await self._client.threads.get_history(
                thread_id, limit=100, metadata={"run_id": run_id}
            )
            if not history:
                return await self._newest_checkpoint(thread_id, run_id)
        return _checkpoint_id(history[-1].get("parent_checkpoint"))

    async def _newest_checkpoint(self, thread_id: str, run_id: str) -> str | None:
        """Return the thread's newest checkpoint, for a run that failed before writing one."""
        run = await self._client.runs.get(thread_id, run_id)
        if run["status"] != "error":
            raise RunMissing(f"the thread has no checkpoint of run {run_id}")
        newest = await self._client.threads.get_history(thread_id, limit=1)
        return _checkpoint_id(newest[0].get("checkpoint")) if newest else None

    async def upload_file(
        self, thread_id: str, filename: str, content: AsyncIterable[bytes], key: str
    ) -> StoredUpload:
        data = b"".join([chunk async for chunk in content])
        with translated_errors():
            response = await self._management_client().post(
                f"/api/threads/{quote(thread_id, safe='')}/uploads",
                files={"files": (filename, data, "application/octet-stream")},
                headers={"Idempotency-Key": key},
                timeout=httpx.Timeout(UPLOAD_TIMEOUT, connect=5.0),
            )
            raise_for_status(response)
        stored = response.json()["files"][0]
        return StoredUpload(str(stored["filename"]), str(stored.get("path") or ""), len(data), stored)

    async def read_artifact(self, thread_id: str, path: str, limit: int) -> tuple[bytes, str]:
        url = f"/api/threads/{quote(thread_id, safe='')}/artifacts/{quote(path.lstrip('/'))}"
        with translated_errors():
            async with self._management_client().stream("GET", url, params={"download": "true"}) as response:
                if response.is_error:
                    await response.aread()
                raise_for_status(response)
                chunks, size = [], 0
                async for chunk in response.aiter_bytes():
                    size += len(chunk)
                    if size > limit:
                        raise RuntimeRefused(413, f"the file is larger than {limit} bytes")
                    chunks.append(chunk)
        mime = response.headers.get("content-type", "application/octet-stream")
        return b"".join(chunks), mime.partition(";")[0]

    async def read_usage(self, thread_id: str, run_id: str = "") -> TokenUsage | None:
        with translated_errors():
            # A search can leave the values out, which may be long.
            found: Sequence[Any] = (
                [await self._client.runs.get(thread_id, run_id)]
                if run_id
                else await self._client.threads.search(ids=[thread_id], select=["metadata"], limit=1)
            )
        return read_usage((found[0].get("metadata") or {}).get("usage")) if found else None

    async def delete_thread(self, thread_id: str) -> None:
        with suppress(RunMissing), translated_errors():
            await self._client.threads.delete(thread_id)
        try:
            await self.management.delete_thread_data(thread_id)
        except RuntimeRefused as refused:
            if refused.status not in (httpx.codes.NOT_FOUND, httpx.codes.METHOD_NOT_ALLOWED):
                raise

    async def erase_sign_ins(self, person: str) -> Mapping[str, int]:
        with translated_errors():
            client = self._management_client()
            response = await client.post(
                "/api/mcp/sign-ins/erase", json={"person": person}, timeout=ERASE_TIMEOUT
            )
        raise_for_status(response)
        return dict(response.json())

    async def compact_storage(self) -> None:
        with translated_errors():
            response = await self._http.post("/storage/compact", timeout=ERASE_TIMEOUT)
        raise_for_status(response)

    async def is_ready(self) -> bool:
        try:
            with translated_errors():
                return (await self._http.get("/ok", timeout=2.0)).is_success
        except RuntimeUnreachable:
            return False

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()
        if self._management is not None and self._management is not self._http:
            await self._management.aclose()

    def _management_client(self) -> httpx.AsyncClient:
        if self._management is None:
            raise RuntimeRefused(404, "this agent runtime has no management routes")
        return self._management


def _resume_text(request: RunRequest) -> str:
    """Return the messages as one text, including people's files."""
    said: list[str] = []
    for message in request.messages:
        files = (message.get("additional_kwargs") or {}).get("files") or ()
        said += [str(message["content"]), *(f"[{file['filename']}: {file['path']}]" for file in files)]
    return "\n\n".join(filter(None, said))


def _checkpoint_id(found: Any) -> str | None:
    named = found.get("checkpoint_id") if found else None
    return str(named) if named else None
