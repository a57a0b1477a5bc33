"""Posts, growing messages and the status line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import structlog

from bot.clock import Clock
from bot.core.rate_limits import SlidingWindow
from bot.core.recent_values import RecentValues
from bot.domain import OutboundMessage, ReplyAddress
from bot.errors import DeliveryCategory, DeliveryError, RateLimited
from bot.platforms.choice_markers import ChoiceMarkers
from bot.platforms.payload import Json
from bot.platforms.slack.choices import (
    ButtonPlace,
    SlackClick,
    answered_blocks,
    fallback_text,
    question_blocks,
)
from bot.platforms.slack.client import SlackClient, SlackWebApi, StreamOver, read_key
from bot.platforms.slack.directory import SlackDirectory
from bot.platforms.slack.errors import CALL_ERRORS
from bot.platforms.slack.inbound import SlackIdentity
from bot.platforms.slack.method_limits import MINUTE, RESERVED_UPDATES, UPDATES
from bot.platforms.slack.renderer import PART_LIMIT, render_slack
from bot.platforms.slack.sessions import ACTIVE, SlackSessions
from bot.platforms.slack.streams import SlackStreams
from bot.render.partial_markdown import close_open
from bot.render.progress import checklist

log = structlog.get_logger(__name__)

THINKING = "is thinking …"
STATUS_REFRESH = 90.0
"""Slack takes the status line away after two minutes (docs.slack.dev, assistant.threads.setStatus)."""
LOOK_BACK = 24 * 3600.0
_RESPONDABLE = (DeliveryCategory.NOT_FOUND, DeliveryCategory.PERMISSION)


class SlackOutbound:
    """Sends to the bot's chats. `scale` multiplies Slack's periods; the status line rotates through
    `loading_messages`.
    """

    def __init__(
        self,
        client: SlackClient,
        calls: SlackWebApi,
        streams: SlackStreams,
        sessions: SlackSessions,
        places: SlackDirectory,
        identity: SlackIdentity,
        clock: Clock,
        scale: float = 1.0,
        loading_messages: Sequence[str] = (),
    ) -> None:
        self._client = client
        self._web_api = calls
        self._streams = streams
        self._sessions = sessions
        self._places = places
        self._identity = identity
        self._clock = clock
        self._started = clock.now()
        self._updates = SlidingWindow(UPDATES, MINUTE, reserve=RESERVED_UPDATES, scale=scale)
        self._unsure: RecentValues[bool] = RecentValues(1024)
        self._looked: RecentValues[bool] = RecentValues(4096)
        self._posted: RecentValues[bool] = RecentValues(4096)
        self._statuses: RecentValues[float] = RecentValues(1024)
        self._no_streams: RecentValues[bool] = RecentValues(1024)
        self._no_status = False
        self._loading_messages = loading_messages
        self._signs = ChoiceMarkers()
        streams.on_rotated = self._show_after_rotation

    @property
    def takes_markdown(self) -> bool:
        """Whether the server accepts Markdown, as far as known."""
        return self._web_api.takes_markdown

    async def send(self, message: OutboundMessage) -> str:
        """Post a message, or open a growing one; return its ts. An already posted message is updated."""
        message = _with_rendered_text(message)
        self._statuses.pop(_thread_key(message.address))
        await self._streams.finish_other_parts(message)
        await self._shorten_earlier_parts(message)
        ts = await self._find_earlier_post(message)
        if ts:
            await self._adopt_post(message, ts)
        else:
            ts = await self._post(message)
        self._posted.put(f"{message.address.chat}:{ts}", True)
        self._note_session(message)
        return ts

    async def edit(self, message: OutboundMessage, ts: str) -> None:
        """Display this text in a message: by its open stream, or as a whole."""
        message = _with_rendered_text(message)
        async with self._signs.guard_edit(f"{message.address.chat}:{ts}", message):
            stream = self._streams.get(message.address.chat, ts)
            if stream is None or not await self._streams.show_message(stream, message):
                await self._rewrite(message, ts)
        self._note_session(message)

    def _note_session(self, message: OutboundMessage) -> None:
        """Make the thread's session follow a displayed message."""
        if not message.final:
            self._sessions.note_frame(message)
        elif not message.alone:
            self._sessions.finish(message, is_older=self.is_older_thread(message.address))

    def is_streaming(self, address: ReplyAddress, ts: str) -> bool:
        """Return whether a stream is open, was closed with more text than it should show, or may be open
        since an earlier connection.
        """
        is_known = f"{address.chat}:{ts}" in self._posted
        is_open = self._streams.get(address.chat, ts) is not None
        return not is_known or is_open or (address.chat, ts) in self._streams.overlong

    def lists_in(self, address: ReplyAddress) -> bool:
        """Return whether a stream with tasks is possible."""
        return bool(address.topic) and not self._streams.no_tasks

    async def delete(self, address: ReplyAddress, ts: str) -> None:
        """Delete a message; ignored if it is already gone."""
        self._streams.overlong.pop((address.chat, ts), None)
        stream = self._streams.get(address.chat, ts)
        if stream is not None:
            await self._streams.finish_stream(stream)
        try:
            await self._web_api.delete(address, ts)
        except DeliveryError as error:
            if error.category is not DeliveryCategory.NOT_FOUND:
                raise

    def end_typing(self, address: ReplyAddress, turn: int) -> None:
        """Close a thread's session that a turn without a message leaves open."""
        self._sessions.end(address, str(turn), ACTIVE, is_older=self.is_older_thread(address))

    async def show_typing(self, address: ReplyAddress) -> None:
        """Show that the agent works on a thread: by its session, or else by a status line below it, which
        stays until the next message.
        """
        if await self._sessions.begin(address):
            return
        place, now = _thread_key(address), self._clock.now()
        shown = self._statuses.get(place)
        if not address.topic or self._no_status or (shown is not None and now - shown < STATUS_REFRESH):
            return
        try:
            await self._web_api.set_status(address, THINKING, self._loading_messages)
        except DeliveryError as error:
            if error.detail.startswith("missing_scope"):
                self._no_status = True
                log.warning("slack.no_status", reason=error.detail)
            raise
        self._statuses.put(place, now)

    async def react(self, address: ReplyAddress, ts: str, emoji: str) -> None:
        """Add a reaction to a message, unless it already has it or is gone."""
        await self._web_api.change_reaction(address, ts, emoji, remove=False)

    async def unreact(self, address: ReplyAddress, ts: str, emoji: str) -> None:
        """Remove the app's reaction."""
        await self._web_api.change_reaction(address, ts, emoji, remove=True)

    async def show_choice(self, click: SlackClick) -> None:
        """Show the choice in place of the buttons; a failure does not affect the answer."""
        if click.alone:
            text = fallback_text(f"✓ {click.choice}")
            body = {"replace_original": True, "text": text, "blocks": answered_blocks(click)}
            await self._respond(click.response_url, body)
            return
        async with self._signs.claim_marker(f"{click.chat}:{click.ts}") as due:
            if not due:
                return
            self._updates.count_start(self._clock.now())
            try:
                await self._web_api.replace_buttons(click)
            except DeliveryError as error:
                log.info("slack.buttons_stay", category=error.category.value)

    async def refuse_click(self, click: SlackClick, reason: str) -> None:
        """Privately notify the person who clicked that the click does not count; the buttons stay."""
        if reason:
            await self.answer_alone(click.response_url, reason)

    async def answer_alone(self, url: str, text: str) -> None:
        """Send a private text to the person of a response URL."""
        await self._respond(url, {"response_type": "ephemeral", "replace_original": False, "text": text})

    async def _respond(self, url: str, body: Json) -> None:
        """Post to a response URL; a failure does not affect the answer."""
        if not self._client.trusted(url):
            return
        try:
            await self._client.respond(url, body)
        except CALL_ERRORS as error:
            log.info("slack.click_not_answered", reason=type(error).__name__)

    async def _post(self, message: OutboundMessage) -> str:
        alone = bool(message.alone) or self._places.is_answered_privately(message.address.reply_to)
        if alone and (ts := await self._post_response(message)):
            return ts
        if message.alone:
            return f"alone:{await self._web_api.post_alone(message)}"
        try:
            if not message.final and self._may_stream(message.address):
                ts = await self._open_stream(message)
                if ts:
                    return ts
            return await self._web_api.post(_as_whole(message))
        except DeliveryError as error:
            if error.unknown_outcome:
                self._unsure.put(message.key, True)
            ts = await self._post_response(message) if error.category in _RESPONDABLE else ""
            if ts:
                return ts
            raise

    def _may_stream(self, address: ReplyAddress) -> bool:
        refused = self._no_streams.get(address.chat) or False
        known = self._places.find_recipient(address) is not None
        return bool(address.topic) and known and not refused and self._streams.may_open()

    async def _open_stream(self, message: OutboundMessage) -> str:
        """Open a stream; return "" if Slack does not support streams there."""
        recipient = self._places.find_recipient(message.address) or ("", "")
        try:
            return await self._streams.open_stream(message, recipient)
        except DeliveryError as error:
            if error.category is not DeliveryCategory.INVALID_PAYLOAD:
                raise
            log.info("slack.no_stream", reason=error.detail)
            self._no_streams.put(message.address.chat, True)
            return ""

    async def _rewrite(self, message: OutboundMessage, ts: str) -> None:
        """Overwrite a message with the whole text. Frames leave a part of the rate limit to finals."""
        now = self._clock.now()
        wait = (self._updates.ready_at(now) if message.final else self._updates.optional_at(now)) - now
        if wait > 0 and message.final:
            raise RateLimited(wait, "the rate limit of chat.update is exhausted")
        if wait > 0:
            # Not RateLimited: a skipped frame must not hold the final back.
            raise DeliveryError(DeliveryCategory.RATE_LIMIT, "the rate limit of frames is exhausted")
        whole = _as_whole(message)
        try:
            await self._update(whole, ts)
        except DeliveryError as error:
            if error.category is not DeliveryCategory.CONFLICT:
                raise
            await self._end_orphaned_stream(message, ts)
            await self._update(whole, ts)

    async def _show_after_rotation(self, message: OutboundMessage, ts: str) -> None:
        """Show progress after a stream was rotated out, if the rate limit allows."""
        if self._updates.optional_at(self._clock.now()) <= self._clock.now():
            await self._update(_as_whole(message), ts)

    async def _update(self, message: OutboundMessage, ts: str) -> None:
        began = self._clock.now()
        self._updates.count_start(began)
        try:
            await self._web_api.update(message, ts)
        finally:
            self._updates.count_end(began, self._clock.now())
        self._streams.overlong.pop((message.address.chat, ts), None)

    async def _shorten_earlier_parts(self, message: OutboundMessage) -> None:
        """Update earlier parts of the turn to their text; if that is not possible now, the final does it."""
        turn = message.key.partition(":")[0]
        for (_, ts), earlier in list(self._streams.overlong.items()):
            now = self._clock.now()
            if earlier.key.partition(":")[0] != turn or self._updates.ready_at(now) > now:
                continue
            try:
                await self._update(_as_whole(replace(earlier, progress=())), ts)
            except DeliveryError as error:
                log.info("slack.not_shortened", category=error.category.value)

    async def _end_orphaned_stream(self, message: OutboundMessage, ts: str) -> None:
        """Close a stream that an earlier process left open."""
        self._streams.budget.record_stop(self._clock.now())
        try:
            status = self._sessions.status_after(message)
            await self._web_api.stop_stream(message.address.chat, ts, message.key, session_status=status)
        except StreamOver:
            return
        except DeliveryError as error:
            error.unknown_outcome = False
            raise

    async def _find_earlier_post(self, message: OutboundMessage) -> str:
        """Return the ts of this part if it is already posted, otherwise "".

        The thread is read after an unknown outcome, and once for each part in a thread that is older than
        this process: an earlier one may have posted there and stopped before it stored that.
        """
        address = message.address
        is_unsure = message.unsure or bool(self._unsure.get(message.key))
        if message.alone or not (is_unsure or self._may_be_left_over(message)):
            return ""
        messages = await self.find_own_messages(address)
        self._looked.put(message.key, True)
        self._unsure.pop(message.key)
        label = str(self._web_api.build_metadata(message.key)["event_payload"]["key"])
        for one in messages:
            if read_key(one) == label:
                return str(one["ts"])
        # A stream, which only a thread can have, carries its key only once it is ended: one without is an
        # answer that was cut off.
        no_key = [one for one in messages if not one.get("metadata") and not one.get("files")]
        cut_off = no_key if address.topic else []
        loose = [str(one["ts"]) for one in cut_off if not self._posted.get(f"{address.chat}:{one['ts']}")]
        return loose[-1] if loose else ""

    async def find_own_messages(self, address: ReplyAddress) -> list[Json]:
        """Return the bot's messages that may be the sought answer. Raises DeliveryError."""
        since = self._search_start(address)
        return [one for one in await self._web_api.read_thread(address, since) if self._is_ours(one, since)]

    def is_older_thread(self, address: ReplyAddress) -> bool:
        """Return whether a thread is older than this process."""
        return bool(address.topic) and _to_seconds(address.topic) < self._started

    def _may_be_left_over(self, message: OutboundMessage) -> bool:
        return self.is_older_thread(message.address) and not self._looked.get(message.key)

    def _search_start(self, address: ReplyAddress) -> str:
        """Return the ts from which to search, since an answer is newer than its question."""
        question_at = _to_seconds(address.reply_to)
        return address.reply_to if question_at else f"{self._clock.now() - LOOK_BACK:.6f}"

    def _is_ours(self, message: Json, since: str) -> bool:
        ts = message.get("ts")
        ours = message.get("user") == self._identity.user or message.get("bot_id") == self._identity.bot
        return ours and isinstance(ts, str) and _to_seconds(ts) > _to_seconds(since)

    async def _adopt_post(self, message: OutboundMessage, ts: str) -> None:
        """Update a post with an unknown outcome to its current text."""
        log.info("slack.post_found", key=message.key)
        try:
            await self._rewrite(message, ts)
        except DeliveryError:
            self._looked.pop(message.key)
            self._unsure.put(message.key, True)
            raise

    async def _post_response(self, message: OutboundMessage) -> str:
        """Answer a slash command privately, if requested or if the bot is not a member.

        Returns "" where it is no longer possible.
        """
        url = self._places.find_response_url(message.address.reply_to)
        if not url or not self._client.trusted(url):
            return ""
        text, posted = _as_whole(message).text, f"response:{message.key}"
        place = ButtonPlace(message.address.topic, posted)
        blocks = question_blocks(text, message.choices, place)
        body = {"response_type": "ephemeral", "text": fallback_text(text), "blocks": blocks}
        body = {**body, **self._web_api.unfurl}
        try:
            status = await self._client.respond(url, body)
        except CALL_ERRORS as problem:
            raise self._web_api.to_delivery_error(problem, posting=True) from None
        return posted if status == 200 else ""


def _with_rendered_text(message: OutboundMessage) -> OutboundMessage:
    return replace(message, text=render_slack(message.text, message.mentions), mentions=())


def _as_whole(message: OutboundMessage) -> OutboundMessage:
    """Build a message that is written as a whole: open Markdown is closed, and the list is appended if there
    is room.
    """
    if message.final:
        return message
    text = close_open(message.text)
    both = "\n\n".join(filter(None, [text, checklist(message.progress)]))
    return replace(message, text=both if len(both) <= PART_LIMIT else text)


def _thread_key(address: ReplyAddress) -> str:
    return f"{address.chat}:{address.topic}"


def _to_seconds(ts: str) -> float:
    try:
        return float(ts)
    except ValueError:
        return 0.0
