"""`roebot chat` as people use it: in a pipe, and at a real (pseudo) terminal."""

from __future__ import annotations

import asyncio
import os
import pty
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from bot.cli.chat.client import ChatClient
from bot.cli.common import DIFFERENT_START
from tests.harness.broker import forked_command
from tests.harness.credentials import SERVICE_TOKEN, SIGNED
from tests.harness.forks import load
from tests.platforms.web.serving import World, world

PROGRAM = (
    "import asyncio, sys; from pathlib import Path; from bot.cli.chat.command import chat;"
    "sys.exit(asyncio.run(chat(sys.argv[1], sys.argv[3] or None, Path(sys.argv[2]))))"
)
TOKEN = "J4sQm8-pX2vR7_bT9wLc3y-Kd6Zn"


@pytest.fixture(scope="module", autouse=True)
def loaded_modules() -> None:
    """No test has to be in time for the imports."""
    load()


async def piped(
    url: str, home: Path, text: str, token: str = SERVICE_TOKEN, **env: str
) -> tuple[int, str, str]:
    """Exit code, stdout and stderr; `env` adds to the environment."""
    process = await asyncio.create_subprocess_exec(
        *forked_command("-c", PROGRAM, url, str(home), token),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **env},
    )
    out, err = await process.communicate(text.encode())
    return int(process.returncode or 0), out.decode(), err.decode()


async def test_a_pipe_gets_just_the_reply(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        assert await piped(service.url, tmp_path, "hi there\n") == (0, "hi there\n", "")
        assert await piped(service.url, tmp_path, "[reply=**bold** `x`]") == (0, "**bold** `x`\n", "")


async def test_links_to_the_console_have_its_address(tmp_path: Path) -> None:
    link, other = "[Connect Slack](#/docs/howto/connect-slack)", "[Sum](#sum)"
    async with world(tmp_path) as service:
        told = (0, f"{link.replace('#', f'{service.url}/#')} {other}\n", "")
        assert await piped(service.url, tmp_path, f"{link} {other}") == told


async def test_the_terminal_reports_its_language(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        code, out, err = await piped(service.url, tmp_path, "/language", LC_ALL="", LANG="zh_CN.UTF-8")
    assert (code, err) == (0, "")
    assert out.startswith("我用中文")


@pytest.mark.parametrize("command", ["/help", "/status", "/stop", "/new", "/hepl"])
async def test_a_command_in_a_pipe_is_answered(command: str, tmp_path: Path) -> None:
    async with world(tmp_path) as service, asyncio.timeout(20):
        code, out, err = await piped(service.url, tmp_path, command)
    assert (code, err) == (0, "")
    assert out.strip()


async def test_an_answer_that_stands_before_anybody_listens_is_heard(tmp_path: Path) -> None:
    async with world(tmp_path) as service, httpx.AsyncClient(base_url=service.url, headers=SIGNED) as http:
        client = ChatClient(http, tmp_path)
        await client.open()
        earlier = await client.say("/whoami")
        await service.turn(earlier)
        again = ChatClient(http, tmp_path)
        await again.open()
        turn = await again.say("/help")
        await service.turn(turn)
        async with asyncio.timeout(30):
            update = await anext(again.updates())
        assert (update.turn, update.state) == (turn, "done")
        assert "/help" in update.text


async def test_a_failure_goes_to_stderr_and_the_exit_code(tmp_path: Path) -> None:
    async with world(tmp_path, graph="crashing") as service:
        code, out, err = await piped(service.url, tmp_path, "hi")
        assert (code, out) == (1, "")
        assert "/retry" in err
        code, out, err = await piped(service.url, tmp_path, " \n")
        assert (code, out, err) == (1, "", "roebot: nothing to send: the input is empty\n")


async def test_a_service_that_is_away_or_refuses_is_one_line(tmp_path: Path) -> None:
    code, out, err = await piped("http://127.0.0.1:9", tmp_path, "hi")
    assert (code, out, err) == (1, "", "roebot: can't reach the service\n")
    async with world(tmp_path, server=f", token: {TOKEN}") as service:
        assert await piped(service.url, tmp_path, "hi", "") == (1, "", f"roebot: {DIFFERENT_START}\n")
        assert await piped(service.url, tmp_path, "hi", TOKEN) == (0, "hi\n", "")


async def test_files_are_printed_as_paths(tmp_path: Path) -> None:
    async with world(tmp_path, graph="artifact") as service:
        code, out, err = await piped(service.url, tmp_path, "make [file=out.txt]")
        assert (code, err) == (0, "")
        path = Path(out.strip().splitlines()[-1])
        assert path.is_relative_to(tmp_path / "threads")
        assert "make" in await asyncio.to_thread(path.read_text)


async def test_a_file_of_an_agent_elsewhere_is_fetched(tmp_path: Path) -> None:
    async with world(tmp_path / "there", graph="artifact") as service:
        code, out, _ = await piped(service.url, tmp_path / "here", "make [file=out.txt]")
        assert code == 0
        path = Path(out.strip().splitlines()[-1])
        assert path.parent == tmp_path / "here" / "downloads"
        assert path.name.endswith("-out.txt")
        assert "make" in await asyncio.to_thread(path.read_text)


class Terminal:
    """A pseudo terminal with `roebot chat` in it."""

    def __init__(self, process: asyncio.subprocess.Process, master: int) -> None:
        self.process = process
        self.shown = ""
        self._master = master
        self._more = asyncio.Event()
        asyncio.get_running_loop().add_reader(master, self._read)

    def _read(self) -> None:
        try:
            self.shown += os.read(self._master, 65536).decode(errors="replace")
        except OSError:
            asyncio.get_running_loop().remove_reader(self._master)
        self._more.set()

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._master, text.encode())

    async def until(self, text: str) -> str:
        """Wait until `text` is shown; what was shown up to its end, which is then forgotten."""
        while text not in self.shown:
            self._more.clear()
            await asyncio.wait_for(self._more.wait(), 30)
        before, _, self.shown = self.shown.partition(text)
        return before + text


@asynccontextmanager
async def terminal(service: World) -> AsyncIterator[Terminal]:
    master, slave = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, service.url, str(service.home), SERVICE_TOKEN),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=_controlling,
    )
    os.close(slave)
    opened = Terminal(process, master)
    try:
        yield opened
    finally:
        asyncio.get_running_loop().remove_reader(master)
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(master)


def _controlling() -> None:
    """Make stdin the controlling terminal, so that Ctrl-C is a signal."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.mark.may_block
async def test_a_conversation_at_a_terminal(tmp_path: Path) -> None:
    async with world(tmp_path) as service, terminal(service) as screen:
        await screen.until("› ")
        screen.type("hello\n")
        await screen.until("hello\r\n")
        assert "hello" in await screen.until("› ")
        screen.type("/status\n")
        assert "Nothing is running." in await screen.until("› ")
        screen.type("\x04")
        assert await asyncio.wait_for(screen.process.wait(), 30) == 0


@pytest.mark.may_block
async def test_ctrl_c_stops_the_answer_and_at_the_prompt_ends(tmp_path: Path) -> None:
    async with world(tmp_path, graph="slow") as service, terminal(service) as screen:
        await screen.until("› ")
        screen.type("[tokens=2000] count\n")
        await screen.until("word3 ")
        screen.type("\x03")
        await screen.until("(stopped)")
        await screen.until("Stopped.")
        await screen.until("› ")
        screen.type("\x03")
        assert await asyncio.wait_for(screen.process.wait(), 30) == 0


@pytest.mark.may_block
async def test_a_paste_is_one_message_and_old_answers_are_not_shown_again(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        async with terminal(service) as screen:
            await screen.until("› ")
            screen.type("one\ntwo\nthree\n")
            await screen.until("one\r\ntwo\r\nthree\r\n")
            assert "one\r\ntwo\r\nthree" in await screen.until("› ")
        async with terminal(service) as screen:
            await screen.until("› ")
            screen.type("again\n")
            shown = await screen.until("› ")
            assert "two" not in shown
