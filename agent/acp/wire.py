"""Client of the Agent Client Protocol (ACP), built on the acp package.

Imported with the first task, since the package is optional.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import acp
import structlog
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    Implementation,
    RequestPermissionResponse,
    TextContentBlock,
)
from pydantic import ValidationError

from agent.acp.incoming_updates import TaskOutput, to_short_line
from agent.acp.program import AgentProgram
from agent.errors import redact_line

_YES = ("allow_once", "allow_always")
_NO = ("reject_once", "reject_always")


class PermissionChoice(Protocol):
    """An option of a permission request."""

    @property
    def kind(self) -> str:
        """Return allow_once, allow_always, reject_once or reject_always."""
        ...

    @property
    def option_id(self) -> str:
        """Return the id that selects the option."""
        ...


def choose_option(options: Sequence[PermissionChoice], *, approve: bool) -> str | None:
    """Return the id of the narrowest option that approves or rejects; None if the agent offers no such
    option.
    """
    for kind in _YES if approve else _NO:
        for option in options:
            if option.kind == kind:
                return option.option_id
    return None


log = structlog.get_logger(__name__)
CANCEL_SECONDS = 0.2
AUTH_REQUIRED = -32000
T = TypeVar("T")
_PACKAGE = str(Path(acp.__file__).parent)


class RequestFailed(Exception):
    """Raised for a refused request or an invalid response; the message states the reason."""


def _is_not_from_package(record: logging.LogRecord) -> bool:
    """Drop records of the acp package, which contain the agent's output; callers see the errors anyway."""
    return not record.pathname.startswith(_PACKAGE)


logging.getLogger().addFilter(_is_not_from_package)


class AcpSession:
    """A session with an agent that was started for a single task."""

    def __init__(self, connection: Any, session_id: str, program: AgentProgram) -> None:
        self._connection, self._id, self._program = connection, session_id, program

    async def run_task(self, task: str) -> str:
        """Run the task and return the stop reason. Cancellation notifies the agent.

        Raises RequestFailed or ProgramEnded.
        """
        blocks = [TextContentBlock(type="text", text=task)]
        work = self._connection.prompt(session_id=self._id, prompt=blocks)
        try:
            answer = await self._program.run_while_alive(_await_answer(work))
        except asyncio.CancelledError:
            await self._send_cancel()
            raise
        return str(answer.stop_reason)

    async def _send_cancel(self) -> None:
        with suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(CANCEL_SECONDS):
                await self._connection.cancel(session_id=self._id)


class _Client:
    """Our side of a session. The agent gets neither files nor a terminal."""

    def __init__(self, agent: str, output: TaskOutput, *, approve: bool) -> None:
        self._agent, self._output, self._approve = agent, output, approve

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self._output.add_update(update)

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_: Any
    ) -> RequestPermissionResponse:
        option = choose_option(options, approve=self._approve)
        about = redact_line(to_short_line(tool_call.title or tool_call.tool_call_id))
        log.info("acp_permission", agent=self._agent, about=about, approved=self._approve and bool(option))
        if option is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option))


@asynccontextmanager
async def open_session(
    program: AgentProgram, folder: Path, output: TaskOutput, *, agent: str, approve: bool
) -> AsyncIterator[AcpSession]:
    """Open a session in the directory. Raises RequestFailed or ProgramEnded."""
    client = cast(Any, _Client(agent, output, approve=approve))
    connection = acp.connect_to_agent(client, program.writer, program.reader)
    try:
        hello = connection.initialize(
            protocol_version=acp.PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities(),
            client_info=Implementation(name="roebot", title="Roebot", version="1"),
        )
        heard = await program.run_while_alive(_await_answer(hello))
        if heard.protocol_version != acp.PROTOCOL_VERSION:
            versions = f"version {heard.protocol_version} of the protocol, not {acp.PROTOCOL_VERSION}"
            raise RequestFailed(f"speaks {versions}")
        made = await program.run_while_alive(
            _await_answer(connection.new_session(cwd=str(folder), mcp_servers=[]))
        )
        yield AcpSession(connection, made.session_id, program)
    finally:
        # Once the program has ended, nothing reads pending writes, so closing must not wait for them.
        await program.terminate()
        with suppress(OSError):
            await connection.close()


async def _await_answer(work: Awaitable[T]) -> T:
    try:
        return await work
    except acp.RequestError as error:
        if error.code == AUTH_REQUIRED:
            raise RequestFailed("requires signing in: do that with its own program, or set its key") from None
        raise RequestFailed(f"refused: {_describe_error(error)}") from None
    except ValidationError:
        raise RequestFailed("sent a response that violates the protocol") from None


def _describe_error(error: acp.RequestError) -> str:
    """Return the error's message, including details from its data."""
    data = error.data
    more = (data.get("details") or data.get("message")) if isinstance(data, dict) else data
    text = f"{error}: {more}" if isinstance(more, str) and more and more != str(error) else str(error)
    return redact_line(text)
