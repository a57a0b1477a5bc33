"""A real service whose model somebody plays, and a chat of people with it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.account_state import Live
from bot.app.http_server import api_services
from bot.app.service import BotService
from bot.clock import Clock
from bot.server.api.app import create_app
from bot.store.connection import sql
from bot.store.read_models import list_turns
from tests.harness.machine import Deadline
from tests.harness.service_with_real_runtime import running
from tests.harness.strict_providers.server import listen
from tests.platforms.web.serving import serving
from tests.played.model import PlayedModel
from tests.played.rooms import ANN, BOT, File, Room, Shown, open_room

LOOK_EVERY = 0.05
# A list of turns has the newest ones only.
COUNT_ACCEPTED = sql("SELECT COUNT(*) FROM inbound WHERE turn_id > 0")
START_SECONDS = 60.0
WAIT_SECONDS = 150.0


@dataclass
class Stage:
    """The service, the model's requests, and what people see."""

    room: Room
    model: PlayedModel
    service: BotService
    home: Path
    address: str
    """The address of the model."""

    async def enter(self, number: int, *, group: bool = False) -> None:
        """Go to another chat, with people of its own."""
        self.room = await self.room.enter(number, group=group)

    async def say(self, text: str, *, by: str = ANN, files: Sequence[File] = (), reply_to: Any = None) -> Any:
        """Write a message and wait until the bot has accepted it; its id.

        In a group the bot accepts only what mentions it.
        """
        before = await self._count_messages()
        sent = await self.room.say(text, by=by, files=files, reply_to=reply_to)
        if not self.room.is_group or BOT in text:
            await self._wait_until(lambda: self._has_more_messages(before), WAIT_SECONDS)
        return sent

    async def press(self, label: str) -> None:
        """Press a button and wait until the bot has accepted that."""
        before = await self._count_messages()
        await self.room.press(label)
        await self._wait_until(lambda: self._has_more_messages(before), WAIT_SECONDS)

    async def ask(self, text: str, *, by: str = ANN, files: Sequence[File] = ()) -> list[Shown]:
        """Write a message and return what the bot shows in answer to it."""
        before = len(await self.room.read())
        await self.say(text, by=by, files=files)
        await self.wait()
        return (await self.room.read())[before:]

    async def wait(self, seconds: float = WAIT_SECONDS) -> None:
        """Wait until everything that was accepted is answered."""
        await self._wait_until(self._is_idle, seconds)

    async def wait_for_request(self, count: int, seconds: float = WAIT_SECONDS) -> None:
        """Wait until the model was asked so many times."""

        async def is_asked() -> bool:
            return len(self.model.played) >= count

        await self._wait_until(is_asked, seconds)

    async def describe(self) -> str:
        """What happened so far, for a failed assertion."""
        asked = [f"{one.number} {one.purpose}" for one in self.model.played]
        shown = [one.text for one in await self.room.read()]
        return f"requests: {asked}\nrejected: {self.model.rejections}\nshown: {shown}\n{self._log()}"

    async def _wait_until(self, condition: Callable[[], Awaitable[bool]], seconds: float) -> None:
        deadline = Deadline(seconds)
        while not await condition():
            assert not deadline.passed, await self.describe()
            await asyncio.sleep(LOOK_EVERY)

    async def _is_idle(self) -> bool:
        answered = all(one.finished_at for one in await self._list_turns())
        return answered and not any(one.is_open for one in await self.room.read())

    async def _has_more_messages(self, count: int) -> bool:
        return await self._count_messages() > count

    async def _count_messages(self) -> int:
        found = await self.service.db.transact(
            lambda connection: connection.execute(COUNT_ACCEPTED).scalar_one()
        )
        return int(found)

    async def _list_turns(self) -> list[Any]:
        return await self.service.db.transact(list_turns, None)

    def _log(self) -> str:
        path = self.home / "logs" / "agent.log"
        return path.read_text(errors="replace")[-3000:] if path.exists() else ""


def render_config(
    room: Room, model_url: str, settings: str = "", account: str = "", others: Sequence[Room] = ()
) -> str:
    """Return the configuration of a service with the accounts of this chat and of others.

    `settings` are more sections, `account` more keys of this chat's account.
    """
    entry = f"{room.account.removesuffix('}')}, {account}}}" if account else room.account
    entries = "\n  ".join([entry, *(one.account for one in others)])
    owners = json.dumps([owner for one in (room, *others) for owner in one.owners])
    sandbox = "" if "\nsandbox:" in f"\n{settings}" else f'sandbox: {{python: "{sys.prefix}"}}'
    return f"""config_version: 1
models:
  - {{name: played, use: "langchain_openai:ChatOpenAI", model: played, api_key: k, base_url: "{model_url}",
     stream_usage: true, supports_vision: true, context_window: 128000, max_retries: 0}}
{sandbox}
server: {{port: 0}}
channels:
  {entries}
access: {{default: allow, owners: {owners}}}
{settings}
"""


@asynccontextmanager
async def open_stage(
    home: Path,
    platform: str,
    model: PlayedModel,
    *more: Any,
    group: bool = False,
    settings: str = "",
    account: str = "",
    clock: Clock | None = None,
    others: Sequence[Room] = (),
) -> AsyncIterator[Stage]:
    """Start the service and open a chat with it; `more` serve routes at the model's address.

    The service also has the accounts of the chats in `others`, which are open already.
    """
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(listen(model, *more))
        room = await stack.enter_async_context(open_room(platform, group=group))
        config = render_config(room, address + model.base, settings, account, others)
        service = await stack.enter_async_context(running(home, config, clock))
        app = create_app(api_services(service, port=0))
        url, _ = await stack.enter_async_context(serving(app))
        await _wait_until_live(service)
        for one in (room, *others):
            await one.connect(url)
        yield Stage(room, model, service, home, address)


async def _wait_until_live(service: BotService) -> None:
    deadline = Deadline(START_SECONDS)
    while {state.live for _, state in service.accounts.states().values()} != {Live.LIVE}:
        assert not deadline.passed, f"{service.accounts.states()}"
        await asyncio.sleep(LOOK_EVERY)
