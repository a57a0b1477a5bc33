"""Brief connection of an account to identify it and see who is messaging it, without consuming messages."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import structlog

from bot.account_state import AccountState, Live
from bot.app.accounts import load_manifest, make_adapter
from bot.clock import SystemClock
from bot.config import AccountConfig
from bot.domain import UNKNOWN_SENDER, ChatKind, InboundEvent, InboundMessage, InboundRating, Origin, Sender
from bot.errors import AccountError, AccountLost, StartError, StoreError
from bot.platforms.base import AdapterContext

PROBE_SECONDS = 30.0
T = TypeVar("T")


async def probe(account: AccountConfig, *, seconds: float = PROBE_SECONDS) -> AccountState:
    """Return the account's state once the platform has accepted it. Raises StartError."""
    live: asyncio.Future[AccountState] = asyncio.get_running_loop().create_future()

    def report(state: AccountState) -> None:
        if state.live is Live.LIVE and not live.done():
            live.set_result(state)

    return await _run_until(account, live, AdapterContext(_NoInbox(), report, SystemClock()), seconds)


async def wait_for_writer(
    account: AccountConfig, seconds: float, ready: Callable[[], None], skipped: Sequence[str] = ()
) -> InboundMessage | None:
    """Return the first private message from a person, or None after a timeout.

    Event ids in `skipped` are ignored. `ready` is called once the account receives messages. The message
    is not confirmed, so the service can answer it later. Raises StartError.
    """
    inbox = _WriterInbox(frozenset(skipped), confirms=load_manifest(account.platform).confirms)
    reported = False

    def report(state: AccountState) -> None:
        nonlocal reported
        if state.live is Live.LIVE and not reported:
            reported = True
            ready()

    context = AdapterContext(inbox, report, SystemClock())
    with suppress(_ProbeTimeout):
        return await _run_until(account, inbox.writer, context, seconds)
    return None


async def _run_until(
    account: AccountConfig, wanted: asyncio.Future[T], context: AdapterContext, seconds: float
) -> T:
    """Run the adapter until the expected result is available."""
    adapter = make_adapter(load_manifest(account.platform), account)
    running = asyncio.create_task(adapter.start(context))
    try:
        waiting: set[asyncio.Future[Any]] = {running, wanted}
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if wanted.done():
            return wanted.result()
        if running.done():
            running.result()
        raise _ProbeTimeout(
            f"{account.platform} did not respond within {seconds:.0f} s; check the network and try again"
        )
    except AccountLost as problem:
        where = f" (base_url is {account.base_url})" if account.base_url else ""
        raise StartError(f"{problem}{where}; check the network and try again") from None
    except AccountError as problem:
        raise StartError(str(problem)) from None
    finally:
        wanted.cancel()
        await adapter.stop()
        await asyncio.gather(running, return_exceptions=True)


class _ProbeTimeout(StartError):
    """The expected result did not arrive in time."""


class _NoInbox:
    """Inbox that stores nothing, so nothing is confirmed to the platform."""

    async def accept(self, events: Sequence[InboundEvent], cursor: str = "") -> Mapping[str, str]:
        found: Mapping[str, str] = await asyncio.get_running_loop().create_future()
        return found

    def records(self, chat: str) -> bool:
        return False

    async def has_thread_start(self, chat: str, topic: str) -> bool:
        return False

    def reaches_agent(self, message: InboundMessage) -> bool:
        return message.addressed

    def answers(self, message: InboundMessage) -> bool:
        return False

    async def rate(self, rating: InboundRating) -> str:
        return ""

    async def retitle(self, origin: Origin, title: str) -> None:
        """Store nothing."""

    def text(self, key: str, chat: str, sender: Sender = UNKNOWN_SENDER) -> str:
        return ""

    def alone(self, message: InboundMessage) -> bool:
        return False

    async def cursor(self) -> str:
        return ""

    async def migrate_chat(self, old: str, new: str) -> None:
        await asyncio.get_running_loop().create_future()


class _WriterInbox(_NoInbox):
    """Inbox that records the author of a message and lets the platform redeliver it."""

    def __init__(self, before: frozenset[str], *, confirms: bool) -> None:
        self._before = before
        self._confirms = confirms
        self.writer: asyncio.Future[InboundMessage] = asyncio.get_running_loop().create_future()

    async def accept(self, events: Sequence[InboundEvent], cursor: str = "") -> Mapping[str, str]:
        for event in events:
            if isinstance(event, InboundMessage) and self._is_one(event) and not self.writer.done():
                self.writer.set_result(event)
        if not events or not self._confirms:
            return {}
        raise StoreError("messages are not stored during setup")

    def answers(self, message: InboundMessage) -> bool:
        return message.origin.chat_kind is ChatKind.PRIVATE

    def _is_one(self, event: InboundMessage) -> bool:
        sender = event.origin.sender
        private = event.origin.chat_kind is ChatKind.PRIVATE
        return private and not sender.is_bot and bool(sender.id) and event.event_id not in self._before


@contextmanager
def silence_logs() -> Iterator[None]:
    """Silence logging so that log lines don't interrupt the dialog."""
    before, level = structlog.get_config(), logging.root.manager.disable
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        structlog.configure(**before)
        logging.disable(level)
