"""Agent sessions, by which Slack shows that the agent works on a thread, with a stop button, and the thread's
title.

A session belongs to a thread and is created by its first status (docs.slack.dev/ai/agent-sessions). Slack
keeps a status for up to an hour, so every answer ends it: with the end of its stream, or with a separate call
that no answer waits for. Apps that are not declared as agents get the status line instead.

If both are set, Slack shows the session (vercel/chat#897), so the status line would be a call without
effect. Ending a session when typing ends would remove the stop button as soon as an answer streams. A turn
that ends before the account is connected again leaves its session at `processing` for up to an hour.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from weakref import WeakValueDictionary

import structlog

from agent.shared.text import shorten, to_one_line
from bot.clock import Clock
from bot.core.rate_limits import SlidingWindow
from bot.core.recent_values import RecentValues
from bot.domain import ChatKind, OutboundMessage, ReplyAddress
from bot.errors import DeliveryError, RateLimited
from bot.platforms.connection import AccountHealth
from bot.platforms.slack.client import SlackWebApi
from bot.platforms.slack.method_limits import MINUTE, RESERVED_STATUSES, SESSION_STATUSES

log = structlog.get_logger(__name__)

ACTIVE, PROCESSING, SUSPENDED = "active", "processing", "suspended"
TITLE_LIMIT = 80
"""Characters of a title that we set; Slack takes 200."""
NO_STOP = "missing_agent_session_stopped_event_subscription"
STOP_NOTE = (
    "Slack shows no stop button: subscribe the app to the event agent_session_stopped, as in the manifest "
    "that `roebot manifest slack` prints"
)
AGENT_NOTE = (
    "Slack does not recognize the app as an agent, so it shows no stop button: use agent_view in its "
    "manifest, as in the one that `roebot manifest slack` prints"
)
_NOT_HERE = frozenset({"not_authorized"})
_NOT_AT_ALL = frozenset({"feature_disabled", "unknown_method", "missing_scope", "not_allowed_token_type"})


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A call that is due: `status`, or else a new `title`."""

    address: ReplyAddress
    status: str = ""
    title: str = ""


class SlackSessions:
    """Sessions of an account. `run` makes calls in the background. `scale` multiplies Slack's periods."""

    def __init__(self, calls: SlackWebApi, clock: Clock, health: AccountHealth, scale: float = 1.0) -> None:
        self._web_api = calls
        self._clock = clock
        self._health = health
        self._window = SlidingWindow(SESSION_STATUSES, MINUTE, reserve=RESERVED_STATUSES, scale=scale)
        self._is_supported = True
        self._refused: RecentValues[bool] = RecentValues(1024)
        self._statuses: RecentValues[str] = RecentValues(4096)
        self._questions: RecentValues[tuple[str, str]] = RecentValues(4096)
        self._turns: RecentValues[str] = RecentValues(1024)
        self._wanted: dict[tuple[str, str], _Wanted] = {}
        self._due = asyncio.Event()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def note_question(self, chat: str, topic: str, text: str, user: str) -> None:
        """Record a thread's first text and its author, which become the title and initiator of its
        session.
        """
        key = f"{chat}:{topic}"
        if topic and key not in self._questions:
            self._questions.put(key, (title_of(text), user))

    def note_stop(self, chat: str, topic: str) -> None:
        """Record a click on the stop button, which is displayed while the status is `processing`."""
        self._statuses.put(f"{chat}:{topic}", PROCESSING)

    async def begin(self, address: ReplyAddress) -> bool:
        """Show that the agent is working on a thread; return False if that is not possible (now). Raises
        DeliveryError.
        """
        key = _key(address)
        if not self._is_possible(address):
            return False
        self._wanted.pop((key, "status"), None)
        async with self._lock(key):
            if self._statuses.get(key) == PROCESSING:
                return True
            now = self._clock.now()
            if self._window.optional_at(now, at_once=True) > now:
                return False
            return await self._begin_session(address)

    async def _begin_session(self, address: ReplyAddress) -> bool:
        title, user = self._questions.get(_key(address)) or ("", "")
        try:
            await self._set_status(address, PROCESSING, title, user)
        except DeliveryError as error:
            if error.detail == "user_not_found":
                await self._set_status(address, PROCESSING, title, "")
                return True
            if not self._note_refusal(address, error):
                raise
            return False
        return True

    def note_frame(self, message: OutboundMessage) -> None:
        """Record that a turn shows work in a thread, which other turns' answers there do not complete."""
        self._turns.put(_key(message.address), _turn(message))

    def status_after(self, message: OutboundMessage) -> str:
        """Return the status set at the end of a message's stream, or "" without sessions."""
        if not self._is_possible(message.address):
            return ""
        if not message.final:
            return PROCESSING
        return SUSPENDED if message.choices else ACTIVE

    def note_status(self, address: ReplyAddress, status: str) -> None:
        """Record a status that Slack has set through another call. Streams start sessions without a title."""
        key = _key(address)
        title, _ = self._questions.get(key) or ("", "")
        if self._statuses.get(key) is None and status == PROCESSING and title:
            self._want(_Wanted(address, title=title))
        self._statuses.put(key, status)

    def finish(self, message: OutboundMessage, *, is_older: bool) -> None:
        """Queue the thread's status after a final message. `is_older`: an earlier process may have set a
        status in this thread.
        """
        self.end(message.address, _turn(message), self.status_after(message), is_older=is_older)

    def end(self, address: ReplyAddress, turn: str, status: str, *, is_older: bool) -> None:
        """Queue a thread's status ("": none) after a turn, unless another turn shows work there."""
        key = _key(address)
        if self._turns.get(key) not in (None, turn):
            return
        self._turns.pop(key)
        known = self._statuses.get(key) or (PROCESSING if is_older else "")
        if status and known and known != status and self._is_possible(address):
            self._want(_Wanted(address, status=status))

    def rename(self, address: ReplyAddress, title: str) -> None:
        """Queue a new title for a session."""
        if title and self._is_possible(address):
            self._want(_Wanted(address, title=title_of(title)))

    async def run(self) -> None:
        """Make queued calls until cancelled."""
        while True:
            await self._due.wait()
            self._due.clear()
            while self._wanted:
                now = self._clock.now()
                wait = self._window.ready_at(now) - now
                if wait > 0:
                    await self._clock.sleep(wait)
                elif self._wanted:
                    key = next(iter(self._wanted))
                    await self._carry_out(key, self._wanted.pop(key))

    async def _carry_out(self, key: tuple[str, str], wanted: _Wanted) -> None:
        try:
            async with self._lock(_key(wanted.address)):
                if wanted.title:
                    await self._rename(wanted.address, wanted.title)
                else:
                    await self._set_status(wanted.address, wanted.status)
        except RateLimited as error:
            self._wanted.setdefault(key, wanted)
            await self._clock.sleep(error.retry_after)
        except DeliveryError as error:
            if wanted.status:
                self._note_refusal(wanted.address, error)
            log.info("slack.session_not_changed", reason=error.detail)

    async def _rename(self, address: ReplyAddress, title: str) -> None:
        began = self._clock.now()
        self._window.count_start(began)
        try:
            await self._web_api.rename_session(address, title)
        finally:
            self._window.count_end(began, self._clock.now())

    async def _set_status(self, address: ReplyAddress, status: str, title: str = "", user: str = "") -> None:
        began = self._clock.now()
        self._window.count_start(began)
        try:
            warning = await self._web_api.set_session_status(address, status, title, user)
        finally:
            self._window.count_end(began, self._clock.now())
        self._statuses.put(_key(address), status)
        if warning == NO_STOP:
            self._health.add_note(STOP_NOTE)

    def _note_refusal(self, address: ReplyAddress, error: DeliveryError) -> bool:
        """Record a refusal for the account or the chat; return False for any other refusal."""
        name = error.detail.partition(":")[0]
        if name in _NOT_AT_ALL or (name in _NOT_HERE and address.chat_kind is ChatKind.PRIVATE):
            self._is_supported = False
            self._health.add_note(AGENT_NOTE)
            log.warning("slack.no_sessions", reason=error.detail)
        elif name in _NOT_HERE:
            self._refused.put(address.chat, True)
        else:
            return False
        return True

    def _is_possible(self, address: ReplyAddress) -> bool:
        return self._is_supported and bool(address.topic) and address.chat not in self._refused

    def _want(self, wanted: _Wanted) -> None:
        self._wanted[_key(wanted.address), "title" if wanted.title else "status"] = wanted
        self._due.set()

    def _lock(self, key: str) -> asyncio.Lock:
        return self._locks.setdefault(key, asyncio.Lock())


def title_of(text: str) -> str:
    """Return the beginning of a text as a title, from its first line with words."""
    lines = (to_one_line(line) for line in text.splitlines())
    line = next((line for line in lines if line), "")
    return shorten(line, TITLE_LIMIT)


def _key(address: ReplyAddress) -> str:
    return f"{address.chat}:{address.topic}"


def _turn(message: OutboundMessage) -> str:
    return message.key.partition(":")[0]
