"""The SDK's client with our own session, without retries."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.models.messages.chunk import Chunk
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.core.recent_values import RecentValues
from bot.domain import OutboundMessage, ReplyAddress
from bot.errors import DeliveryCategory, DeliveryError, RateLimited
from bot.platforms.connection import AccountHealth
from bot.platforms.http import ANSWER_SECONDS, CONNECT_SECONDS, UPLOAD_SECONDS, PlatformHttp
from bot.platforms.payload import Json
from bot.platforms.slack.choices import (
    ButtonPlace,
    SlackClick,
    answered_blocks,
    button_blocks,
    fallback_text,
    feedback_blocks,
    message_content,
    text_content,
)
from bot.platforms.slack.errors import (
    CALL_ERRORS,
    REACTION_STANDS,
    STREAM_OVER,
    delivery_error,
    refusal_name,
)
from bot.platforms.slack.task_list import DISPLAY

PUBLIC_API = "https://slack.com/api/"
HEARTBEAT = 10.0
"""Seconds between pings on the socket; one without an answer within half of it ends the connection."""
FRAME_LIMIT = 4 * 1024 * 1024
"""Bytes of a message on the socket."""
EVENT_TYPE = "roebot_part"
"""Marks our messages, so that one of unknown outcome is found again."""
PAGE, PAGES = 200, 5
UNKNOWN_ARGUMENTS = "invalid_arguments"
IGNORED_MARKDOWN = "no_text"
NO_MARKDOWN = frozenset({IGNORED_MARKDOWN, UNKNOWN_ARGUMENTS, "invalid_blocks"})
"""Refusals of a server that knows neither `markdown_text` nor blocks of Markdown."""


class SlackClient:
    """API calls of an app. `web` raises SlackApiError and aiohttp's errors (`errors.CALL_ERRORS`)."""

    def __init__(self, token: str, app_token: str, base_url: str | None = None) -> None:
        self._root = base_url or PUBLIC_API
        self._token = token
        self._app_token = app_token
        timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS, connect=CONNECT_SECONDS)
        self._http = PlatformHttp("Slack", self._root, timeout=timeout)
        self.web = AsyncWebClient(token, base_url=self._root, proxy="unset", retry_handlers=[])

    async def open(self) -> None:
        """Open the session in the running loop. Raises AccountRefused for an unusable proxy."""
        await self._http.open()
        self.web.proxy = self._http.proxy
        self.web.session = self._http.session

    async def socket_address(self) -> str:
        """Request a new address for Socket Mode."""
        answer = await self.web.apps_connections_open(app_token=self._app_token)
        return str(answer.get("url") or "")

    def socket(self, address: str) -> AbstractAsyncContextManager[aiohttp.ClientWebSocketResponse]:
        """Return a context with a WebSocket that is pinged, and closed on exit."""
        timeout = aiohttp.ClientWSTimeout(ws_close=0.2)
        return self._http.session.ws_connect(
            address, heartbeat=HEARTBEAT, timeout=timeout, max_msg_size=FRAME_LIMIT
        )

    def download(self, address: str) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Return a context with a private file, sending the token: check `trusted` first."""
        return self._http.stream(address, headers={"Authorization": f"Bearer {self._token}"})

    async def respond(self, address: str, body: dict[str, Any]) -> int:
        """Post to a response URL, without the token; return the HTTP status."""
        async with asyncio.timeout(ANSWER_SECONDS):
            return (await self._http.call("POST", address, json=body, read_body=False)).status

    async def upload(self, address: str, data: bytes) -> int:
        """Post a file's bytes to an upload address, which needs no other authorization; return the HTTP
        status.
        """
        answer = await self._http.call(
            "POST", address, data=data, seconds=UPLOAD_SECONDS, limit_total=False, read_body=False
        )
        return answer.status

    def trusted(self, address: str) -> bool:
        """Return whether an address belongs to Slack or the configured server; others never receive the
        token.
        """
        parts, own = urlsplit(address), urlsplit(self._root)
        if (parts.scheme, parts.netloc) == (own.scheme, own.netloc):
            return True
        host = parts.hostname or ""
        return parts.scheme == "https" and (host == "slack.com" or host.endswith(".slack.com"))

    async def close(self) -> None:
        """Close all connections immediately."""
        await self._http.close()


class StreamOver(DeliveryError):
    """Slack has closed a message's native stream."""

    def __init__(self) -> None:
        super().__init__(DeliveryCategory.CONFLICT, "the stream has ended")


class SlackWebApi:
    """Posts, updates and streams of an account. Raises DeliveryError; `on_refused` is called for a revoked
    token.

    `previews`: Slack may fetch links to show previews. It decides about that when a message is posted.
    `feedback`: answers have buttons to rate them.
    """

    def __init__(
        self,
        account: str,
        client: SlackClient,
        health: AccountHealth,
        on_refused: Callable[[str], None],
        *,
        previews: bool = False,
        feedback: bool = False,
    ) -> None:
        self.unfurl: Json = {"unfurl_links": previews, "unfurl_media": previews}
        self._unfurl_stream = self.unfurl
        self._takes_session_status = True
        self._has_feedback = feedback
        self.takes_markdown = True
        """Whether the server knows `markdown_text`, as far as is known."""
        self._as_text: RecentValues[bool] = RecentValues(256)
        self._account = account
        self._on_refused = on_refused
        self._client = client
        self._health = health

    def build_metadata(self, key: str) -> Json:
        """Build the metadata that marks a message with its key."""
        return {"event_type": EVENT_TYPE, "event_payload": {"key": f"{self._account}:{key}"}}

    async def post(self, message: OutboundMessage) -> str:
        """Post a message in its thread; return its ts."""
        address = message.address
        call = partial(
            self._client.web.chat_postMessage,
            channel=address.chat,
            thread_ts=address.topic or None,
            metadata=self.build_metadata(message.key),
            **self.unfurl,
        )
        return _read_ts(await self._write(call, message, posting=True))

    async def post_alone(self, message: OutboundMessage) -> str:
        """Post a message visible to one person; return its ts, which no other method accepts.

        Slack shows no such message in a thread without replies, so it is posted above that.
        """
        address = message.address
        call = partial(
            self._client.web.chat_postEphemeral,
            channel=address.chat,
            user=message.alone,
            thread_ts=address.topic if address.topic not in ("", address.reply_to) else None,
        )
        place = ButtonPlace(address.topic)
        return _read_ts(await self._write(call, message, place, posting=True), "message_ts")

    async def update(self, message: OutboundMessage, ts: str) -> None:
        """Replace the whole text of a message."""
        call = partial(
            self._client.web.chat_update,
            channel=message.address.chat,
            ts=ts,
            metadata=self.build_metadata(message.key),
            **self.unfurl,
        )
        await self._write(call, message, posting=False)

    async def _write(
        self,
        call: Callable[..., Awaitable[AsyncSlackResponse]],
        message: OutboundMessage,
        place: ButtonPlace | None = None,
        *,
        posting: bool,
    ) -> AsyncSlackResponse:
        """Call a method with a message, as Markdown or as mrkdwn if the server does not support Markdown.

        A server that ignores the argument says no_text, and later messages are mrkdwn at once. After another
        refusal that is so for this message alone: the second call may meet the rate limit and be repeated.
        """
        text, choices = message.text, message.choices
        if self.takes_markdown and message.key not in self._as_text:
            content = message_content(text, choices, place, rated=self._is_rated(message))
            try:
                return await self.await_call(call(**content), posting=posting)
            except DeliveryError as error:
                refused = error.detail.partition(":")[0]
                if refused not in NO_MARKDOWN:
                    raise
            self._as_text.put(message.key, True)
            self.takes_markdown = refused != IGNORED_MARKDOWN or not text.strip()
        return await self.await_call(call(**text_content(text, choices, place)), posting=posting)

    async def replace_buttons(self, click: SlackClick) -> None:
        """Replace a message's buttons by the choice."""
        call = self._client.web.chat_update(
            channel=click.chat, ts=click.ts, text=fallback_text(click.text), blocks=answered_blocks(click)
        )
        await self.await_call(call, posting=False)

    async def delete(self, address: ReplyAddress, ts: str) -> None:
        """Delete a message."""
        await self.await_call(self._client.web.chat_delete(channel=address.chat, ts=ts), posting=False)

    async def start_stream(
        self, address: ReplyAddress, chunks: Sequence[Chunk], recipient: tuple[str, str]
    ) -> str:
        """Open a native stream; return its ts."""
        user, team = recipient
        answer = await self._call_stream(
            self._client.web.chat_startStream,
            channel=address.chat,
            thread_ts=address.topic,
            chunks=chunks,
            task_display_mode=DISPLAY,
            recipient_user_id=user or None,
            recipient_team_id=team or None,
        )
        return _read_ts(answer)

    async def append_to_stream(self, chat: str, ts: str, chunks: Sequence[Chunk]) -> None:
        """Append to a stream. Raises StreamOver."""
        await self._call_stream(self._client.web.chat_appendStream, channel=chat, ts=ts, chunks=chunks)

    async def stop_stream(
        self,
        chat: str,
        ts: str,
        key: str,
        chunks: Sequence[Chunk] = (),
        choices: tuple[str, ...] = (),
        session_status: str = "",
        *,
        rated: bool = False,
    ) -> bool:
        """Append the last chunks and close the stream; return whether that has set the session's status.
        Raises StreamOver.
        """
        stop = partial(
            self._call_stream,
            self._client.web.chat_stopStream,
            channel=chat,
            ts=ts,
            chunks=chunks or None,
            blocks=[*button_blocks(choices), *(feedback_blocks() if rated and self._has_feedback else [])]
            or None,
            metadata=self.build_metadata(key),
        )
        if session_status and self._takes_session_status:
            try:
                await stop(session_status=session_status)
                return True
            except DeliveryError as error:
                if not error.detail.startswith(UNKNOWN_ARGUMENTS):
                    raise
            await stop()
            self._takes_session_status = False
            return False
        await stop()
        return False

    def _is_rated(self, message: OutboundMessage) -> bool:
        return message.rated and self._has_feedback

    async def _call_stream(
        self, method: Callable[..., Awaitable[AsyncSlackResponse]], **arguments: Any
    ) -> AsyncSlackResponse:
        """Call a native stream method, without previews if Slack supports the arguments for that.

        They were in Slack's SDKs for streams and are gone again (slackapi/node-slack-sdk#2389), so a call
        that is refused for its arguments is repeated without them, and later calls go without.
        """
        if self._unfurl_stream:
            try:
                return await self.await_call(method(**arguments, **self._unfurl_stream), posting=True)
            except DeliveryError as error:
                if not error.detail.startswith(UNKNOWN_ARGUMENTS):
                    raise
            self._unfurl_stream = {}
        return await self.await_call(method(**arguments), posting=True)

    async def set_session_status(
        self, address: ReplyAddress, status: str, title: str = "", user: str = ""
    ) -> str:
        """Set the status of a thread's session; return Slack's warning, or "" if there is none.

        `title` and `user`, who asked, count if the call creates the session.
        """
        call = self._client.web.agents_sessions_setStatus(
            channel_id=address.chat,
            thread_ts=address.topic,
            status=status,
            title=title or None,
            initiator_user_id=user or None,
        )
        return str((await self.await_call(call, posting=False)).get("warning") or "")

    async def rename_session(self, address: ReplyAddress, title: str) -> None:
        """Change the title of a thread's session."""
        call = self._client.web.agents_sessions_rename(
            channel_id=address.chat, thread_ts=address.topic, title=title
        )
        await self.await_call(call, posting=False)

    async def suggest_prompts(
        self, chat: str, thread: str, title: str, prompts: Sequence[Mapping[str, str]]
    ) -> None:
        """Show prompts, each with `title` and `message`; `thread` belongs to an older assistant."""
        call = self._client.web.assistant_threads_setSuggestedPrompts(
            channel_id=chat, thread_ts=thread or None, title=title, prompts=[dict(one) for one in prompts]
        )
        await self.await_call(call, posting=False)

    async def set_status(self, address: ReplyAddress, text: str, rotating: Sequence[str] = ()) -> None:
        """Set a thread's status line, displayed until the next message there; it rotates through `rotating`,
        if any.
        """
        call = self._client.web.assistant_threads_setStatus(
            channel_id=address.chat,
            thread_ts=address.topic,
            status=text,
            loading_messages=[*rotating] or None,
        )
        await self.await_call(call, posting=False)

    async def read_thread(self, address: ReplyAddress, oldest: str) -> list[Json]:
        """Return the messages of a thread (or outside a thread, of the chat) since `oldest`, with
        metadata.
        """
        found: list[Json] = []
        cursor = ""
        for _ in range(PAGES):
            where: dict[str, Any] = {"channel": address.chat, "limit": PAGE, "oldest": oldest}
            where |= {"include_all_metadata": True, "cursor": cursor or None}
            web = self._client.web
            if address.topic:
                call = web.conversations_replies(ts=address.topic, **where)
            else:
                call = web.conversations_history(**where)
            answer = await self.await_call(call, posting=False)
            messages = answer.get("messages")
            found += [one for one in messages or [] if isinstance(one, dict)]
            cursor = str((answer.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                break
        return found

    async def change_reaction(self, address: ReplyAddress, ts: str, emoji: str, *, remove: bool) -> None:
        """Add or remove a reaction, ignoring an existing or impossible state."""
        web = self._client.web
        method = web.reactions_remove if remove else web.reactions_add
        try:
            await self.await_call(method(channel=address.chat, timestamp=ts, name=emoji), posting=False)
        except DeliveryError as error:
            if error.detail not in REACTION_STANDS and error.category is not DeliveryCategory.NOT_FOUND:
                raise

    async def await_call(self, call: Awaitable[AsyncSlackResponse], *, posting: bool) -> AsyncSlackResponse:
        """Await an SDK call and convert its errors. Raises StreamOver and DeliveryError."""
        try:
            answer = await call
        except CALL_ERRORS as error:
            if refusal_name(error) in STREAM_OVER:
                raise StreamOver from None
            raise self.to_delivery_error(error, posting=posting) from None
        self._health.record_accepted_call()
        return answer

    def to_delivery_error(self, error: Exception, *, posting: bool) -> DeliveryError:
        """Convert an error of the client; a limit or revoked token is also reported to the account."""
        failure = delivery_error(error, posting=posting)
        if isinstance(failure, RateLimited):
            self._health.mark_limited(failure.retry_after)
        elif failure.category is DeliveryCategory.AUTH:
            self._on_refused(failure.detail)
        return failure


def read_key(message: Json) -> str:
    """Return the key in a message's metadata, with its account; "" if there is none."""
    metadata: Any = message.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("event_type") != EVENT_TYPE:
        return ""
    payload = metadata.get("event_payload")
    return str(payload.get("key") or "") if isinstance(payload, dict) else ""


def _read_ts(answer: AsyncSlackResponse, name: str = "ts") -> str:
    ts = answer.get(name)
    if not isinstance(ts, str):
        raise DeliveryError(
            DeliveryCategory.UNKNOWN, "Slack's response contains no message timestamp", unknown_outcome=True
        )
    return ts
