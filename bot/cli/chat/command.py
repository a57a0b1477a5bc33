"""`roebot chat`: a client of the public API in a terminal or a pipe."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import httpx

from bot.cli.chat.client import ChatClient, ChatFailed
from bot.cli.chat.terminal import Lines, Screen
from bot.cli.common import bearer_headers
from bot.cli.init.prompts import find_locale
from bot.texts import texts_for

MAIN_CHAT = "main"


async def chat(base_url: str, token: str | None, home: Path) -> int:
    """Chat with the service at `base_url` and return the exit code. With piped input, only the reply goes to
    stdout.
    """
    headers, timeout = dict(bearer_headers(token)), httpx.Timeout(30.0, read=60.0)
    if language := find_locale(os.environ):
        headers["accept-language"] = language
    async with httpx.AsyncClient(
        base_url=base_url, headers=headers, timeout=timeout, trust_env=False
    ) as http:
        client = ChatClient(http, home)
        try:
            if sys.stdin.isatty():
                return await _talk(client)
            return await _once(client, await asyncio.to_thread(sys.stdin.read))
        except ChatFailed as problem:
            print(f"roebot: {problem}", file=sys.stderr)
            return 1


async def _once(client: ChatClient, text: str) -> int:
    """Send the piped text and print its complete reply."""
    if not text.strip():
        raise ChatFailed("nothing to send: the input is empty")
    await client.open()
    turn = await client.say(text.strip())
    async for update in client.updates():
        if update.turn == turn and update.closed:
            good = update.state == "done"
            said = "\n\n".join(filter(None, [update.text, *update.files]))
            print(said, file=sys.stdout if good else sys.stderr)
            return 0 if good else 1
    raise ChatFailed("the service stopped before answering")


async def _talk(client: ChatClient) -> int:
    """Run a conversation in the terminal until Ctrl-D, or Ctrl-C at the prompt."""
    screen = Screen(sys.stdout, sys.stdout.isatty())
    await client.open(MAIN_CHAT)
    screen.say(f"{texts_for(find_locale(os.environ))('chat_greeting')}\n")
    with Lines(sys.stdin) as lines:
        async with asyncio.TaskGroup() as group:
            following = group.create_task(_follow(client, screen))
            writing = group.create_task(_write(client, screen, lines))
            await asyncio.wait({following, writing}, return_when=asyncio.FIRST_COMPLETED)
            for task in (following, writing):
                task.cancel()
    screen.say("\n")
    return 0


async def _follow(client: ChatClient, screen: Screen) -> None:
    """Show updates, and continue after a reconnect."""
    async for update in client.updates():
        screen.show(update)


async def _write(client: ChatClient, screen: Screen, lines: Lines) -> None:
    """Send the typed messages."""
    screen.prompt()
    async for line in lines:
        if line is None:
            if not screen.busy:
                return
            await client.stop()
            continue
        if not line.strip():
            screen.prompt()
            continue
        try:
            screen.expect(await client.say(line))
        except ChatFailed as problem:
            screen.say(f"! {problem}\n")
            screen.prompt()
