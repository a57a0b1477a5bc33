"""Run an adapter as its supervisor does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar

from bot.account_state import AccountState, Live
from bot.clock import Clock
from bot.platforms.base import Adapter, AdapterContext
from roebot_testing.clock import QuickClock
from roebot_testing.inbox import PATIENCE, RecordingInbox

AdapterT = TypeVar("AdapterT", bound=Adapter)


class RunningAdapter(Generic[AdapterT]):
    """An adapter with its inbox and clock, and every state that it reported."""

    def __init__(
        self, adapter: AdapterT, inbox: RecordingInbox | None = None, clock: Clock | None = None
    ) -> None:
        self.adapter = adapter
        self.shelf = inbox if inbox is not None else RecordingInbox()
        self.clock: Any = clock if clock is not None else QuickClock()
        self.states: list[AccountState] = []
        self.context = AdapterContext(self.shelf, self.states.append, self.clock)
        self.task: asyncio.Task[None] | None = None

    async def start(self) -> Self:
        """Start the adapter and wait until it is live or has ended."""
        self.task = asyncio.create_task(self.adapter.start(self.context), name="adapter under test")
        await eventually(lambda: self.state.live is Live.LIVE or self.ended)
        return self

    async def stop(self) -> None:
        """Stop it as the supervisor does; `error` has what it raised."""
        await self.adapter.stop()
        await self._end()

    async def crash(self) -> None:
        """Cancel it without `stop`."""
        if self.task is not None:
            self.task.cancel()
        await self._end()

    @property
    def ended(self) -> bool:
        """True once the adapter's `start` has returned or raised."""
        return self.task is not None and self.task.done()

    @property
    def error(self) -> BaseException | None:
        """The error that `start` raised, None while it runs or after a normal end."""
        if self.task is None or not self.task.done() or self.task.cancelled():
            return None
        return self.task.exception()

    @property
    def state(self) -> AccountState:
        """The newest state."""
        return self.states[-1] if self.states else AccountState(Live.STOPPED)

    async def _end(self) -> None:
        if self.task is not None:
            await asyncio.wait({self.task})
            _ = self.error  # retrieved, so that the loop does not log it


async def eventually(condition: Callable[[], Any]) -> None:
    """Wait until the condition holds, at most PATIENCE seconds."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110  the condition has no event
            await asyncio.sleep(0.002)
