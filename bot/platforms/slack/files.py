"""Files in both directions: attachments are streamed in, artifacts are uploaded in Slack's three steps."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import structlog
from slack_sdk.errors import SlackRequestError

from bot.core.recent_values import RecentValues
from bot.domain import Attachment, OutboundFile
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.http import CHUNK, limit_size
from bot.platforms.payload import Json, get_objects
from bot.platforms.slack.client import SlackClient, SlackWebApi
from bot.platforms.slack.errors import CALL_ERRORS, delivery_error
from bot.platforms.slack.outbound import SlackOutbound

log = structlog.get_logger(__name__)

FILE_LIMIT = 100 * 1024 * 1024
"""Bytes that we move; Slack's own limit is 1 GB."""
_FILE_KINDS = frozenset({"text/html", "application/xhtml+xml"})


class SlackFiles:
    """Sends and fetches files for one account."""

    def __init__(self, client: SlackClient, calls: SlackWebApi, outbound: SlackOutbound) -> None:
        self._client = client
        self._web_api = calls
        self._outbound = outbound
        self._sent: RecentValues[str] = RecentValues(1024)
        self._unsure: RecentValues[bool] = RecentValues(256)
        self._looked: RecentValues[bool] = RecentValues(1024)
        self._posted: RecentValues[bool] = RecentValues(1024)

    async def send(self, file: OutboundFile) -> str:
        """Upload a file into its thread; return the ts of its message, or the file's id if the ts is unknown.

        A file whose key was sent by this process is not sent again.
        """
        known = self._sent.get(file.key)
        if known is not None:
            return known
        shown = await self._send(file)
        self._sent.put(file.key, shown)
        return shown

    async def _send(self, file: OutboundFile) -> str:
        if len(file.data) > FILE_LIMIT:
            raise DeliveryError(DeliveryCategory.INVALID_PAYLOAD, "files are limited to 100 MB")
        if not file.data:
            raise DeliveryError(DeliveryCategory.INVALID_PAYLOAD, "Slack does not accept empty files")
        ts = await self._find_earlier(file) or await self._share(file, await self._upload(file))
        self._posted.put(ts, True)
        return ts

    async def _share(self, file: OutboundFile, found: str) -> str:
        """Share an uploaded file; return the message's ts, or the file's id if the ts is unknown."""
        address = file.address
        try:
            call = self._client.web.files_completeUploadExternal(
                files=[{"id": found, "title": file.filename}],
                channel_id=address.chat,
                thread_ts=address.topic or None,
            )
            await self._web_api.await_call(call, posting=True)
        except DeliveryError as error:
            if not error.unknown_outcome:
                raise
            shown = await self._find_ts(found, address.chat)
            if not shown:
                # It is searched for before the next attempt, since Slack shares an accepted file with a
                # delay.
                self._unsure.put(file.key, True)
                raise DeliveryError(error.category, error.detail) from None
            return shown
        return await self._find_ts(found, address.chat) or found

    async def fetch(self, attachment: Attachment) -> AsyncGenerator[bytes, None]:
        """Yield the content of an attachment in chunks. Raises DeliveryError."""
        info = await self._web_api.await_call(self._client.web.files_info(file=attachment.ref), posting=False)
        file = info.get("file")
        described: Json = file if isinstance(file, dict) else {}
        address = str(described.get("url_private_download") or described.get("url_private") or "")
        if not address:
            raise DeliveryError(DeliveryCategory.NOT_FOUND, "Slack no longer has this file")
        if not self._client.trusted(address):
            raise DeliveryError(DeliveryCategory.PERMISSION, "the file is not stored by Slack")
        download = self._download(address, str(described.get("mimetype") or ""))
        async with aclosing(limit_size(download, FILE_LIMIT)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _find_earlier(self, file: OutboundFile) -> str:
        """Return the ts of this file if an earlier attempt or process has shared it, otherwise "".

        Slack accepts no metadata with a file, so name and size identify it.
        """
        left_over = self._outbound.is_older_thread(file.address) and not self._looked.get(file.key)
        if not (left_over or self._unsure.get(file.key)):
            return ""
        messages = await self._outbound.find_own_messages(file.address)
        self._looked.put(file.key, True)
        self._unsure.pop(file.key)
        wanted = (file.filename or "file", len(file.data))
        for one in messages:
            has = [(shared.get("name"), shared.get("size")) for shared in get_objects(one, "files")]
            if wanted in has and not self._posted.get(str(one["ts"])):
                log.info("slack.file_found", key=file.key)
                return str(one["ts"])
        return ""

    async def _download(self, address: str, mime: str) -> AsyncGenerator[bytes, None]:
        try:
            async with self._client.download(address) as response:
                if response.status != 200:
                    raise _http_error(response.status)
                if response.content_type in _FILE_KINDS and mime not in _FILE_KINDS:
                    raise DeliveryError(
                        DeliveryCategory.PERMISSION, "Slack shows a sign-in page: the app lacks files:read"
                    )
                async for chunk in response.content.iter_chunked(CHUNK):
                    yield chunk
        except CALL_ERRORS as error:
            raise delivery_error(error, posting=False) from None

    async def _upload(self, file: OutboundFile) -> str:
        """Upload the bytes, which are not visible yet; return the file's id."""
        web = self._client.web
        ticket = await self._web_api.await_call(
            web.files_getUploadURLExternal(filename=file.filename or "file", length=len(file.data)),
            posting=False,
        )
        address, file_id = str(ticket.get("upload_url") or ""), str(ticket.get("file_id") or "")
        if not self._client.trusted(address) or not file_id:
            raise DeliveryError(DeliveryCategory.PERMISSION, "Slack returned an unexpected upload URL")
        try:
            status = await self._client.upload(address, file.data)
        except CALL_ERRORS as error:
            raise delivery_error(error, posting=False) from None
        if status != 200:
            raise _http_error(status)
        return file_id

    async def _find_ts(self, file_id: str, chat: str) -> str:
        """Return the ts of the message that shared a file, or "" if there is none yet."""
        try:
            answer = await self._client.web.files_info(file=file_id)
        except (*CALL_ERRORS, SlackRequestError):
            return ""
        file = answer.get("file")
        shares = file.get("shares") if isinstance(file, dict) else None
        for places in (shares or {}).values():
            for share in get_objects(places, chat) if isinstance(places, dict) else []:
                return str(share.get("ts") or "")
        return ""


def _http_error(status: int) -> DeliveryError:
    if status in (401, 403) or 300 <= status < 400:
        return DeliveryError(DeliveryCategory.PERMISSION, f"HTTP status {status}")
    category = DeliveryCategory.NOT_FOUND if status in (404, 410) else DeliveryCategory.TRANSIENT
    return DeliveryError(category, f"HTTP status {status}")
