"""An external agent's program in its own process group, terminated with all its children.

The acp package's helper does not read stderr, so a verbose program would block; it leaves child processes
behind, and waits up to four seconds to end one, where `/stop` allows one.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, TypeVar

from agent.config.harness import AcpAgent
from agent.shared.process import kill_group

EXIT_SECONDS = 0.5
"""Time that the program has to exit after its input is closed."""
DRAIN_SECONDS = 1.0
"""Time to wait for output that the program wrote before it ended."""
BUFFER_BYTES = 1 << 20
MAX_MESSAGE_BYTES = 50 << 20
INHERITED_VARIABLES = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
T = TypeVar("T")


class ProgramNotStarted(Exception):
    """Raised if the command can't be run; the message states the reason."""


class ProgramEnded(Exception):
    """Raised if the program exits before its result; the message states how it exited."""


@dataclass(frozen=True, slots=True)
class ProgramCommand:
    """A command with its arguments and environment variables."""

    path: str
    args: tuple[str, ...]
    env: Mapping[str, str]


class AgentProgram:
    """A running program. `reader` and `writer` are its standard output and input."""

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: _Protocol) -> None:
        self._transport, self._protocol = transport, protocol
        process = asyncio.subprocess.Process(transport, protocol, asyncio.get_running_loop())
        assert process.stdin is not None
        assert process.stdout is not None
        self.writer, self.reader = process.stdin, process.stdout
        self.pid = transport.get_pid()

    async def run_while_alive(self, work: Awaitable[T]) -> T:
        """Return the result of `work`. Raises ProgramEnded if the program exits first."""
        task = asyncio.ensure_future(work)
        over = asyncio.ensure_future(self._protocol.ended.wait())
        try:
            await asyncio.wait([task, over], return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                await asyncio.wait([task], timeout=DRAIN_SECONDS)
            if not task.done():
                raise ProgramEnded(self.exit_reason)
            try:
                return task.result()
            except ConnectionError:
                await asyncio.wait([over], timeout=DRAIN_SECONDS)
                raise ProgramEnded(self.exit_reason) from None
        finally:
            over.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait([task])

    @property
    def exit_reason(self) -> str:
        code = self._transport.get_returncode()
        if code is None:
            return "closed its output"
        return f"was killed (signal {-code})" if code < 0 else f"exited (code {code})"

    async def terminate(self) -> None:
        """Give the program a short time to exit, then kill its whole process group."""
        try:
            self.writer.close()
            async with asyncio.timeout(EXIT_SECONDS):
                await self._protocol.ended.wait()
        except TimeoutError:
            pass
        finally:
            kill_group(self.pid)
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await self._protocol.ended.wait()
        self._transport.close()


class _Protocol(asyncio.subprocess.SubprocessStreamProtocol):
    """Forwards only the lines that may be messages.

    `ended` is set at exit, even if a child still holds the output.
    """

    def __init__(self) -> None:
        super().__init__(limit=BUFFER_BYTES, loop=asyncio.get_running_loop())
        self.ended = asyncio.Event()
        self._line = bytearray()

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        """Collect output and forward whole lines.

        The acp package closes the connection at a line of JSON that is not an object, so other lines are
        dropped.
        """
        assert isinstance(data, bytes)
        self._line += data
        if b"\n" in data:
            whole, _, rest = bytes(self._line).rpartition(b"\n")
            self._line = bytearray(rest)
            messages = [line for line in whole.split(b"\n") if line.lstrip().startswith(b"{")]
            super().pipe_data_received(fd, b"".join(line + b"\n" for line in messages))
        elif len(self._line) > MAX_MESSAGE_BYTES:
            self._line.clear()

    def process_exited(self) -> None:
        super().process_exited()
        self.ended.set()


@asynccontextmanager
async def start_program(command: ProgramCommand, folder: Path, errors: TextIO) -> AsyncIterator[AgentProgram]:
    """Run the program in the directory with `errors` as its stderr. Raises ProgramNotStarted."""
    try:
        transport, protocol = await asyncio.get_running_loop().subprocess_exec(
            _Protocol,
            command.path,
            *command.args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            cwd=str(folder),
            env=dict(command.env),
            start_new_session=True,
        )
    except OSError as error:
        raise ProgramNotStarted(f"can't be started ({error.strerror or type(error).__name__})") from error
    program = AgentProgram(transport, protocol)
    try:
        yield program
    finally:
        await program.terminate()


def resolve_command(agent: AcpAgent, environ: Mapping[str, str]) -> ProgramCommand:
    """Find the agent's program, and build its environment from basic variables and its own. Blocking.

    Raises ProgramNotStarted.
    """
    env = {name: environ[name] for name in INHERITED_VARIABLES if name in environ}
    env |= {name: value.get_secret_value() for name, value in agent.env.items()}
    path = shutil.which(agent.command, path=env.get("PATH", os.defpath))
    if path is None:
        name = Path(agent.command).name
        raise ProgramNotStarted(f"can't be started: {name} is not installed, or is not on PATH")
    return ProgramCommand(str(Path(path).absolute()), tuple(agent.args), env)


ADAPTERS = {
    "codex": "codex-acp",
    "claude": "claude-agent-acp",
    "gemini": "gemini with the argument --acp",
    "pi": "pi-acp",
}
_KNOWN = "{program} does not support ACP by itself; use {adapter}."
_ANY = (
    "The command must be a program that uses ACP on its standard input and output. Many agents need an "
    "adapter for this: codex-acp for Codex, claude-agent-acp for Claude Code."
)


def suggest_adapter(command: str) -> str:
    """Return a sentence on how to fix a command that is not an ACP agent."""
    program = Path(command).name.removesuffix(".exe").removesuffix(".cmd")
    adapter = ADAPTERS.get(program)
    return _KNOWN.format(program=program, adapter=adapter) if adapter else _ANY
