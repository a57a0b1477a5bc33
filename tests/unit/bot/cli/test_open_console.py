"""Opening the console: only where somebody sits at a desktop, and never with the link in a process list."""

from __future__ import annotations

import asyncio
import os
import pty
import sys
import webbrowser
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.cli import open_console
from bot.cli.open_console import REDIRECT_FILE, can_ask, has_desktop, open_in_browser, open_on_enter
from bot.texts import texts_for

URL = "http://127.0.0.1:2026/#code=0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the browser was asked to open."""
    asked: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: asked.append(url) or True)
    return asked


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A terminal as stdin; the end that a person types at."""
    master, slave = pty.openpty()
    with os.fdopen(slave) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(os, "tcgetpgrp", lambda _descriptor: os.getpgrp())
        yield master
    os.close(master)


@pytest.mark.parametrize(
    ("env", "platform", "expected"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"DISPLAY": ""}, "linux", False),
        ({}, "darwin", True),
        ({"SSH_CONNECTION": "192.0.2.7 1 192.0.2.8 22"}, "darwin", False),
    ],
)
def test_a_desktop_session_is_recognized(env: dict[str, str], platform: str, expected: bool) -> None:
    assert has_desktop(env, platform) is expected


def test_nobody_is_asked_without_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "input").open("w+") as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert not can_ask({"DISPLAY": ":0"})


@pytest.mark.guard(
    "a sign-in link is not in the arguments of the browser",
    "bot/cli/open_console.py",
    "return webbrowser.open(path.as_uri())",
    "return webbrowser.open(url)",
    against="other users of the machine",
)
def test_the_browser_gets_a_private_file_instead_of_the_link(tmp_path: Path, opened: list[str]) -> None:
    assert open_in_browser(tmp_path, URL)
    path = tmp_path / REDIRECT_FILE
    assert opened == [path.as_uri()]
    assert path.stat().st_mode & 0o777 == 0o600
    assert f'content="0; url={URL}"' in path.read_text()


async def test_enter_opens_the_link_and_the_file_is_deleted(
    tmp_path: Path, opened: list[str], keyboard: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_console, "KEEP_SECONDS", 0.05)
    waiting = asyncio.create_task(open_on_enter(tmp_path, URL, texts_for("en")))
    await asyncio.sleep(0.05)
    assert opened == []
    os.write(keyboard, b"\n")
    await asyncio.wait_for(waiting, 10)
    assert len(opened) == 1
    assert not (tmp_path / REDIRECT_FILE).exists()


async def test_a_service_that_stops_leaves_no_link_behind(
    tmp_path: Path, opened: list[str], keyboard: int
) -> None:
    waiting = asyncio.create_task(open_on_enter(tmp_path, URL, texts_for("en")))
    os.write(keyboard, b"\n")
    while not opened:
        await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not (tmp_path / REDIRECT_FILE).exists()


async def test_a_process_in_the_background_does_not_read(
    tmp_path: Path, opened: list[str], keyboard: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "tcgetpgrp", lambda _descriptor: os.getpgrp() + 1)
    monkeypatch.setattr(os, "read", lambda *_arguments: pytest.fail("it would be stopped"))
    waiting = asyncio.create_task(open_on_enter(tmp_path, URL, texts_for("en")))
    await asyncio.sleep(0)
    os.write(keyboard, b"make test\n")
    await asyncio.wait_for(waiting, 10)
    assert opened == []


async def test_a_browser_that_cannot_be_opened_is_said(
    tmp_path: Path, keyboard: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(open_console, "KEEP_SECONDS", 0.01)
    monkeypatch.setattr(webbrowser, "open", lambda _url: False)
    waiting = asyncio.create_task(open_on_enter(tmp_path, URL, texts_for("en")))
    os.write(keyboard, b"\n")
    await asyncio.wait_for(waiting, 10)
    assert "Open the link yourself" in capsys.readouterr().out
