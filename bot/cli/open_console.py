"""Opening the web console in a browser, with a sign-in link that other users of the machine can't read."""

from __future__ import annotations

import asyncio
import html
import os
import sys
import webbrowser
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from agent.shared.atomic_file import replace_file
from bot.texts import Texts

REDIRECT_FILE = "sign-in.html"
KEEP_SECONDS = 60.0
"""Time that a browser has to read the file."""
LINE_BYTES = 1024
_PAGE = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={url}">
<title>Roebot</title>
<p><a href="{url}">Open the web console</a></p>
"""


def has_desktop(env: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Return whether a browser can open a window in this session."""
    if platform in ("darwin", "win32"):
        return "SSH_CONNECTION" not in env
    return bool(env.get("DISPLAY") or env.get("WAYLAND_DISPLAY"))


def can_ask(env: Mapping[str, str]) -> bool:
    """Return whether the user can be prompted at a terminal of a desktop session."""
    return sys.stdin.isatty() and sys.stdout.isatty() and has_desktop(env)


def open_in_browser(home: Path, url: str) -> bool:
    """Open a sign-in link in the default browser; return False if there is no browser. Blocking.

    The browser is given a private file that leads to the link, because all users of the machine can read the
    arguments of its process. Raises OSError.
    """
    path = home / REDIRECT_FILE
    replace_file(path, _PAGE.format(url=html.escape(url)))
    return webbrowser.open(path.as_uri())


def remove_redirect(home: Path) -> None:
    """Delete the file that redirects to a link. Blocking."""
    with suppress(OSError):
        (home / REDIRECT_FILE).unlink(missing_ok=True)


async def open_on_enter(home: Path, url: str, texts: Texts) -> None:
    """Wait for the Enter key, then open the link in the browser."""
    if not await _enter_pressed():
        return
    try:
        if not await asyncio.to_thread(_opens, home, url):
            print(f"  {texts('run_no_browser')}\n", flush=True)
        await asyncio.sleep(KEEP_SECONDS)
    finally:
        await asyncio.to_thread(remove_redirect, home)


def _opens(home: Path, url: str) -> bool:
    try:
        return open_in_browser(home, url)
    except OSError:
        return False


async def _enter_pressed() -> bool:
    """Return whether a line was entered; False if the terminal is closed or used by another program."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    descriptor = sys.stdin.fileno()
    loop.add_reader(descriptor, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)
    # A background process would be stopped if it read input typed for another program.
    if os.tcgetpgrp(descriptor) != os.getpgrp():
        return False
    return bool(await asyncio.to_thread(os.read, descriptor, LINE_BYTES))
