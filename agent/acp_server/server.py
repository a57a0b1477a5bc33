"""The agent served over ACP: sessions are threads, prompts are messages.

The agent works in the thread's directory and sandbox. From the session's directory it receives only files
that a prompt links to; files that it presents are stored there under a free name.

It does not work in the session's directory: run as root, the sandbox changes the owner of its folders. The
caller is a program, so memory, titles and delegation are off.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit
from uuid import uuid4

import acp
import structlog
from acp.core import AgentSideConnection
from acp.helpers import resource_link_block, update_agent_message, update_agent_message_text
from acp.schema import (
    AgentCapabilities,
    Implementation,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptCapabilities,
    PromptResponse,
    ToolCallUpdate,
)

from agent.acp_server.outgoing_updates import TurnUpdates
from agent.client import AgentClient, render_question
from agent.config.errors import ConfigErrors
from agent.core.client_events import StreamEvent
from agent.core.paths import safe_name
from agent.errors import AgentError
from agent.shared.approval_words import APPROVE, REJECT
from agent.shared.envelope import escape_text
from agent.uploads.folders import create_unique

MAX_RESOURCE_CHARACTERS = 100_000


@dataclass(frozen=True, slots=True)
class PromptContent:
    """The text of a prompt, and linked files in the session's directory."""

    text: str
    files: tuple[Path, ...] = ()


def read_prompt(blocks: Sequence[Any], folder: Path) -> PromptContent:
    """Convert a prompt's content blocks. Blocking.

    A link to a file in the session's directory adds that file; other links stay in the text. Clients don't
    send images and audio, since our capabilities exclude them.
    """
    texts: list[str] = []
    files: list[Path] = []
    for block in blocks:
        if block.type == "text":
            texts.append(block.text)
        elif block.type == "resource_link":
            path = _resolve_file(block.uri, folder)
            if path is not None:
                files.append(path)
            else:
                texts.append(f"[{block.name}]({block.uri})")
        elif block.type == "resource" and getattr(block.resource, "text", None) is not None:
            texts.append(_quote_resource(block.resource))
        else:
            texts.append(f"[{block.type} that can't be shown]")
    return PromptContent("\n\n".join(text for text in texts if text.strip()), tuple(dict.fromkeys(files)))


def _quote_resource(resource: Any) -> str:
    name = resource.uri.rstrip("/").rpartition("/")[2].replace('"', "")
    text = escape_text(resource.text[:MAX_RESOURCE_CHARACTERS], "file")
    return f'<file name="{name}">\n{text}\n</file>'


def _resolve_file(uri: str, folder: Path) -> Path | None:
    """Return a file URI's path if it is in the directory."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"}:
        return None
    path = Path(unquote(parts.path)).resolve()
    return path if path.is_relative_to(folder.resolve()) and path.is_file() else None


log = structlog.get_logger(__name__)
INTERNAL_ERROR = -32603


@dataclass(slots=True)
class _Session:
    """A thread and the client's directory. `task` runs the current turn."""

    id: str
    folder: Path
    task: asyncio.Task[None] | None = None


class AcpServer:
    """Agent side of the protocol; the acp package rejects all other methods.

    Raises `acp.RequestError` for failures that the client must see.
    """

    def __init__(self, client: AgentClient, *, new_id: Callable[[], str] = lambda: uuid4().hex) -> None:
        self._client, self._new_id = client, new_id
        self._sessions: dict[str, _Session] = {}
        self._connection: Any = None

    def on_connect(self, connection: Any) -> None:
        self._connection = connection

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                prompt_capabilities=PromptCapabilities(embedded_context=True)
            ),
            agent_info=Implementation(name="roebot", title="Roebot", version=version("roebot")),
            auth_methods=[],
        )

    async def new_session(
        self, cwd: str, mcp_servers: Sequence[Any] | None = None, **_: Any
    ) -> NewSessionResponse:
        """Open a session. MCP servers come from our own configuration, not from the client."""
        folder = Path(cwd)
        if not folder.is_absolute() or not await asyncio.to_thread(folder.is_dir):
            raise acp.RequestError.invalid_params({"details": "cwd must be the absolute path of a directory"})
        if mcp_servers:
            log.warning("acp_mcp_servers_left_out", count=len(mcp_servers))
        session = _Session(self._new_id(), folder)
        self._sessions[session.id] = session
        return NewSessionResponse(session_id=session.id)

    async def prompt(self, session_id: str, prompt: Sequence[Any], **_: Any) -> PromptResponse:
        """Answer a message. A question by the agent also completes the turn; the next message answers it."""
        session = self._get_session(session_id)
        if session.task is not None:
            raise acp.RequestError.invalid_request({"details": "This session is busy with another prompt."})
        session.task = asyncio.create_task(self._run_turn(session, prompt), name=f"acp-{session_id}")
        try:
            await asyncio.wait([session.task])
            if session.task.cancelled():
                return PromptResponse(stop_reason="cancelled")
            session.task.result()
        except (AgentError, ConfigErrors) as error:
            raise acp.RequestError(INTERNAL_ERROR, str(error)) from None
        finally:
            if not session.task.done():
                session.task.cancel()
                await asyncio.wait([session.task])
            session.task = None
        return PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **_: Any) -> None:
        session = self._sessions.get(session_id)
        if session is not None and session.task is not None:
            session.task.cancel()

    def _get_session(self, session_id: str) -> _Session:
        session = self._sessions.get(session_id)
        if session is None:
            raise acp.RequestError.invalid_params({"details": "Session not found."})
        return session

    async def _run_turn(self, session: _Session, prompt: Sequence[Any]) -> None:
        message = await asyncio.to_thread(read_prompt, prompt, session.folder)
        await self._upload_files(session, message)
        given: str | Mapping[str, str] | None = message.text
        telling = TurnUpdates()
        while given is not None:
            interrupts: Sequence[Mapping[str, Any]] = ()
            events = cast("AsyncGenerator[StreamEvent, None]", self._client.astream(given, session.id))
            async with aclosing(events):
                async for event in events:
                    for update in telling.build_updates(event):
                        await self._send_update(session, update)
                    interrupts = event.data.get("interrupts", ())
            given = await self._answer_interrupts(session, interrupts)
        await self._deliver_files(session, telling.presented_files)

    async def _upload_files(self, session: _Session, message: PromptContent) -> None:
        if message.files:
            await asyncio.to_thread(self._client.upload_files, session.id, message.files)

    async def _send_update(self, session: _Session, update: Any) -> None:
        await self._connection.session_update(session_id=session.id, update=update)

    async def _answer_interrupts(
        self, session: _Session, interrupts: Sequence[Mapping[str, Any]]
    ) -> Mapping[str, str] | None:
        """Ask the client for approvals, and return its decisions; None if the turn is over.

        A question is sent as text; the next prompt answers it.
        """
        if not interrupts:
            return None
        if any(one["value"].get("type") != "approval" for one in interrupts):
            text = "\n\n".join(render_question(one["value"]) for one in interrupts)
            await self._send_update(session, update_agent_message_text(text))
            return None
        return {one["id"]: await self._request_permission(session, one["value"]) for one in interrupts}

    async def _request_permission(self, session: _Session, value: Mapping[str, Any]) -> str:
        call = ToolCallUpdate(
            tool_call_id=str(value["call_id"]), title=str(value["question"]), raw_input=value["args"]
        )
        options = [
            PermissionOption(option_id=APPROVE, name="Approve", kind="allow_once"),
            PermissionOption(option_id=REJECT, name="Reject", kind="reject_once"),
        ]
        answer = await self._connection.request_permission(
            session_id=session.id, tool_call=call, options=options
        )
        return APPROVE if getattr(answer.outcome, "option_id", None) == APPROVE else REJECT

    async def _deliver_files(self, session: _Session, paths: Sequence[str]) -> None:
        """Store presented files in the client's directory and send links to them."""
        for path in paths:
            content, mime_type = await asyncio.to_thread(self._client.get_artifact, session.id, path)
            kept = await asyncio.to_thread(_save_file, session.folder, path, content)
            link = resource_link_block(kept.name, kept.as_uri(), mime_type=mime_type, size=len(content))
            await self._send_update(session, update_agent_message(link))


async def serve_connection(
    server: AcpServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Serve a client until it disconnects, which cancels running turns."""
    connection = AgentSideConnection(cast(Any, server), writer, reader, listening=False)
    try:
        await connection.listen()
    finally:
        with suppress(OSError):
            await connection.close()


def _save_file(folder: Path, path: str, content: bytes) -> Path:
    """Write the content to a new file in the directory and return its path. Blocking."""
    kept, descriptor = create_unique(folder, safe_name(path))
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return kept
