"""Transcripts of the messages that a summary replaces, in a file of the thread's workspace.

A summary keeps what a model finds important; the agent finds the rest with the tools that it has anyway. The
sandbox writes the file, so that quota and owner are those of the thread. The number follows that of the last
summary, so a repeated cut replaces its own file. If a file can't be written, the summary stays and says so.
Commands can change or delete a transcript.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import structlog
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage

from agent.core.interfaces import SandboxGone, SandboxProvider
from agent.core.model_request import Request, is_from_person
from agent.core.run_context import RunContext
from agent.errors import redact_line
from agent.middleware.rolling_summary import content_text
from agent.middleware.summary_cut import is_summary
from agent.shared.run_identity import SENDER
from agent.uploads.transcripts import HUMAN, TRANSCRIPTS, Entry, file_name, render_transcript

log = structlog.get_logger(__name__)
_KINDS = {"human": "service", "ai": "assistant"}


class Transcripts:
    """Writes transcripts through the thread's sandbox, within its disk limit."""

    def __init__(self, provider: SandboxProvider) -> None:
        self._provider = provider

    async def store(self, request: Request, going: Sequence[AnyMessage], number: int) -> bool:
        """Write the transcript with this number, and return whether that succeeded.

        Repeating it replaces the file.
        """
        thread_id = RunContext.of(request.runtime).thread_id
        if thread_id is None:
            return False
        content = render_transcript(list_entries(request.state["messages"], going))
        try:
            await self._write(thread_id, request.state, f"{TRANSCRIPTS}/{file_name(number)}", content)
        except Exception as error:  # noqa: BLE001 - supervisor: the summary is worth more than the file
            log.warning("transcript_failed", error=type(error).__name__, detail=redact_line(str(error)))
            return False
        return True

    async def _write(self, thread_id: str, state: Mapping[str, Any], path: str, content: bytes) -> None:
        known = (state.get("sandbox") or {}).get("sandbox_id", "")
        is_in_use = bool(known) and self._provider.get(known) is not None
        identity = await self._provider.acquire(thread_id)
        try:
            sandbox = self._provider.get(identity)
            if sandbox is None:
                raise SandboxGone("The sandbox has already been released.")
            await sandbox.write_file(path, content)
        finally:
            if not is_in_use:
                await self._provider.release(identity)


def list_entries(messages: Sequence[BaseMessage], going: Iterable[BaseMessage]) -> list[Entry]:
    """Return the transcript of a thread's removed messages, without earlier summaries."""
    gone = {message.id for message in going}
    return [_to_entry(one) for one in messages if one.id in gone and not is_summary(one)]


def _to_entry(message: BaseMessage) -> Entry:
    texts = [content_text(message.content)]
    if isinstance(message, AIMessage):
        calls = ((call["name"], json.dumps(call["args"], ensure_ascii=False)) for call in message.tool_calls)
        texts += [f"(called {name} with {args})" for name, args in calls]
    text = "\n".join(filter(None, texts))
    if is_from_person(message):
        return Entry(HUMAN, text, str(message.additional_kwargs.get(SENDER, "")))
    name = message.name or "" if isinstance(message, ToolMessage) else ""
    return Entry(_KINDS.get(message.type, message.type), text, name=name)
