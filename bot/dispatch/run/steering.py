"""Offer messages that arrive during a run to that run (docs/decisions/steer-through-the-run-inbox.md)."""

from __future__ import annotations

import asyncio

import structlog

from agent.shared.aio import wait_first
from bot.commands.escaping import quoted
from bot.dispatch.run.request import AttachmentUploader, message_id, message_number, steer_body
from bot.domain import TurnMessage
from bot.errors import RuntimeProblem, RuntimeUnreachable
from bot.faults import Step, reach
from bot.runtime.interface import SteerMessage
from bot.store import Database
from bot.store.steering import accepts_steering, load_steerable
from bot.texts import Texts

log = structlog.get_logger(__name__)

# Seconds between attempts while the runtime is unavailable.
RETRY_SECONDS = 1.0
LONGEST_SHOWN = 60


class Steering:
    """The inbox of a turn's run: `on` if the run has one, `offered` if it ever held a message."""

    def __init__(self, uploader: AttachmentUploader, db: Database, texts: Texts, *, on: bool) -> None:
        self.on = on and accepts_steering(uploader.turn)
        self.offered = False
        self._uploader = uploader
        self._db = db
        self._texts = texts
        self._known: dict[str, TurnMessage] = {}
        self._waiting: dict[str, TurnMessage] = {}
        self._inbox: dict[str, TurnMessage] = {}
        self._news = asyncio.Event()
        self._news.set()

    def notify(self) -> None:
        """Signal that the waiting messages have changed."""
        self._news.set()

    def reset(self) -> None:
        """Fill the inbox again: the runtime may have lost it."""
        self._inbox.clear()
        self.notify()

    async def run(self) -> None:
        """Keep the inbox equal to the waiting messages until cancelled."""
        pause = 0.0
        while self.on:
            await self._wait_for_news(pause)
            try:
                pause = await self._sync_inbox()
            except RuntimeUnreachable:
                pause = RETRY_SECONDS
            except RuntimeProblem as problem:
                # The run has no inbox, so the next turn answers the waiting messages.
                log.info("inbox_refused", turn=self._uploader.turn.id, problem=str(problem))
                return

    async def load_waiting(self) -> float:
        """Load the waiting messages. Return the seconds until more are due (0.0: none are)."""
        behind = await self._db.run(load_steerable, self._uploader.turn, self._uploader.clock.now())
        self._waiting = {message_id(self._uploader.turn, one.id): one for one in behind.messages}
        self._known |= self._waiting
        return behind.more

    async def empty_inbox(self) -> None:
        """Remove every message from the inbox after the run. Raises RuntimeProblem."""
        self.on = False
        for identity in list(self._inbox):
            await self._remove_message(identity)

    def joined_line(self, identity: str) -> str:
        """Return the line that marks a joined message, "" for an unknown one."""
        message = self._known.get(identity)
        if message is None or not message.text.strip():
            return ""
        return self._texts("joined", text=quoted(message.text, LONGEST_SHOWN))

    def message_number(self, identity: str) -> int:
        """Return the number of the message with this thread id, 0 if it is not part of this turn."""
        return message_number(self._uploader.turn, identity)

    async def _wait_for_news(self, pause: float) -> None:
        if pause:
            await wait_first(self._news, self._uploader.clock, pause)
        else:
            await self._news.wait()
        self._news.clear()

    async def _sync_inbox(self) -> float:
        """Bring the inbox up to date. Return the seconds until more messages are due."""
        more = await self.load_waiting()
        for identity in [one for one in self._inbox if one not in self._waiting]:
            await self._remove_message(identity)
        for identity, message in self._waiting.items():
            if self._inbox.get(identity) != message:
                await self._put_message(identity, message)
        return more

    async def _put_message(self, identity: str, message: TurnMessage) -> None:
        handing = self._uploader
        body = await steer_body(handing, message, self._texts)
        self.offered = True
        await handing.runtime.steer(handing.turn.thread_id, SteerMessage(handing.turn.id, message.id, body))
        self._inbox[identity] = message
        reach(Step.OFFERED)

    async def _remove_message(self, identity: str) -> None:
        await self._uploader.runtime.unsteer(self._uploader.turn.thread_id, identity)
        self._inbox.pop(identity, None)
